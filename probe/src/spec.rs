//! One run as the host submits it: the supervisor on the board needs nothing else.
//!
//! Stored as `spec.json` in the run's directory on the board and on the host.
//! Campaign words (distance, load recipes, duration in hours) are resolved by
//! the host; the probe executes what stands here literally.

use serde::{Deserialize, Serialize};

/// Version of [`Spec`]. A probe refuses any other: the host deploys the probe that fits.
pub const SPEC_FORMAT: u32 = 1;

/// Everything the supervisor does in one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// [`SPEC_FORMAT`].
    pub format: u32,
    /// Name of the run, unique in the work directory; `[A-Za-z0-9._-]+`.
    pub run_id: String,
    /// Number of the first segment in a directory without one. The host continues a run whose directory was lost in a reset.
    #[serde(default)]
    pub first_segment: u32,
    /// The sampling threads.
    pub measure: Measure,
    /// How long the measuring phase lasts.
    pub length: Length,
    /// Time between the first sample and the start of the measuring phase, in ns.
    /// Its samples are kept in a histogram of their own.
    pub warmup_ns: u64,
    /// Whole life of the supervisor, in ns from its start: when it is over, the run is ended whatever its state.
    pub deadline_ns: u64,
    /// Time between checkpoint records, in ns (≥ 100 ms).
    pub checkpoint_ns: u64,
    /// Longest time between syncs of the stream to storage, in ns (≤ 60 s).
    pub sync_ns: u64,
    /// CPUs for the supervisor; empty: every allowed CPU that is not measured, or any where none is left.
    pub housekeeping_cpus: Vec<u32>,
    /// Stress loads, started in this order before the warm-up, stopped after the measuring.
    pub loads: Vec<Load>,
    /// Settings changed for the run and put back after it.
    pub apply: Vec<Setting>,
    /// Processes that stand still for the run, by name (`comm`), and go on after it.
    #[serde(default)]
    pub halt: Vec<String>,
    /// Other real-time threads at this priority or above are lowered below it for the run (2..=99).
    #[serde(default)]
    pub lower_from: Option<u32>,
    /// Weaknesses of the set-up that the campaign accepts; any other refuses the run.
    pub accept: Vec<Weakness>,
}

/// The sampling threads and what they record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// One entry per thread, 1 to 1024.
    pub threads: Vec<Thread>,
    /// Scheduling policy of the sampling threads.
    pub policy: Policy,
    /// Real-time priority 1..=99 (FIFO, RR); 0 otherwise.
    pub priority: u32,
    /// Lock memory (`mlockall`) before the first sample.
    pub mlock: bool,
    /// Width of a linear bin, in ns (≥ 1).
    pub bin_width_ns: u64,
    /// Number of linear bins (1..=1,000,000). Beyond them, logarithmic tail bins.
    pub bins: u32,
    /// How many of the worst samples are kept with time and cycle number, per thread (0..=1024).
    pub worst: u32,
    /// Length of a closed block, in ns (≥ 100 ms).
    pub block_ns: u64,
    /// How a thread waits for its next period.
    pub sleep: Sleep,
    /// `/dev/cpu_dma_latency`.
    pub cpu_dma_latency: CpuDmaLatency,
    /// What is counted, and whether a long latency ends the run.
    #[serde(default, skip_serializing_if = "Mode::is_measuring")]
    pub mode: Mode,
}

/// What the threads do. Only [`Mode::Measure`] gives latencies that stand for a set-up.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Each wake-up's latency is counted, for the whole length.
    #[default]
    Measure,
    /// As [`Mode::Measure`] with the kernel tracing, until one latency is long enough: then tracing stops and the run ends.
    Hunt(Hunt),
    /// A busy loop: the time from each clock read to the next is counted. A long one is a gap that something else took.
    Noise {
        /// Share of each period that it is busy, in percent (1..=95). The rest it sleeps, or it could hang a board.
        duty_percent: u32,
    },
}

/// What ends a hunt, and what the kernel traces meanwhile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hunt {
    /// The first latency of at least this ends the run, in ns.
    pub at_least_ns: u64,
    /// Name of the kernel's tracer: `nop`, `function` …
    pub tracer: String,
    /// Events traced, as `group:name`.
    pub events: Vec<String>,
}

impl Mode {
    /// [`Mode::Measure`].
    pub fn is_measuring(&self) -> bool {
        *self == Mode::Measure
    }
}

/// One sampling thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thread {
    /// CPU it is pinned to; absent: not pinned.
    pub cpu: Option<u32>,
    /// Its period, in ns (≥ 10 us).
    pub interval_ns: u64,
    /// Delay of its first period after the common start, in ns.
    pub offset_ns: u64,
}

/// Scheduling policy, `sched(7)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// `SCHED_FIFO`.
    Fifo,
    /// `SCHED_RR`.
    Rr,
    /// `SCHED_OTHER`.
    Other,
    /// `SCHED_DEADLINE`: runtime is derived from the interval.
    Deadline,
}

/// How a sampling thread waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sleep {
    /// `clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME)`: the default, keeps the period.
    Absolute,
    /// Relative `clock_nanosleep`: drifts by each latency.
    Relative,
    /// A periodic `timerfd`.
    Timerfd,
}

/// What is done with `/dev/cpu_dma_latency`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CpuDmaLatency {
    /// 0 us held over the run on all CPUs, as `cyclictest` does. Where the device is missing, that is recorded.
    Hold,
    /// Left alone.
    None,
    /// Only the measured CPUs, by `power/pm_qos_resume_latency_us`, put back after the run.
    PerCpu,
}

/// Length of the measuring phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Length {
    /// Time on `CLOCK_MONOTONIC`, in ns.
    DurationNs(u64),
    /// Each thread ends after this many wake-ups.
    Cycles(u64),
}

/// A stress load: a command that is kept running in a process group of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// Name in the campaign; `[A-Za-z0-9._-]+`, unique in a run.
    pub name: String,
    /// Program and arguments. The program `@latprobe` is the probe itself (built-in loads).
    pub argv: Vec<String>,
    /// CPUs the load is bound to; absent: no affinity (isolation alone must do the work).
    pub cpus: Option<Vec<u32>>,
    /// Wait before a restart, in ns; part of the recipe, so not counted against its duty.
    pub pause_ns: u64,
}

/// One file below `/proc` or `/sys` that is written for the run. Its old content is put back after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// Absolute path.
    pub path: String,
    /// Text to write, without the final newline; empty: the file is emptied.
    pub value: String,
    /// The run goes on without it where the kernel refuses: some interrupts cannot be moved.
    #[serde(default)]
    pub optional: bool,
}

/// Kernel threads that run at `SCHED_FIFO` 99 by design (`migration/0`, `watchdog/1`, `posixcputmr/0`): nothing competes with them,
/// and they compete with nothing for long.
pub fn is_kernels_own(name: &str) -> bool {
    ["migration/", "watchdog/", "posixcputmr/"].iter().any(|start| name.starts_with(start))
}

/// What would make figures worthless unless the campaign says that it knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weakness {
    /// The policy or priority read back differs from what was asked.
    PolicyNotGranted,
    /// Memory could not be locked.
    MemoryNotLocked,
    /// The clock's step is larger than a bin.
    CoarseClock,
}
