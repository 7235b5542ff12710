//! Starting one of the instruments, and what it measured.

use super::process::{self, Task};
use crate::bench::Depth;
use crate::cross::{self, Kind};
use crate::{paths, shell, tools};
use anyhow::{Context, Result, bail};
use latprobe::spec::{CpuDmaLatency, Length, Measure, Mode, Policy, SPEC_FORMAT, Sleep, Spec, Thread};
use latprobe::status::Status;
use latprobe::stream::fold;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub(super) const SECOND_NS: u64 = 1_000_000_000;
/// Above the load, below what the kernel runs itself with.
pub(super) const PRIORITY: u32 = 80;

/// What is measured with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Instrument {
    Probe,
    Cyclictest,
    /// A sleep, a clock read and a counter.
    Bare,
}

/// Options that all instruments have.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    pub(super) interval_us: u64,
    /// CPU of each thread.
    pub(super) cpus: Vec<u32>,
    pub(super) bins: u32,
    /// The probe's: time between checkpoints.
    pub(super) checkpoint: Duration,
}

impl Shape {
    /// `threads` threads on the last CPU backwards, so that a single one leaves CPU 0 to the others.
    pub(super) fn new(interval_us: u64, threads: u32) -> Self {
        let count = u32::try_from(std::thread::available_parallelism().map_or(1, usize::from)).unwrap_or(1);
        let cpus = (0..threads).map(|thread| (count - 1).saturating_sub(thread % count)).collect();
        Self { interval_us, cpus, bins: 1000, checkpoint: Duration::from_secs(10) }
    }
}

/// The programs, and a folder for what they write.
pub(super) struct Rig {
    probe: PathBuf,
    bare: PathBuf,
    folder: tempfile::TempDir,
}

impl Rig {
    pub(super) fn new() -> Result<Self> {
        if !shell::is_root()? {
            bail!("benches of the probe need root: they take real-time priorities and lock memory");
        }
        tools::ensure(&super::PROGRAMS)?;
        let folder = tempfile::Builder::new().prefix("latlab-bench-").tempdir().context("cannot make a folder")?;
        let bare = folder.path().join("bare-loop");
        let source = paths::root().join("xtask/bench/bare_loop.c");
        shell::run(Command::new("cc").args(["-O2", "-static", "-s", "-pthread", "-o"]).arg(&bare).arg(source))?;
        Ok(Self { probe: cross::build(Kind::X86_64)?, bare, folder })
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn probe(&self) -> &Path {
        &self.probe
    }

    /// A new directory of a run, with its spec.
    pub(super) fn run_directory(&self, shape: &Shape, length: Length) -> Result<PathBuf> {
        let directory = tempfile::Builder::new().prefix("run-").tempdir_in(self.folder())?.keep();
        paths::write(&directory.join("spec.json"), serde_json::to_vec(&spec(shape, length))?)?;
        Ok(directory)
    }

    /// Starts an instrument; it samples until it is stopped, at most for `length`.
    pub(super) fn start(&self, instrument: Instrument, shape: &Shape, length: Duration) -> Result<Running> {
        match instrument {
            Instrument::Probe => self.start_probe(shape, length),
            Instrument::Cyclictest => {
                let histogram = self.folder().join("cyclictest-histogram");
                let _ = std::fs::remove_file(&histogram);
                let mut command = Command::new(tools::program("cyclictest")?);
                command.args(cyclictest_options(shape)).arg(format!("--histfile={}", histogram.display()));
                command.args(["-D", &length.as_secs().to_string()]);
                Running::child(command, instrument, histogram, shape)
            }
            Instrument::Bare => {
                let mut command = Command::new(&self.bare);
                command.args([(shape.interval_us * 1000).to_string(), PRIORITY.to_string()]);
                command.args(shape.cpus.iter().map(u32::to_string));
                Running::child(command, instrument, PathBuf::new(), shape)
            }
        }
    }

    fn start_probe(&self, shape: &Shape, length: Duration) -> Result<Running> {
        let ns = u64::try_from(length.as_nanos()).context("a length in ns")?;
        let directory = self.run_directory(shape, Length::DurationNs(ns))?;
        let answer = shell::output(Command::new(&self.probe).arg("run").arg(&directory))?;
        let status: Status = serde_json::from_str(&answer).context("latprobe run answers with a status")?;
        let supervisor = status.supervisor_pid.context("a run that has started has a supervisor")?;
        let pids = process::with_children(supervisor)?;
        let wanted = shape.cpus.len();
        Ok(Running {
            instrument: Instrument::Probe,
            pids,
            wanted,
            child: None,
            output: directory,
            probe: self.probe.clone(),
        })
    }
}

/// As the probe's, for cyclictest.
pub(super) fn cyclictest_options(shape: &Shape) -> Vec<String> {
    let cpus: Vec<String> = shape.cpus.iter().map(u32::to_string).collect();
    let mut unique = cpus.clone();
    unique.dedup();
    unique.truncate(std::thread::available_parallelism().map_or(1, usize::from));
    let options = format!(
        "-m -q -p {PRIORITY} -i {} -d 0 -h {} -t {} -a {}",
        shape.interval_us,
        shape.bins,
        cpus.len(),
        unique.join(",")
    );
    options.split(' ').map(str::to_owned).collect()
}

fn spec(shape: &Shape, length: Length) -> Spec {
    let interval_ns = shape.interval_us * 1000;
    Spec {
        format: SPEC_FORMAT,
        run_id: "bench".to_owned(),
        first_segment: 0,
        measure: Measure {
            threads: shape.cpus.iter().map(|cpu| Thread { cpu: Some(*cpu), interval_ns, offset_ns: 0 }).collect(),
            policy: Policy::Fifo,
            priority: PRIORITY,
            mlock: true,
            bin_width_ns: 1000,
            bins: shape.bins,
            worst: 64,
            block_ns: SECOND_NS,
            sleep: Sleep::Absolute,
            cpu_dma_latency: CpuDmaLatency::Hold,
            mode: Mode::Measure,
        },
        length,
        warmup_ns: 0,
        deadline_ns: 3600 * SECOND_NS,
        checkpoint_ns: u64::try_from(shape.checkpoint.as_nanos()).unwrap_or(u64::MAX),
        sync_ns: 60 * SECOND_NS,
        housekeeping_cpus: vec![],
        loads: vec![],
        apply: vec![],
        halt: vec![],
        lower_from: None,
        accept: vec![],
    }
}

/// An instrument that samples. Dropping it ends it.
pub(super) struct Running {
    instrument: Instrument,
    pids: Vec<i32>,
    wanted: usize,
    child: Option<Child>,
    /// The probe's directory, or the file with cyclictest's histogram.
    output: PathBuf,
    probe: PathBuf,
}

impl Running {
    fn child(mut command: Command, instrument: Instrument, output: PathBuf, shape: &Shape) -> Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().with_context(|| format!("cannot start `{}`", shell::text(&command)))?;
        let pid = i32::try_from(child.id()).context("a process id")?;
        let wanted = shape.cpus.len();
        Ok(Self { instrument, pids: vec![pid], wanted, child: Some(child), output, probe: PathBuf::new() })
    }

