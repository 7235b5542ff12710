//! A run's directory and the commands on it.

use latprobe::{
    spec::{CpuDmaLatency, Length, Load, Measure, Mode, Policy, SPEC_FORMAT, Setting, Sleep, Spec, Thread},
    status::Status,
    stream::{Folded, fold},
};
use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::{Mutex, MutexGuard},
    time::{Duration, Instant},
};
use tempfile::TempDir;

pub(crate) const SECOND_NS: u64 = 1_000_000_000;
pub(crate) const MS_NS: u64 = 1_000_000;

/// Harmless, there on every kernel, and not used by anything else here.
pub(crate) const SETTING: &str = "/proc/sys/vm/stat_interval";

/// Runs share the machine's settings and CPUs: one at a time.
static TURN: Mutex<()> = Mutex::new(());

/// Says why a test is skipped; under CI that is a failure.
#[expect(clippy::print_stdout, reason = "a skipped test says why")]
pub(crate) fn skipped(reason: &str) {
    println!("skipped: {reason}");
    assert!(std::env::var("CI").as_deref() != Ok("true"), "cannot be skipped under CI: {reason}");
}

/// `None` where the machine does not let a real run be made; the reason is printed.
pub(crate) fn turn() -> Option<MutexGuard<'static, ()>> {
    let guard = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let root = std::fs::metadata("/proc/self").is_ok_and(|about| std::os::unix::fs::MetadataExt::uid(&about) == 0);
    let fifo = Command::new("chrt").args(["-f", "1", "true"]).status().is_ok_and(|status| status.success());
    let reason = match (root, fifo) {
        (true, true) => return Some(guard),
        (false, _) => "not root",
        (true, false) => "SCHED_FIFO is not permitted here",
    };
    skipped(reason);
    None
}

pub(crate) fn probe(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_latprobe")).args(words).output().expect("the probe is built")
}

/// Standard output of a command that must succeed.
pub(crate) fn ok(output: Output) -> Vec<u8> {
    assert!(output.status.success(), "{:?}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Exit code and words of a command that must fail.
pub(crate) fn failed(output: Output) -> (i32, String) {
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let words = String::from_utf8(output.stderr).expect("UTF-8");
    (output.status.code().expect("no signal"), words.trim_end().to_owned())
}

/// One run in a directory of its own; whatever is left of it is ended with the value.
pub(crate) struct Bench {
    pub(crate) dir: PathBuf,
    _root: Option<TempDir>,
}

impl Bench {
    pub(crate) fn new(spec: &Spec) -> Self {
        let root = tempfile::tempdir().expect("a temporary directory");
        let dir = root.path().join("run");
        std::fs::create_dir(&dir).expect("new");
        let bench = Self { dir, _root: Some(root) };
        bench.write(spec);
        bench
    }

    /// In a directory that the test owns.
    pub(crate) fn at(dir: &Path, spec: &Spec) -> Self {
        let bench = Self { dir: dir.to_owned(), _root: None };
        bench.write(spec);
        bench
    }

    pub(crate) fn write(&self, spec: &Spec) {
        std::fs::write(self.dir.join("spec.json"), serde_json::to_vec(spec).expect("plain")).expect("writable");
    }

    pub(crate) fn command(&self, words: &[&str]) -> Output {
        let mut all = vec![words[0], self.dir.to_str().expect("UTF-8")];
        all.extend(&words[1..]);
        probe(&all)
    }

    /// Starts the run.
    pub(crate) fn start(&self) -> Status {
        serde_json::from_slice(&ok(self.command(&["run"]))).expect("a status")
    }

    pub(crate) fn status(&self) -> Status {
        serde_json::from_slice(&ok(self.command(&["status"]))).expect("a status")
    }

    /// Looks until `wanted` holds.
    pub(crate) fn until(&self, what: &str, wanted: impl Fn(&Status) -> bool) -> Status {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let status = self.status();
            if wanted(&status) {
                return status;
            }
            assert!(Instant::now() < deadline, "not {what} in time: {status:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn over(&self) -> Status {
        self.until("over", |status| status.stage.is_over())
    }

    pub(crate) fn stream(&self, segment: u32) -> Vec<u8> {
        std::fs::read(self.dir.join(format!("stream-{segment}"))).expect("the segment is there")
    }

    pub(crate) fn folded(&self, segment: u32) -> Folded {
        fold::fold_bytes(&self.stream(segment))
    }

    /// What the processes of this run carry in their environment.
    pub(crate) fn mark(&self) -> String {
        format!("LATPROBE_RUN={}", self.dir.canonicalize().expect("there").display())
    }

    /// Processes of this run that are still there.
    pub(crate) fn processes(&self) -> Vec<i32> {
        marked(&self.mark())
    }

    pub(crate) fn expect_gone(&self) {
        expect_none(&self.mark());
    }

    /// The one of them that has this name.
    pub(crate) fn process(&self, name: &str) -> i32 {
        self.find(name).expect(name)
    }

    pub(crate) fn find(&self, name: &str) -> Option<i32> {
        let is_it =
            |pid: &i32| std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim_end() == name);
        self.processes().into_iter().find(is_it)
    }
}

fn marked(mark: &str) -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").expect("mounted").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid: &i32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    })
    .collect()
}

/// No process with this mark is there, or will be in a moment: it is there a little longer than its last word.
pub(crate) fn expect_none(mark: &str) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !marked(mark).is_empty() {
        assert!(Instant::now() < deadline, "left behind: {:?}", marked(mark));
        std::thread::sleep(Duration::from_millis(20));
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if self.dir.join("state.json").exists() {
            self.command(&["stop"]);
        }
    }
}

