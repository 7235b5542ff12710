//! `cargo xtask faults`: short campaigns while things break, and what must be true after each.
//!
//! What breaks and when follows from a seed, at steps of the host's journal and records of the board's stream, so
//! that the seed of a failure replays it. Boards are namespaces around a real SSH server on this machine.

mod board;
mod check;
mod inject;
mod plan;
mod relay;
mod world;

use crate::cross::{self, Kind as Machine};
use crate::shell::{self, Interrupt};
use crate::{build, paths, tools};
use anyhow::{Context, Result, bail};
pub(crate) use board::Board;
use plan::{Case, Fault, Kind};
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::time::Instant;
use world::World;

/// Set for the process that has a mount namespace of its own: no mount of a case stays behind.
const INSIDE: &str = "LATLAB_FAULTS_INSIDE";

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// How many cases.
    #[arg(long, default_value_t = 20)]
    count: u64,
    /// Seed of the first case; the next ones follow it. A failure names its own.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Cases at the same time.
    #[arg(long, default_value_t = 6)]
    jobs: usize,
    /// Leave the folder of a failed case.
    #[arg(long)]
    keep: bool,
}

/// How a case ended.
#[derive(Debug, Serialize)]
struct Report {
    #[serde(flatten)]
    case: Case,
    /// Those whose time came.
    fired: Vec<Fault>,
    /// Exit codes of the latlabs, in order.
    codes: Vec<i32>,
    seconds: f64,
    samples: u64,
    /// Absent: it survived.
    failure: Option<String>,
}

/// All of it; stored in `target/faults/summary.json`.
#[derive(Debug, Serialize)]
struct Summary {
    seed: u64,
    survived: usize,
    samples: u64,
    kinds: BTreeMap<Kind, Tally>,
    cases: Vec<Report>,
}

/// One kind of fault.
#[derive(Debug, Default, Serialize)]
struct Tally {
    injected: u32,
    survived: u32,
}

pub(crate) fn main(options: &Options) -> Result<ExitCode> {
    if !shell::is_root()? {
        bail!("boards are made of namespaces: run as root");
    }
    let probe = cross::place(Machine::X86_64);
    let latlab = build::target_directory().join("debug/latlab");
    if std::env::var_os(INSIDE).is_none() {
        tools::ensure(&tools::LOOPBACK)?;
        cross::build(Machine::X86_64)?;
        build::latlab()?;
        let own = std::env::current_exe().context("no own program")?;
        let mut inside = Command::new("unshare");
        inside.args(["--mount", "--propagation", "private"]).arg(own).args(std::env::args_os().skip(1));
        return Err(inside.env(INSIDE, "1").exec()).context("cannot start unshare");
    }
    let summary = run(options, &latlab, &probe)?;
    let stored = store(&summary)?;
    print(&summary, &stored);
    Ok(if summary.survived == summary.cases.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn run(options: &Options, latlab: &Path, probe: &Path) -> Result<Summary> {
    let interrupt = Interrupt::hold()?;
    let probes = probe.parent().and_then(Path::parent).context("the probe lies in no folder")?;
    let cases: Mutex<VecDeque<Case>> =
        Mutex::new((0..options.count).map(|n| Case::of(options.seed.wrapping_add(n))).collect());
    let reports = Mutex::new(Vec::new());
    let work = || {
        while interrupt.check().is_ok() {
            let next = cases.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop_front();
            let Some(case) = next else { return };
            let report = one(case, latlab, probes, options.keep);
            println!("{}", line(&report));
            reports.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(report);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..options.jobs.max(1) {
            scope.spawn(work);
        }
    });
    interrupt.check()?;
    let mut reports = reports.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    reports.sort_by_key(|report| report.case.seed);
    let mut kinds: BTreeMap<Kind, Tally> = BTreeMap::new();
    for report in &reports {
        for fault in &report.fired {
            let tally = kinds.entry(fault.kind).or_default();
            tally.injected += 1;
            tally.survived += u32::from(report.failure.is_none());
        }
    }
    Ok(Summary {
        seed: options.seed,
        survived: reports.iter().filter(|report| report.failure.is_none()).count(),
        samples: reports.iter().map(|report| report.samples).sum(),
        kinds,
        cases: reports,
    })
}

fn one(case: Case, latlab: &Path, probes: &Path, keep: bool) -> Report {
    let begun = Instant::now();
    let mut happened = inject::Happened::default();
    let mut place = None;
    let result = World::new(latlab, probes, case.seed).and_then(|mut world| {
        let carried = inject::carry_out(&case, &mut world);
        let checked = carried.and_then(|carried| {
            happened = carried;
            check::check(&world, &happened)
        });
        if checked.is_err() {
            place = kept(&world, case.seed, keep);
        }
        checked
    });
    let failure = result.as_ref().err().map(|error| match place {
        Some(place) => format!("{error:#}; all of it lies in {}", place.display()),
        None => format!("{error:#}"),
    });
    Report {
        case,
        fired: happened.fired,
        codes: happened.codes,
        seconds: begun.elapsed().as_secs_f64(),
        samples: result.unwrap_or(0),
        failure,
    }
}

/// A copy of the folder of a failed case, which itself goes with its mounts.
fn kept(world: &World, seed: u64, keep: bool) -> Option<PathBuf> {
    let to = build::target_directory().join(format!("faults/failed-{seed}"));
    let ready = keep && paths::remove(&to).is_ok() && to.parent().is_some_and(|parent| paths::make(parent).is_ok());
    let copy = || Command::new("cp").arg("-r").arg(world.directory.path()).arg(&to).status();
    (ready && copy().is_ok_and(|status| status.success())).then_some(to)
}

fn line(report: &Report) -> String {
    let came = report.fired.iter().map(|fault| fault.kind.to_string()).collect::<Vec<_>>().join(", ");
    let came = if came.is_empty() { "nothing came".to_owned() } else { came };
    match &report.failure {
        None => format!("survived: {} ({came}; {} samples, {:.0} s)", report.case, report.samples, report.seconds),
        Some(failure) => {
            let replay = format!("cargo xtask faults --count 1 --seed {}", report.case.seed);
            format!("FAILED: {} ({came}; {:.0} s): {failure}\n  again: {replay}", report.case, report.seconds)
        }
    }
}

fn store(summary: &Summary) -> Result<PathBuf> {
    let folder = build::target_directory().join("faults");
    paths::make(&folder)?;
    let file = folder.join("summary.json");
    paths::write(&file, serde_json::to_vec_pretty(summary)?)?;
    Ok(file)
}

fn print(summary: &Summary, stored: &Path) {
    println!("\n{:<20} {:>8} {:>8}", "fault", "injected", "survived");
    for (kind, tally) in &summary.kinds {
        println!("{:<20} {:>8} {:>8}", kind.to_string(), tally.injected, tally.survived);
    }
    println!(
        "faults: {} of {} cases survived, {} samples checked; stored in {}",
        summary.survived,
        summary.cases.len(),
        summary.samples,
        stored.display()
    );
}
