//! What must be true after a case, whatever broke in it.

use super::inject::Happened;
use super::plan::Kind;
use super::world::{World, processes, until};
use anyhow::{Context, Result, ensure};
use latprobe::stream::fold::{Folded, fold_bytes};
use latprobe::stream::wire;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Everything; gives the number of samples that were checked.
pub(super) fn check(world: &World, happened: &Happened) -> Result<u64> {
    let execution = world.execution().context("no execution was stored")?;
    let a = stored(world, &execution, "default-a-1")?;
    let b = stored(world, &execution, "default-b-1")?;
    validity(&a, happened).context("board a")?;
    let stopped = happened.fired.iter().any(|fault| fault.kind == Kind::HostStopped);
    untouched(&b, stopped).context("board b, to which nothing happened")?;
    let samples = once(&a).context("board a")? + once(&b).context("board b")?;
    against_the_board(&a, happened).context("board a")?;
    nothing_left(world)?;
    Ok(samples)
}

/// A stored run.
struct Stored {
    result: Value,
    directory: PathBuf,
    segments: Vec<(u32, Vec<u8>, Folded)>,
}

impl Stored {
    /// Outcome and detail of a validity rule.
    fn rule(&self, rule: &str) -> Result<(&str, &str)> {
        let findings = self.result["findings"].as_array().context("no findings")?;
        let finding = findings.iter().find(|f| f["rule"] == rule).with_context(|| format!("no rule {rule}"))?;
        Ok((finding["outcome"].as_str().unwrap_or_default(), finding["detail"].as_str().unwrap_or_default()))
    }

    fn is_begun(&self) -> bool {
        !self.segments.is_empty()
    }
}

fn stored(world: &World, execution: &Path, run: &str) -> Result<Stored> {
    let directory = execution.join("runs").join(run);
    let mut segments = Vec::new();
    for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let number = name.strip_prefix("stream-").and_then(|number| number.parse().ok());
        if let Some(number) = number {
            let bytes = std::fs::read(entry.path())?;
            let folded = fold_bytes(&bytes);
            segments.push((number, bytes, folded));
        }
    }
    segments.sort_by_key(|(number, ..)| *number);
    let output = world.latlab(&["show", run, "--format", "json"])?.output()?;
    let result = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    Ok(Stored { result, directory, segments })
}

/// The validity names what happened, and nothing that did not.
fn validity(a: &Stored, happened: &Happened) -> Result<()> {
    let fired = |test: fn(Kind) -> bool| happened.fired.iter().any(|fault| test(fault.kind));
    if !a.is_begun() {
        // Stopped before it began: nothing is claimed.
        ensure!(fired(Kind::ends_the_run), "the run was never begun");
        return Ok(());
    }
    let boots: std::collections::BTreeSet<&str> =
        a.segments.iter().filter_map(|(.., folded)| Some(folded.header.as_ref()?.boot_id.as_str())).collect();
    let (complete, detail) = a.rule("complete")?;
    let ended = fired(Kind::ends_the_run);
    let damaged = fired(Kind::damages);
    match complete {
        "ok" => ensure!(boots.len() == 1, "{} boots, and the run counts as one piece", boots.len()),
        "degrades" => ensure!(a.segments.len() > 1 && boots.len() > 1, "complete: {detail}"),
        _ => ensure!(ended || damaged, "nothing ended the run, but: {detail}"),
    }
    if happened.cut_off && complete == "ok" {
        let whole = a.segments.iter().any(|(.., folded)| folded.end.is_some());
        ensure!(whole, "a process was killed, and the run counts as whole");
    }
    if boots.len() > 1 {
        let (outcome, detail) = a.rule("boot")?;
        ensure!(outcome == "degrades" && detail.contains("boots are added up"), "boot: {outcome}: {detail}");
    }
    if damaged {
        return Ok(());
    }
    for rule in ["stream", "cycles"] {
        let (outcome, detail) = a.rule(rule)?;
        ensure!(outcome == "ok" || ended, "{rule}: {outcome}: {detail}");
    }
    let (ledger, detail) = a.rule("ledger")?;
    ensure!(ledger == "ok" || (ledger == "unknown" && ended), "ledger: {ledger}: {detail}");
    // What was not fetched before the disk was wiped is gone, and the note with it.
    if happened.load_killed && !fired(|kind| kind == Kind::BoardWiped) {
        let (outcome, detail) = a.rule("load-failures")?;
        ensure!(outcome != "ok" && detail.contains("signal 9"), "load-failures: {outcome}: {detail}");
    }
    Ok(())
}

