//! The slow part of `cargo xtask test`: campaigns through latlab on every emulated board, and faults in the midst of them.

use crate::lab::board::{self, Variant};
use crate::lab::{Board, Powered};
use crate::shell::Interrupt;
use crate::{build, cross, demo, paths};
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How often a run is measured again when the machine under the emulator stalled.
const ATTEMPTS: u32 = 3;

/// A run of 5 s on an emulated board takes 20 to 60 s; this is when something hangs.
const RUN_LIMIT: Duration = Duration::from_secs(300);

/// What happens to the board while it measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    Nothing,
    /// The network cable is out for longer than the SSH client's patience.
    Cut,
    /// latlab gets SIGKILL; `latlab resume` goes on.
    HostKilled,
    /// The board's reset button.
    Reset,
}

/// One test.
pub(crate) struct Case {
    board: &'static str,
    kernel: Variant,
    event: Event,
}

impl Case {
    pub(crate) fn name(&self) -> String {
        let event = match self.event {
            Event::Nothing => "a run is VALID",
            Event::Cut => "a run survives a pulled network cable",
            Event::HostKilled => "a run survives SIGKILL of latlab",
            Event::Reset => "what was checkpointed survives a reset of the board",
        };
        format!("{}, {} kernel: {event}", self.board, self.kernel.label())
    }
}

/// Every board once, both ARM kinds with both kernels, and the faults.
pub(crate) fn cases() -> Vec<Case> {
    use Event::{Cut, HostKilled, Nothing, Reset};
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
        ("emulated-aarch64", Rt, Reset),
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
    let outcome = carry_out(case, latlab, &board, results.path(), interrupt);
    if outcome.is_err() {
        println!("{}", board.console_tail());
        println!("the results stay in {}", results.keep().display());
    }
    board.down()?;
    outcome
}

fn carry_out(case: &Case, latlab: &Path, board: &Powered, results: &Path, interrupt: &Interrupt) -> Result<bool> {
    let kernel = if case.kernel == Variant::Rt { "preempt-rt" } else { "standard" };
    let duration = if case.event == Event::Nothing { "5s" } else { "20s" };
    // The clock of this machine steps by 10 us, and latprobe refuses finer bins than that.
    let width = if case.board == "emulated-cortex-a9" { "20us" } else { "1us" };
    let mut command = demo::latlab_command(latlab)?;
    command.args(["run", "xtask/emulated.toml", "--target"]).arg(board.target_file()?);
    command.args(["--set", &format!("boot.kernel={kernel}"), "--set", &format!("duration={duration}")]);
    command.args(["--set", &format!("measure.histogram.width={width}")]);
    command.arg("--results").arg(results);
    let mut run = Run::start(&mut command, interrupt)?;
    if case.event != Event::Nothing {
        run.wait_for(" s of ")?; // the first progress line: it measures
    }
    let code = match case.event {
        Event::Nothing => run.end()?,
        Event::Cut => {
            board.link(false)?;
            std::thread::sleep(Duration::from_secs(8));
            board.link(true)?;
            run.end()?
        }
        Event::HostKilled => {
            run.kill()?;
            let mut resume = demo::latlab_command(latlab)?;
            resume.arg("resume").arg("--results").arg(results);
            Run::start(&mut resume, interrupt)?.end()?
        }
        Event::Reset => {
            run.wait_for(" cycles, max")?;
            board.reset()?;
            run.end()?
        }
    };
    let result = stored(latlab, results)?;
    if case.event == Event::Reset {
        return judge_interrupted(code, &result).map(|()| false);
    }
    if host_stalled(&result) {
        return Ok(true);
    }
    judge(code, &result).map(|()| false)
}

