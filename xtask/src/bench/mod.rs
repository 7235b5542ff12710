//! `cargo xtask bench`: figures that documents state, measured again.
//!
//! One file per bench, listed in [`BENCHES`]. A bench compares with something
//! within one run of its own (another program, or the same one in another
//! setting), so that a busy or slow machine moves both sides. A full run writes
//! its rows into the table of its document; `--quick` only prints.

mod import;
mod nights;
mod probe;
mod scale;
mod size;
mod table;

use crate::shell;
use anyhow::{Result, bail};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use table::Row;

/// One group of figures.
struct Bench {
    /// As on the command line, and in the table's first column.
    name: &'static str,
    /// One line for `--list`.
    about: &'static str,
    /// The document with the table, from the checkout's root.
    document: &'static str,
    run: fn(Depth) -> Result<Vec<Row>>,
}

const PROBE: &str = "probe/README.md";
const SCALE: &str = "docs/faults.md";
const IMPORT: &str = "docs/formats.md";
const NIGHTS: &str = "docs/nightly.md";

impl Bench {
    const fn of_probe(name: &'static str, about: &'static str, run: fn(Depth) -> Result<Vec<Row>>) -> Self {
        Self { name, about, document: PROBE, run }
    }
}

/// All there are, in the order of their rows.
const BENCHES: &[Bench] = &[
    Bench::of_probe("cpu", "CPU time per sample, against cyclictest and a bare loop", probe::cpu::run),
    Bench::of_probe("instructions", "instructions per sample outside the kernel", probe::instructions::run),
    Bench::of_probe("memory", "memory, resident and locked", probe::memory::run),
    Bench::of_probe("latency", "latency beside cyclictest's, in pairs of runs", probe::latency::run),
    Bench::of_probe("helpers", "wake-ups of threads that do not sample", probe::helpers::run),
    Bench::of_probe("syscalls", "system calls per sample", probe::syscalls::run),
    Bench::of_probe("checkpoints", "latency with checkpoints against none", probe::checkpoints::run),
    Bench::of_probe("size", "static stripped probes for boards", size::run),
    Bench {
        name: "import",
        about: "results of other tools, against Python and `wc -l`",
        document: IMPORT,
        run: import::run,
    },
    Bench { name: "nights", about: "a year of nights in the results", document: NIGHTS, run: nights::run },
    Bench { name: "scale", about: "64 boards at once, a night's stream", document: SCALE, run: scale::run },
];

/// The shortest of several times that a command takes, by the wall clock; its output goes nowhere.
fn fastest(times: u32, command: impl Fn() -> Result<Command>) -> Result<Duration> {
    let mut best = Duration::MAX;
    for _ in 0..times {
        let mut command = command()?;
        command.stdout(Stdio::null());
        let begun = Instant::now();
        shell::run(&mut command)?;
        best = best.min(begun.elapsed());
    }
    Ok(best)
}

/// How much time is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Seconds per figure: does the bench work, is nothing far off.
    Quick,
    /// What a document may state.
    Full,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Only these; default: all.
    names: Vec<String>,
    /// Seconds per figure, no document written.
    #[arg(long)]
    quick: bool,
    /// What there is.
    #[arg(long)]
    list: bool,
}

pub(crate) fn main(options: &Options) -> Result<ExitCode> {
    if options.list {
        BENCHES.iter().for_each(|bench| println!("{:<14} {}", bench.name, bench.about));
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(unknown) = options.names.iter().find(|name| BENCHES.iter().all(|bench| bench.name != **name)) {
        bail!("no bench `{unknown}`; `cargo xtask bench --list` names them");
    }
    let depth = if options.quick { Depth::Quick } else { Depth::Full };
    let mut missed = 0;
    for (place, bench) in BENCHES.iter().enumerate() {
        if !options.names.is_empty() && !options.names.iter().any(|name| name == bench.name) {
            continue;
        }
        println!("bench: {} ({})", bench.name, bench.about);
        let rows = (bench.run)(depth)?;
        rows.iter().for_each(|row| println!("  {row}"));
        missed += rows.iter().filter(|row| row.reached == Some(false)).count();
        if depth == Depth::Full {
            let order: Vec<&str> = BENCHES[..=place].iter().map(|bench| bench.name).collect();
            table::write(bench.document, &order, &rows)?;
        }
    }
    println!("bench: {missed} figures miss their goal");
    Ok(ExitCode::SUCCESS)
}
