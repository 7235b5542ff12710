//! A case carried out: latlab runs, things break when their time has come, latlab is started again as a person would.

use super::plan::{Case, Fault, Kind, When};
use super::relay::Mode;
use super::world::{Running, World, processes, until};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::time::Duration;

/// How long what passes by itself lasts.
const SHORT: Duration = Duration::from_millis(1500);
/// Longer than the time until latlab notices.
const LONG: Duration = Duration::from_millis(3000);

/// What happened.
#[derive(Default)]
pub(super) struct Happened {
    /// Those that came, in order; the others' time never came.
    pub(super) fired: Vec<Fault>,
    /// Exit codes of the latlabs that ended by themselves.
    pub(super) codes: Vec<i32>,
    /// Copies of the board's own streams, by segment and file, whatever becomes of the originals.
    pub(super) kept: BTreeMap<u64, PathBuf>,
    /// A load of board `a` was killed while it was needed.
    pub(super) load_killed: bool,
    /// The measurement was going on when its process was killed.
    pub(super) cut_off: bool,
}

pub(super) fn carry_out(case: &Case, world: &mut World) -> Result<Happened> {
    let mut happened = Happened::default();
    let mut latlab = world.start(&["run", "faults"])?;
    let mut waiting = case.faults.clone();
    loop {
        keep(world, &mut happened)?;
        let due = waiting.iter().position(|fault| is_due(fault.when, world));
        if let Some(at) = due {
            let fault = waiting.remove(at);
            happened.fired.push(fault);
            inject(fault.kind, world, &mut latlab, &mut happened)
                .with_context(|| format!("{} at {}", fault.kind, fault.when))?;
            continue;
        }
        if let Some(code) = latlab.ended()? {
            happened.codes.push(code);
            break;
        }
        std::thread::sleep(Duration::from_millis(4));
    }
    heal(world);
    // As often as a person would try: what is left is brought home.
    for _ in 0..4 {
        let mut resumed = world.start(&["resume"])?;
        while resumed.ended()?.is_none() {
            keep(world, &mut happened)?;
            std::thread::sleep(Duration::from_millis(10));
        }
        let code = resumed.end()?;
        if resumed.said().contains("nothing to do") {
            return Ok(happened);
        }
        happened.codes.push(code);
    }
    let mut last = world.start(&["resume"])?;
    last.end()?;
    ensure!(last.said().contains("nothing to do"), "the execution does not come to its end: {}", last.said());
    Ok(happened)
}

fn is_due(when: When, world: &World) -> bool {
    match when {
        When::Step(step, mark) => world.journal().iter().any(|(s, m)| s == step && m == mark),
        When::Records(records) => world.records() >= records,
    }
}

/// A second name for each stream on the board: what is removed or reset away is still there to compare with.
fn keep(world: &World, happened: &mut Happened) -> Result<()> {
    for stream in world.streams() {
        let Ok(about) = std::fs::metadata(&stream) else { continue };
        let kept = world.at(&format!("work-a/kept-{}", about.ino()));
        if !happened.kept.contains_key(&about.ino()) && std::fs::hard_link(&stream, &kept).is_ok() {
            happened.kept.insert(about.ino(), kept);
        }
    }
    Ok(())
}

/// Everything is as it should be again, for the last resume.
fn heal(world: &World) {
    world.relay.set(Mode::Whole);
    for filler in ["work-a/filler", "results/filler"] {
        let _ = std::fs::remove_file(world.at(filler));
    }
}

fn inject(kind: Kind, world: &mut World, latlab: &mut Running, happened: &mut Happened) -> Result<()> {
    match kind {
        Kind::LinkCut => {
            world.relay.set(Mode::Cut);
            std::thread::sleep(SHORT);
            world.relay.set(Mode::Whole);
        }
        Kind::LinkStalls => {
            world.relay.set(Mode::Stalled);
            std::thread::sleep(LONG);
            world.relay.set(Mode::Whole);
        }
        Kind::LinkSlow => world.relay.set(Mode::Slow),
        Kind::LinkLossy => {
            world.relay.set(Mode::Lossy);
            std::thread::sleep(LONG);
            world.relay.set(Mode::Whole);
        }
        Kind::HostKilled => {
            latlab.kill()?;
            *latlab = world.start(&["resume"])?;
        }
        Kind::HostStopped => processes::signal(latlab.pid(), "TERM"),
        Kind::ServerKilled => world.board.kill_server()?,
        Kind::BoardReset => {
            world.board.power_off();
            keep(world, happened)?;
            world.board.boot()?;
        }
        Kind::BoardWiped => {
            world.board.power_off();
            keep(world, happened)?;
            std::fs::remove_dir_all(world.work()).context("cannot wipe the work directory")?;
            world.board.boot()?;
        }
        Kind::PowerLost => {
            world.board.power_off();
            keep(world, happened)?;
            std::thread::sleep(LONG);
            world.board.boot()?;
        }
        Kind::MeasurerKilled => happened.cut_off |= kill(world, "latprobe-meas"),
        Kind::SupervisorKilled => happened.cut_off |= kill(world, "latprobe"),
        Kind::GuardKilled => drop(kill(world, "latprobe-guard")),
        Kind::LoadKilled => happened.load_killed |= kill(world, "sleep"),
        Kind::BoardDiskFull => {
            fill(&world.at("work-a/filler"));
            std::thread::sleep(SHORT);
            let _ = std::fs::remove_file(world.at("work-a/filler"));
        }
        Kind::HostDiskFull => {
            fill(&world.at("results/filler"));
            // It ends, or is past writing anything.
            let code = latlab.end()?;
            happened.codes.push(code);
            std::fs::remove_file(world.at("results/filler")).context("the filler is gone")?;
            *latlab = world.start(&["resume"])?;
        }
        Kind::StreamTorn | Kind::StreamFlipped => damage(kind, world),
        Kind::SecondHost => second_host(world)?,
    }
    Ok(())
}

fn kill(world: &World, name: &str) -> bool {
    let pid = world.on_board(name);
    pid.into_iter().for_each(processes::kill);
    pid.is_some()
}

/// Until nothing more goes in.
fn fill(path: &std::path::Path) {
    let Ok(mut file) = std::fs::File::create(path) else { return };
    let block = vec![0; 64 << 10];
    for size in [block.len(), 4096, 1] {
        while std::io::Write::write_all(&mut file, &block[..size]).is_ok() {}
    }
}

/// The newest stream loses its end, or has a bit flipped there.
fn damage(kind: Kind, world: &World) {
    let Some(stream) = world.streams().pop() else { return };
    let Ok(file) = std::fs::File::options().read(true).write(true).open(stream) else { return };
    let length = file.metadata().map_or(0, |about| about.len());
    let at = length.saturating_sub(60);
    if kind == Kind::StreamTorn {
        let _ = file.set_len(at);
        return;
    }
    let mut byte = [0];
    if file.read_exact_at(&mut byte, at).is_ok() {
        let _ = file.write_all_at(&[byte[0] ^ 4], at);
    }
}

/// It is refused by name, or comes when the board is free already.
fn second_host(world: &World) -> Result<()> {
    let mut command = world.latlab(&["run", "faults", "--target", "a", "--results", "second"])?;
    let output = command.env("XDG_RUNTIME_DIR", world.at("run2")).env("USER", "somebody").output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(5) => ensure!(said.contains("the board is held by tester@"), "the second host heard: {said}"),
        Some(0) => {}
        code => anyhow::bail!("the second host ended with {code:?}: {said}"),
    }
    until(SHORT, || false);
    Ok(())
}