/// Whether nothing but the board's own complaint about a late timer interrupt is wrong with the run.
fn host_stalled(result: &Value) -> bool {
    let late_timer = |finding: &&Value| {
        finding["rule"] == "kernel-log"
            && finding["detail"].as_str().is_some_and(|detail| detail.contains("hrtimer: interrupt took"))
    };
    let findings = result["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut broken = findings.iter().filter(|f| f["outcome"] == "degrades" || f["outcome"] == "invalidates").peekable();
    result["validity"] == "DEGRADED" && broken.peek().is_some() && broken.all(|finding| late_timer(&finding))
}

/// Nothing lost, nothing counted twice, nothing to complain about.
fn judge(code: i32, result: &Value) -> Result<()> {
    let number = |pointer: &str| {
        result.pointer(pointer).and_then(Value::as_u64).with_context(|| format!("no {pointer} in the result"))
    };
    let (cycles, missed, expected) =
        (number("/total/cycles")?, number("/total/missed")?, number("/total/expected_cycles")?);
    println!("{cycles} cycles and {missed} missed periods of {expected}, {}, exit code {code}", result["validity"]);
    ensure!(result["validity"] == "VALID", "{} because of {}", result["validity"], broken_rules(result));
    ensure!(cycles + missed == expected, "{cycles} cycles and {missed} missed periods are not {expected}");
    ensure!(cycles > 0, "no cycle");
    ensure!(result["emulated"] == true, "the figures are not marked as emulated");
    ensure!(code == 0, "exit code {code}");
    Ok(())
}

/// A reset ends the measurement: what came home before it counts, and nobody calls it whole.
fn judge_interrupted(code: i32, result: &Value) -> Result<()> {
    let cycles = result.pointer("/total/cycles").and_then(Value::as_u64).unwrap_or_default();
    println!("{cycles} cycles, {}, exit code {code}", result["validity"]);
    ensure!(cycles > 0, "the checkpoints are gone");
    ensure!(result["validity"] == "INVALID", "a run that a reset ended is {}", result["validity"]);
    ensure!(code == 6 || code == 5, "exit code {code}");
    Ok(())
}

/// Rules that do not hold, for the message.
fn broken_rules(result: &Value) -> String {
    let findings = result["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
    let broken = findings.iter().filter(|finding| finding["outcome"] != "ok");
    broken.map(|finding| format!("{} ({})", finding["rule"], finding["detail"])).collect::<Vec<_>>().join(", ")
}

/// The stored run, as programs get it.
fn stored(latlab: &Path, results: &Path) -> Result<Value> {
    let mut show = demo::latlab_command(latlab)?;
    show.args(["show", "--format", "json", "--results"]).arg(results);
    let text = crate::shell::output(&mut show)?;
    serde_json::from_str(&text).with_context(|| format!("latlab show printed {text}"))
}

/// A latlab whose progress lines are read as they come.
struct Run<'a> {
    interrupt: &'a Interrupt,
    child: Child,
    lines: std::sync::mpsc::Receiver<String>,
    deadline: Instant,
}

impl<'a> Run<'a> {
    fn start(command: &mut Command, interrupt: &'a Interrupt) -> Result<Self> {
        let (reader, writer) = std::io::pipe().context("cannot make a pipe")?;
        command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
        let child = command.spawn().context("cannot start latlab")?;
        // The pipe ends when latlab does, not when this struct goes.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let (sender, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(reader).lines().map_while(Result::ok) {
                println!("  {line}");
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self { interrupt, child, lines, deadline: Instant::now() + RUN_LIMIT })
    }

    /// Waits for a line with this text.
    fn wait_for(&mut self, text: &str) -> Result<()> {
        loop {
            let patience = self.deadline.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(patience).with_context(|| format!("latlab never said `{text}`"))?;
            if line.contains(text) {
                return Ok(());
            }
        }
    }

    /// Waits for the end and returns the exit code.
    fn end(&mut self) -> Result<i32> {
        while Instant::now() < self.deadline {
            self.interrupt.check()?;
            if let Some(status) = self.child.try_wait()? {
                return status.code().context("latlab was killed by a signal");
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        bail!("latlab does not end within {} s", RUN_LIMIT.as_secs())
    }

    /// SIGKILL: no chance to clean up.
    fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
