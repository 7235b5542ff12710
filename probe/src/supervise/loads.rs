//! The stress loads: started, kept up, accounted, stopped.

use super::{dir::RunDir, sweep};
use crate::{
    args::Args,
    error::{Doing, Error, Result},
    rt::{fd, process, process::Ended, sched},
};
use latprobe::{
    cpulist::CpuList,
    spec::{Load, Spec},
    stream::{EventKind, LoadDelta},
};
use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Read, Write},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::process::CommandExt,
    },
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// Program name that stands for the probe itself.
pub(super) const BUILT_IN: &str = "@latprobe";
/// What a started probe is, even after its file was replaced.
const OWN_PROGRAM: &str = "/proc/self/exe";
/// Wait before a load that failed, or ended at once, is started again, in ns: it must not spin.
const BACK_OFF_NS: u64 = 100_000_000;
/// A load that ends sooner than this spins, in ns.
const SHORTEST_NS: u64 = 10_000_000;
/// Output kept of a load, in bytes.
const MAX_OUTPUT: usize = 1 << 20;
/// Last line of an output that is longer.
const CUT: &[u8] = b"\n[latprobe keeps 1 MiB of a load's output: what it printed from here on was dropped]\n";
/// Failures of a load reported one by one; later ones are only counted.
const MAX_FAILURES_TOLD: u32 = 20;
/// How long loads may take to end when asked.
const PATIENCE: Duration = Duration::from_secs(2);

/// What became known about a load.
pub(super) struct Told {
    pub(super) kind: EventKind,
    pub(super) load: String,
    pub(super) detail: String,
}

/// All loads of a run.
pub(super) struct Loads {
    list: Vec<Kept>,
}

enum State {
    Running {
        pid: i32,
        since_ns: u64,
    },
    /// Until `until_ns`; the first `pause_ns` of it belong to the recipe.
    Waiting {
        until_ns: u64,
        pause_until_ns: u64,
    },
}

struct Kept {
    load: Load,
    cpus: CpuList,
    state: State,
    started: bool,
    failures: u32,
    output: Output,
    /// Accounted up to here, in ns.
    told_ns: u64,
    delta: LoadDelta,
}

/// Standard output and error of a load: its beginning goes to a file, the rest is read and dropped.
struct Output {
    read: File,
    write: File,
    log: File,
    kept: usize,
}

impl Loads {
    /// Nothing is started yet. `default_cpus`: where a load without affinity of its own may run.
    pub(super) fn new(spec: &Spec, dir: &RunDir, default_cpus: &CpuList, now_ns: u64) -> Result<Self> {
        let logs = dir.join("loads");
        if !spec.loads.is_empty() {
            fs::create_dir_all(&logs).doing(|| format!("cannot create {}", logs.display()))?;
        }
        let kept = |(index, load): (u32, &Load)| {
            let log = logs.join(format!("{}.log", load.name));
            let output = Output::open(&log).doing(|| format!("cannot open {}", log.display()))?;
            let cpus = load.cpus.as_ref().map_or_else(|| default_cpus.clone(), |cpus| cpus.iter().copied().collect());
            let state = State::Waiting { until_ns: now_ns, pause_until_ns: now_ns };
            let delta = LoadDelta { load: index, ..Default::default() };
            Ok(Kept { load: load.clone(), cpus, state, started: false, failures: 0, output, told_ns: now_ns, delta })
        };
        Ok(Self { list: (0..).zip(&spec.loads).map(kept).collect::<Result<_>>()? })
    }

    /// Starts every load whose time has come.
    pub(super) fn start_due(&mut self, dir: &Path, now_ns: u64) -> Vec<Told> {
        self.list.iter_mut().filter_map(|kept| kept.start_if_due(dir, now_ns)).collect()
    }

    /// When the next load must be started, in ns.
    pub(super) fn next_start_ns(&self) -> Option<u64> {
        let due = |kept: &Kept| match kept.state {
            State::Running { .. } => None,
            State::Waiting { until_ns, .. } => Some(until_ns),
        };
        self.list.iter().filter_map(due).min()
    }

