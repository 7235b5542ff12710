//! Instructions of the sampling thread outside the kernel, counted by callgrind.
#![expect(clippy::cast_precision_loss, reason = "millions of instructions")]

use super::rig::{Rig, Shape, cyclictest_options};
use crate::bench::{Depth, table::Row};
use crate::{shell, tools};
use anyhow::{Context, Result};
use latprobe::spec::Length;
use std::path::Path;
use std::process::Command;

/// Two lengths: what setting up costs is in both.
const CYCLES: [u64; 2] = [10_000, 40_000];

pub(in crate::bench) fn run(depth: Depth) -> Result<Vec<Row>> {
    let rig = Rig::new()?;
    let shape = Shape::new(250, 1);
    let cycles = if depth == Depth::Full { CYCLES } else { CYCLES.map(|cycles| cycles / 4) };
    let probe = |cycles: u64| -> Result<Command> {
        let mut command = Command::new(rig.probe());
        command.arg("supervise").arg(rig.run_directory(&shape, Length::Cycles(cycles))?);
        Ok(command)
    };
    let cyclictest = |cycles: u64| -> Result<Command> {
        let mut command = Command::new(tools::program("cyclictest")?);
        command.args(cyclictest_options(&shape)).args(["-l", &cycles.to_string()]);
        Ok(command)
    };
    let ours = per_sample(rig.folder(), cycles, probe)?;
    let theirs = per_sample(rig.folder(), cycles, cyclictest)?;
    Ok(vec![Row {
        figure: "instructions per sample outside the kernel (callgrind: no vDSO)".to_owned(),
        ours: format!("{ours:.0}"),
        reference: format!("cyclictest {theirs:.0}"),
        ratio: format!("{:.2}", ours / theirs),
        goal: "≤ 0.5".to_owned(),
        reached: Some(ours <= 0.5 * theirs),
    }])
}

fn per_sample(folder: &Path, cycles: [u64; 2], command: impl Fn(u64) -> Result<Command>) -> Result<f64> {
    let [short, long] = cycles;
    let less = count(folder, &command(short)?)?;
    let more = count(folder, &command(long)?)?;
    Ok((more.saturating_sub(less)) as f64 / (long - short) as f64)
}

/// Instructions of the second thread of a process: the sampling one of both programs.
fn count(folder: &Path, program: &Command) -> Result<u64> {
    let output = tempfile::Builder::new().prefix("callgrind-").tempdir_in(folder).context("cannot make a folder")?;
    let mut command = Command::new(tools::program("valgrind")?);
    command.args(["--tool=callgrind", "--separate-threads=yes", "--trace-children=yes"]);
    command.arg(format!("--callgrind-out-file={}/%p", output.path().display()));
    command.arg(program.get_program()).args(program.get_args());
    shell::output(&mut command)?;
    let mut counts = Vec::new();
    for entry in std::fs::read_dir(output.path()).context("cannot list what callgrind wrote")?.flatten() {
        if entry.file_name().to_string_lossy().ends_with("-02") {
            let text = crate::paths::read(&entry.path())?;
            let total = text.lines().find_map(|line| line.strip_prefix("totals:")?.trim().parse::<u64>().ok());
            counts.push(total.context("callgrind tells a total")?);
        }
    }
    counts.into_iter().max().context("no second thread was seen")
}