/// In one piece and whole, unless all boards were stopped.
fn untouched(b: &Stored, stopped: bool) -> Result<()> {
    if stopped {
        return Ok(());
    }
    ensure!(b.segments.len() == 1, "{} segments", b.segments.len());
    for rule in ["complete", "cycles", "stream", "ledger", "boot"] {
        let (outcome, detail) = b.rule(rule)?;
        ensure!(outcome == "ok", "{rule}: {outcome}: {detail}");
    }
    Ok(())
}

/// Every sample of the streams at home is in the result once, and the streams agree with the probe's own totals.
fn once(run: &Stored) -> Result<u64> {
    let mut cycles = 0;
    for (number, _, folded) in &run.segments {
        cycles += folded.threads.iter().map(|thread| thread.histogram.total()).sum::<u64>();
        if let (Some(end), true) = (&folded.end, folded.damage.is_empty()) {
            for (told, thread) in end.threads.iter().zip(&folded.threads) {
                let found = (thread.histogram.total(), thread.missed);
                ensure!(
                    found == (told.cycles, told.missed),
                    "segment {number}: {found:?} at home, {told:?} on the board"
                );
            }
        }
    }
    if run.is_begun() {
        let shown = run.result.pointer("/total/cycles").and_then(Value::as_u64);
        ensure!(shown == Some(cycles), "{cycles} cycles at home, {shown:?} in the result");
        ensure!(run.directory.join("manifest.json").is_file(), "the run is not closed");
    }
    Ok(cycles)
}

/// What the board had written is at home, byte for byte, as far as a wiped disk lets it.
fn against_the_board(a: &Stored, happened: &Happened) -> Result<()> {
    if happened.fired.iter().any(|fault| fault.kind.damages()) {
        return Ok(());
    }
    let wiped = happened.fired.iter().any(|fault| fault.kind == Kind::BoardWiped);
    for kept in happened.kept.values() {
        let there = std::fs::read(kept).with_context(|| format!("cannot read {}", kept.display()))?;
        let folded = fold_bytes(&there);
        let Some(header) = &folded.header else { continue };
        if folded.threads.iter().all(|thread| thread.histogram.total() == 0) {
            continue;
        }
        let segment = header.segment;
        let home = a.segments.iter().find(|(number, ..)| *number == segment).map(|(_, bytes, _)| bytes.as_slice());
        let home = match home {
            Some(home) => home,
            None if wiped => continue,
            None => anyhow::bail!("segment {segment} is not at home"),
        };
        let sound = sound_length(&there);
        let same = home.len().min(sound);
        ensure!(home[..same] == there[..same], "segment {segment} at home differs from the board's");
        ensure!(wiped || home.len() >= sound, "segment {segment}: {} of {sound} bytes are at home", home.len());
    }
    Ok(())
}

/// Whole records from the start.
fn sound_length(bytes: &[u8]) -> usize {
    let mut decoder = wire::Decoder::new();
    decoder.push(bytes);
    let mut sound = 0;
    while decoder.next_record().is_some() && decoder.damage().is_empty() {
        sound = usize::try_from(decoder.offset()).unwrap_or(0);
    }
    sound
}

/// No run, lock, process, socket or place in a queue.
fn nothing_left(world: &World) -> Result<()> {
    for work in [world.work(), world.at("work-b/latlab")] {
        let runs: Vec<_> = std::fs::read_dir(work.join("runs")).into_iter().flatten().flatten().collect();
        ensure!(runs.is_empty(), "left on the board: {:?}", runs[0].path());
        ensure!(!work.join("lock.json").exists(), "{} is still locked", work.display());
    }
    for name in ["run/latlab", "run/latlab-queue", "run2/latlab"] {
        let left: Vec<_> = std::fs::read_dir(world.at(name)).into_iter().flatten().flatten().collect();
        ensure!(left.is_empty(), "left on the host: {:?}", left[0].path());
    }
    let marks = ["work-a/latlab", "work-b/latlab", "run/latlab"].map(|name| world.at(name).display().to_string());
    let left = || marks.iter().flat_map(|mark| processes::with_environment(mark)).collect::<Vec<u32>>();
    let gone = until(Duration::from_secs(3), || left().is_empty());
    let name =
        |pid: &u32| std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default().replace('\0', " ");
    ensure!(gone, "processes left: {:?}", left().iter().map(name).collect::<Vec<_>>());
    Ok(())
}
