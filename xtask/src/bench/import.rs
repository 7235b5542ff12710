//! Speed of `latlab import`: many small files against a plain Python parser, large ones against `wc -l`.

use super::{Depth, fastest, table::Row};
use crate::{build, paths, shell};
use anyhow::{Context, Result, ensure};
use std::fmt::Write as _;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const TIMES_FASTER: f64 = 20.0;
const TIMES_WC: f64 = 3.0;

pub(super) fn run(depth: Depth) -> Result<Vec<Row>> {
    let latlab = build::latlab_release()?;
    let place = build::target_directory().join("bench-import");
    paths::remove(&place)?;
    paths::make(&place)?;
    let rows = rows(&latlab, &place, depth);
    paths::remove(&place)?;
    rows
}

fn rows(latlab: &Path, place: &Path, depth: Depth) -> Result<Vec<Row>> {
    let (files, megabytes) = if depth == Depth::Quick { (500, 30) } else { (10_000, 300) };
    let mut rows = vec![many(latlab, place, files)?];
    for kind in [Kind::Histograms, Kind::EmptyRows, Kind::Samples] {
        rows.push(large(latlab, place, kind, megabytes)?);
    }
    Ok(rows)
}

/// Files of 1000 bins against the parser in Python.
fn many(latlab: &Path, place: &Path, files: usize) -> Result<Row> {
    let script = paths::root().join("xtask/bench/import_baseline.py");
    let (directory, list) = (place.join("files"), place.join("list"));
    shell::run(
        Command::new("python3").arg(&script).arg("generate").arg(&directory).arg(files.to_string()).arg("1000"),
    )?;
    let mut names = String::new();
    for number in 0..files {
        let _ = writeln!(names, "{}", directory.join(format!("{number:05}.hist")).display());
    }
    paths::write(&list, names)?;
    let open = || std::fs::File::open(&list).with_context(|| format!("cannot read {}", list.display()));
    let python = || {
        let mut command = Command::new("python3");
        command.arg(&script).args(["parse", "-"]).stdin(Stdio::from(open()?));
        Ok(command)
    };
    let ours = || {
        let mut command = Command::new("xargs");
        command.args(["-n", "10000"]).arg(latlab).args(["import", "--dry-run", "--format", "json"]);
        command.stdin(Stdio::from(open()?));
        Ok(command)
    };
    let (ours, python) = (fastest(3, ours)?, fastest(2, python)?);
    let ratio = python.as_secs_f64() / ours.as_secs_f64();
    Ok(Row {
        figure: format!("import of {files} histograms of 1000 bins"),
        ours: seconds(ours),
        reference: format!("plain Python parser: {}", seconds(python)),
        ratio: format!("{ratio:.0} times faster"),
        goal: format!("≥ {TIMES_FASTER:.0} times"),
        reached: Some(ratio >= TIMES_FASTER),
    })
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Histograms,
    EmptyRows,
    Samples,
}

impl Kind {
    fn about(self) -> &'static str {
        match self {
            Kind::Histograms => "cyclictest histograms, every bin occupied",
            Kind::EmptyRows => "cyclictest histograms, most bins empty",
            Kind::Samples => "cyclictest -v",
        }
    }

    /// About 100 kB of it, as the tool prints it; `number` counts on.
    fn piece(self, number: u64) -> String {
        let mut text = String::new();
        match self {
            Kind::Histograms => histogram(&mut text, number, 1000),
            Kind::EmptyRows => histogram(&mut text, number, 60),
            Kind::Samples => {
                for cycle in number * 1000..(number + 1) * 1000 {
                    for thread in 0..4 {
                        let value = 5 + (cycle * 7 + thread * 13) % 41;
                        let _ = writeln!(text, "{thread:8}:{cycle:8}:{value:8}");
                    }
                }
            }
        }
        text
    }
}

/// A block of `-h 1000` with four threads, the first `occupied` bins not empty.
fn histogram(text: &mut String, seed: u64, occupied: u64) {
    text.push_str("# Histogram\n");
    let mut totals = [0u64; 4];
    for bin in 0..1000u64 {
        let _ = write!(text, "{bin:06} ");
        for (thread, total) in (0u64..).zip(&mut totals) {
            let count = if bin < occupied { 1 + (bin * 7919 + thread * 104_729 + seed * 31) % 999_998 } else { 0 };
            *total += count;
            let _ = write!(text, "{}{count:06}", if thread == 0 { "" } else { "\t" });
        }
        text.push('\n');
    }
    let four = |name: &str, value: &dyn Fn(usize) -> String| {
        format!("# {name}: {}\n", (0..4).map(value).collect::<Vec<_>>().join(" "))
    };
    *text += &four("Total", &|thread| format!("{:09}", totals[thread]));
    *text += &four("Min Latencies", &|_| "00000".into());
    *text += &four("Avg Latencies", &|_| format!("{:05}", occupied / 2));
    *text += &four("Max Latencies", &|_| format!("{:05}", occupied - 1));
    *text += &four("Histogram Overflows", &|_| "00000".into());
    *text += "# Histogram Overflow at cycle number:\n# Thread 0:\n# Thread 1:\n# Thread 2:\n# Thread 3:\n\n";
}

fn large(latlab: &Path, place: &Path, kind: Kind, megabytes: u64) -> Result<Row> {
    let file = place.join("large");
    generate(&file, kind, megabytes * 1_000_000)?;
    let ours = fastest(5, || {
        let mut command = Command::new(latlab);
        command.args(["import", "--dry-run", "--format", "json"]).arg(&file);
        Ok(command)
    })?;
    let wc = fastest(5, || {
        let mut command = Command::new("wc");
        command.arg("-l").arg(&file);
        Ok(command)
    })?;
    std::fs::remove_file(&file).with_context(|| format!("cannot remove {}", file.display()))?;
    let ratio = ours.as_secs_f64() / wc.as_secs_f64();
    Ok(Row {
        figure: format!("import of one file of {megabytes} MB, {}", kind.about()),
        ours: seconds(ours),
        reference: format!("`wc -l`: {}", seconds(wc)),
        ratio: format!("{ratio:.1}"),
        goal: format!("≤ {TIMES_WC:.0}"),
        reached: Some(ratio <= TIMES_WC),
    })
}

fn generate(file: &PathBuf, kind: Kind, bytes: u64) -> Result<()> {
    let context = || format!("cannot write {}", file.display());
    let mut out = BufWriter::new(std::fs::File::create(file).with_context(context)?);
    out.write_all(b"# /dev/cpu_dma_latency set to 0us\n").with_context(context)?;
    let (mut written, mut number) = (0, 0);
    while written < bytes {
        let piece = kind.piece(number);
        out.write_all(piece.as_bytes()).with_context(context)?;
        written += piece.len() as u64;
        number += 1;
    }
    ensure!(number > 1, "the file is one piece");
    out.flush().with_context(context)
}

fn seconds(time: Duration) -> String {
    format!("{:.3} s", time.as_secs_f64())
}
