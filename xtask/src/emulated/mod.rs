//! The slow part of `cargo xtask test`: campaigns through latlab on every emulated board, and faults in the midst of them.

mod boots;
mod doctor;
mod event;
mod judge;
mod process;

use crate::lab::Board;
use crate::lab::board::{self, Variant};
use crate::shell::Interrupt;
use crate::{build, cross, paths};
use anyhow::{Context, Result, bail};
use boots::Scenario;
use event::Event;
use std::path::{Path, PathBuf};

/// How often a run is measured again when the machine under the emulator stalled.
const ATTEMPTS: u32 = 3;

/// One test.
pub(crate) struct Case {
    board: &'static str,
    kernel: Variant,
    event: Event,
}

impl Case {
    pub(crate) fn name(&self) -> String {
        format!("{}, {} kernel: {}", self.board, self.kernel.label(), self.event.name())
    }

    /// Only run when it is asked for by name: it waits for time-outs, or another case tests nearly the same.
    pub(crate) fn is_slow(&self) -> bool {
        match self.event {
            Event::Boots(boots) => boots.is_slow(self.board),
            // The recipe's 1600 tasks keep an emulated board from answering for minutes; the bad state takes long to set up.
            Event::Recipe | Event::Doctor => true,
            _ => false,
        }
    }
}

/// Every board once, both ARM kinds with both kernels, and the faults on both ARM kinds.
pub(crate) fn cases() -> Vec<Case> {
    use Event::Boots;
    use Event::{
        Cut, Doctor, FullDisk, HostKilled, HostileDisks, Nothing, Orphaned, OutOfMemory, Recipe, Reset, Stopped,
    };
    use Variant::{Rt, Standard};
    [
        ("emulated-armv7", Rt, Nothing),
        ("emulated-armv7", Standard, Nothing),
        ("emulated-aarch64", Rt, Nothing),
        ("emulated-aarch64", Standard, Nothing),
        ("emulated-x86_64", Rt, Nothing),
        ("emulated-cortex-a9", Rt, Nothing),
        ("emulated-single-cpu", Rt, Nothing),
        ("emulated-beaglebone", Rt, Nothing),
        ("emulated-cyclone-v", Rt, Nothing),
        ("emulated-imx93", Rt, Nothing),
        ("emulated-armv7", Rt, Cut),
        ("emulated-armv7", Rt, HostKilled),
        ("emulated-armv7", Standard, HostileDisks),
        ("emulated-armv7", Rt, Orphaned),
        ("emulated-beaglebone", Rt, FullDisk),
        ("emulated-aarch64", Rt, Reset),
        ("emulated-single-cpu", Rt, OutOfMemory),
        ("emulated-aarch64", Standard, FullDisk),
        ("emulated-imx93", Rt, Stopped),
        ("emulated-armv7", Rt, Doctor),
        ("emulated-cyclone-v", Rt, Recipe),
        ("emulated-aarch64", Standard, Boots(Scenario::Matrix)),
        ("emulated-armv7", Standard, Boots(Scenario::Matrix)),
        ("emulated-aarch64", Rt, Boots(Scenario::HungOnce)),
        ("emulated-aarch64", Rt, Boots(Scenario::OtherFile)),
        ("emulated-aarch64", Rt, Boots(Scenario::Killed)),
        ("emulated-aarch64", Rt, Boots(Scenario::ResetLoop)),
        ("emulated-aarch64", Rt, Boots(Scenario::Hung)),
        ("emulated-cyclone-v", Standard, Boots(Scenario::Matrix)),
    ]
    .map(|(board, kernel, event)| Case { board, kernel, event })
    .into()
}

/// Builds latlab and the probes that the cases need.
pub(crate) fn prepare(cases: &[Case]) -> Result<PathBuf> {
    for kind in cross::Kind::ALL {
        for case in cases {
            if board::load(case.board)?.machine.kind() == kind {
                cross::build(kind)?;
                break;
            }
        }
    }
    build::latlab()
}

/// Carries the case out; again, where the machine under the emulator stalled for so long that the board's kernel says so:
/// that run is rightly DEGRADED, and tells nothing about the case.
pub(crate) fn run(case: &Case, latlab: &Path, interrupt: &Interrupt) -> Result<()> {
    for attempt in 1..=ATTEMPTS {
        if !attempt_once(case, latlab, interrupt)? {
            return Ok(());
        }
        println!("attempt {attempt} of {ATTEMPTS}: this machine stalled under the emulator");
    }
    bail!("this machine stalls too much for an emulated board to measure on");
}

/// Boots the board, carries the case out, takes the board down. Whether the machine stalled.
fn attempt_once(case: &Case, latlab: &Path, interrupt: &Interrupt) -> Result<bool> {
    let home = paths::cache()?.join("test");
    let board = Board::of(&home, case.board)?.up(Some(case.kernel), None)?;
    let results = tempfile::Builder::new().prefix("latlab-results-").tempdir().context("cannot make a folder")?;
    let bench = event::Bench { kernel: case.kernel, latlab, board: &board, results: results.path(), interrupt };
    let outcome = bench.carry_out(case.event);
    if outcome.is_err() {
        println!("{}", board.console_tail());
        println!("the results stay in {}", results.keep().display());
    }
    board.down()?;
    outcome
}