pub(crate) fn kill(pid: i32, signal: &str) {
    let status = Command::new("kill").args([signal, &pid.to_string()]).status();
    assert!(status.is_ok_and(|status| status.success()), "kill {signal} {pid}");
}

/// 1 kHz on the last CPU for two seconds, without loads.
pub(crate) fn spec(id: &str) -> Spec {
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let cpu = u32::try_from(cpus - 1).expect("few CPUs");
    Spec {
        format: SPEC_FORMAT,
        first_segment: 0,
        run_id: id.to_owned(),
        measure: Measure {
            threads: vec![Thread { cpu: Some(cpu), interval_ns: MS_NS, offset_ns: 0 }],
            policy: Policy::Fifo,
            priority: 90,
            mlock: true,
            bin_width_ns: 1000,
            bins: 200,
            worst: 8,
            block_ns: 100 * MS_NS,
            sleep: Sleep::Absolute,
            cpu_dma_latency: CpuDmaLatency::Hold,
            mode: Mode::Measure,
        },
        length: Length::DurationNs(2 * SECOND_NS),
        warmup_ns: 200 * MS_NS,
        deadline_ns: 60 * SECOND_NS,
        checkpoint_ns: 200 * MS_NS,
        sync_ns: SECOND_NS,
        housekeeping_cpus: vec![],
        loads: vec![],
        apply: vec![],
        halt: vec![],
        lower_from: None,
        accept: vec![],
    }
}

/// Until it is stopped.
pub(crate) fn long(spec: Spec) -> Spec {
    Spec { length: Length::DurationNs(3600 * SECOND_NS), deadline_ns: 7200 * SECOND_NS, ..spec }
}

pub(crate) fn load(name: &str, argv: &[&str]) -> Load {
    let argv = argv.iter().map(|word| (*word).to_owned()).collect();
    Load { name: name.to_owned(), argv, cpus: None, pause_ns: 0 }
}

/// A change of [`SETTING`], and its value now.
pub(crate) fn setting() -> (Setting, String) {
    let now = std::fs::read_to_string(SETTING).expect("readable").trim().to_owned();
    let value = if now == "7" { "8" } else { "7" };
    (Setting { path: SETTING.to_owned(), value: value.to_owned(), optional: false }, now)
}

pub(crate) fn setting_now() -> String {
    std::fs::read_to_string(SETTING).expect("readable").trim().to_owned()
}