    /// A child has ended; nothing is said of one that is no load.
    pub(super) fn ended(&mut self, pid: i32, how: Ended, now_ns: u64) -> Option<Told> {
        let is_it = |kept: &&mut Kept| matches!(kept.state, State::Running { pid: own, .. } if own == pid);
        self.list.iter_mut().find(is_it)?.ended(how, now_ns)
    }

    /// What each load did since the last time.
    pub(super) fn take_deltas(&mut self, now_ns: u64) -> Vec<LoadDelta> {
        let take = |kept: &mut Kept| {
            kept.account(now_ns);
            let next = LoadDelta { load: kept.delta.load, ..Default::default() };
            std::mem::replace(&mut kept.delta, next)
        };
        self.list.iter_mut().map(take).collect()
    }

    /// Outputs that are still kept, to poll.
    pub(super) fn outputs(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.list.iter().filter(|kept| kept.output.kept < MAX_OUTPUT).map(|kept| kept.output.read.as_fd())
    }

    /// Takes what the loads printed.
    pub(super) fn drain_outputs(&mut self) {
        self.list.iter_mut().for_each(|kept| kept.output.drain());
    }

    /// Some load prints more than is kept: its output is read at times, not when it comes.
    pub(super) fn has_chatty(&self) -> bool {
        self.list.iter().any(|kept| kept.output.kept >= MAX_OUTPUT)
    }

    /// Ends every load and whatever it started: asks, then kills. `spared` are the probe's own processes.
    /// Process ids that would not go.
    pub(super) fn stop(&mut self, dir: &Path, spared: &[i32]) -> Vec<i32> {
        let mut left: Vec<i32> = sweep::of_run(dir, spared).into_iter().collect();
        self.signal(libc::SIGTERM);
        let deadline = Instant::now() + PATIENCE;
        while !left.is_empty() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
            while process::reap().is_some() {}
            self.drain_outputs();
            left.retain(|pid| !sweep::is_gone(*pid));
        }
        self.signal(libc::SIGKILL);
        let stuck = sweep::kill_marked(dir, spared, left);
        while process::reap().is_some() {}
        self.drain_outputs();
        self.list.clear();
        stuck
    }

    fn signal(&self, signal: i32) {
        for kept in &self.list {
            if let State::Running { pid, .. } = kept.state {
                // Gone meanwhile is fine.
                let _ = process::kill_group(pid, signal);
            }
        }
    }
}

impl Kept {
    fn start_if_due(&mut self, dir: &Path, now_ns: u64) -> Option<Told> {
        let State::Waiting { until_ns, .. } = self.state else { return None };
        if now_ns < until_ns {
            return None;
        }
        self.account(now_ns);
        let told = |kind, detail| Some(Told { kind, load: self.load.name.clone(), detail });
        match self.spawn(dir) {
            Ok(pid) => {
                let first = !std::mem::replace(&mut self.started, true);
                self.delta.starts += 1;
                self.state = State::Running { pid, since_ns: now_ns };
                if first { told(EventKind::LoadStarted, self.load.argv.join(" ")) } else { None }
            }
            Err(error) => {
                self.state = State::Waiting { until_ns: now_ns + 10 * BACK_OFF_NS, pause_until_ns: now_ns };
                self.failures += 1;
                self.delta.failures += 1;
                if self.failures <= MAX_FAILURES_TOLD { told(EventKind::LoadMissing, error.to_string()) } else { None }
            }
        }
    }

    /// Through a helper that sheds what the supervisor is (priority, locks, affinity) and becomes the load:
    /// the supervisor itself never forks, which would fault its locked memory.
    fn spawn(&self, dir: &Path) -> io::Result<i32> {
        let mut command = Command::new(OWN_PROGRAM);
        command.arg0("latprobe").arg("exec-load").arg("--cpus").arg(self.cpus.to_string()).arg("--");
        command.args(&self.load.argv).current_dir("/").env(sweep::MARK, dir);
        let write = &self.output.write;
        command.stdin(Stdio::null()).stdout(write.try_clone()?).stderr(write.try_clone()?).process_group(0);
        let child = command.spawn()?;
        i32::try_from(child.id()).map_err(io::Error::other)
    }