    pub(super) fn pids(&self) -> &[i32] {
        &self.pids
    }

    /// Its threads, those that sample first: they are the ones at the instrument's priority.
    pub(super) fn tasks(&self) -> Result<(Vec<Task>, Vec<Task>)> {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let all: Vec<Task> = self.pids.iter().map(|pid| process::tasks(*pid)).collect::<Result<Vec<_>>>()?.concat();
            let (sampling, helping): (Vec<_>, Vec<_>) = all.into_iter().partition(|task| task.priority == PRIORITY);
            if sampling.len() == self.wanted {
                return Ok((sampling, helping));
            }
            if Instant::now() > deadline {
                bail!("{:?} has {} sampling threads, not {}", self.instrument, sampling.len(), self.wanted);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits for its end; counts by bin, those beyond the bins left out.
    pub(super) fn histogram(mut self) -> Result<Vec<u64>> {
        let Some(mut child) = self.child.take() else {
            return self.probes_histogram();
        };
        child.wait().context("cannot wait for cyclictest")?;
        let text = paths::read(&self.output)?;
        let counts = text.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
        Ok(counts
            .map(|line| line.split_whitespace().skip(1).filter_map(|count| count.parse::<u64>().ok()).sum())
            .collect())
    }

    fn probes_histogram(&self) -> Result<Vec<u64>> {
        while process::is_there(self.pids[0]) {
            std::thread::sleep(Duration::from_millis(50));
        }
        let stream = self.output.join("stream-0");
        let bytes = std::fs::read(&stream).with_context(|| format!("cannot read {}", stream.display()))?;
        let folded = fold::fold_bytes(&bytes);
        let mut counts = vec![0; folded.header.context("the stream has a header")?.bins as usize];
        for thread in &folded.threads {
            counts.iter_mut().zip(&thread.histogram.bins).for_each(|(all, one)| *all += one);
        }
        Ok(counts)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // Gone by itself is fine.
            let _ = child.kill();
            let _ = child.wait();
        } else if self.instrument == Instrument::Probe && process::is_there(self.pids[0]) {
            let _ = shell::try_output(Command::new(&self.probe).arg("stop").arg(&self.output));
        }
    }
}

/// Seconds per turn and number of rounds.
pub(super) fn effort(depth: Depth, full: (u64, usize), quick: (u64, usize)) -> (Duration, usize) {
    let (seconds, rounds) = if depth == Depth::Full { full } else { quick };
    (Duration::from_secs(seconds), rounds)
}