    fn ended(&mut self, how: Ended, now_ns: u64) -> Option<Told> {
        let State::Running { pid, since_ns } = self.state else { return None };
        self.account(now_ns);
        // What it started and left behind would run beside its next start.
        let _ = process::kill_group(pid, libc::SIGKILL);
        let failed = how != Ended::Code(0);
        let spins = failed || now_ns - since_ns < SHORTEST_NS;
        let pause_until_ns = now_ns + self.load.pause_ns;
        let until_ns = if spins { pause_until_ns.max(now_ns + BACK_OFF_NS) } else { pause_until_ns };
        self.state = State::Waiting { until_ns, pause_until_ns };
        if !failed {
            return None;
        }
        self.delta.failures += 1;
        self.failures += 1;
        let last = if self.failures == MAX_FAILURES_TOLD { "; further failures are only counted" } else { "" };
        let ran_ms = (now_ns - since_ns) / 1_000_000;
        let detail = format!("{how} after {ran_ms} ms{last}");
        let told = Told { kind: EventKind::LoadFailed, load: self.load.name.clone(), detail };
        (self.failures <= MAX_FAILURES_TOLD).then_some(told)
    }

    /// Adds the time since the last call to what the load is doing.
    fn account(&mut self, now_ns: u64) {
        let since_ns = self.told_ns;
        match self.state {
            State::Running { .. } => self.delta.active_ns += now_ns.saturating_sub(since_ns),
            State::Waiting { pause_until_ns, .. } => {
                self.delta.pause_ns += now_ns.min(pause_until_ns).saturating_sub(since_ns);
            }
        }
        self.told_ns = self.told_ns.max(now_ns);
    }
}

impl Output {
    fn open(path: &Path) -> io::Result<Self> {
        let log = File::options().create(true).append(true).open(path)?;
        let kept = usize::try_from(log.metadata()?.len()).unwrap_or(usize::MAX);
        let (read, write) = fd::pipe()?;
        fd::set_nonblocking(read.as_fd())?;
        Ok(Self { read, write, log, kept })
    }

    fn drain(&mut self) {
        let mut buffer = [0u8; 4096];
        // Bounded: a load that prints without end must not keep the supervisor here.
        for _ in 0..16 {
            let Ok(length) = self.read.read(&mut buffer) else { return };
            let keep = length.min(MAX_OUTPUT.saturating_sub(self.kept));
            // A full disk costs the load's output, not the run.
            if keep > 0 && self.log.write_all(&buffer[..keep]).is_err() {
                self.kept = MAX_OUTPUT;
            }
            self.kept += keep;
            if keep > 0 && self.kept >= MAX_OUTPUT {
                // Said at the cut, once: nothing is kept from here on.
                let _ = self.log.write_all(CUT);
            }
            if length < buffer.len() {
                return;
            }
        }
    }
}

/// `latprobe exec-load --cpus LIST -- PROGRAM ARGUMENTS`: becomes a load. Comes back only if that fails.
pub(crate) fn exec_load(words: Vec<OsString>) -> Result<()> {
    let split = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let (options, program) = words.split_at(split);
    let mut args = Args::new("exec-load", options.to_vec());
    let cpus = args.required("--cpus")?;
    args.finish()?;
    let cpus = CpuList::parse(&cpus).map_err(|error| Error::Usage(format!("latprobe exec-load: --cpus: {error}")))?;
    let [_, program, arguments @ ..] = program else {
        return Err(Error::Usage("latprobe exec-load: the program is missing".into()));
    };
    fd::default_signals();
    sched::set_other().doing(|| "cannot leave the real-time policy")?;
    if !cpus.is_empty() {
        sched::set_affinity(&cpus).doing(|| format!("cannot bind to CPUs {cpus}"))?;
    }
    // Where it cannot be written the load is merely as likely a victim as anything else.
    let _ = fs::write("/proc/self/oom_score_adj", "1000");
    let _ = process::die_with_parent();
    let actual = if program == BUILT_IN { OsString::from(OWN_PROGRAM) } else { program.clone() };
    let error = Command::new(actual).arg0(program).args(arguments).exec();
    Err(Error::io(format!("cannot start {}", program.to_string_lossy()), error))
}
