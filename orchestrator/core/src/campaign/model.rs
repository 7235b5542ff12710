//! A campaign after all layers are resolved: what the rest of latlab works with, and what `plan.json` stores.

use crate::trend::{Metric, Rule};
use latprobe::cpulist::CpuList;
use latprobe::spec::{CpuDmaLatency, Hunt, Length, Policy, Sleep, Weakness};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A checked campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Campaign {
    /// `name`.
    pub name: String,
    /// `description`, free text.
    pub description: Option<String>,
    /// `targets`, by name, in file order.
    pub targets: Vec<String>,
    /// Points of the campaign in file order, duplicates dropped.
    pub cells: Vec<Cell>,
    /// `[plan]`.
    pub plan: PlanOptions,
}

/// `[plan]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanOptions {
    /// How often each cell is measured on each target (≥ 1).
    pub repeat: u32,
    /// Order of the repetitions.
    pub order: Order,
    /// What becomes of a run whose board was reset in the midst of it.
    #[serde(default)]
    pub after_reset: AfterReset,
}

/// `plan.after_reset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AfterReset {
    /// The remaining time is measured in a new segment, on the same kernel only; the run is DEGRADED.
    #[default]
    Continue,
    /// What was measured is put aside, and the run begins again.
    Restart,
    /// The run ends as incomplete.
    End,
}

/// Order of repetitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// All repetitions of a cell, then the next cell.
    Grouped,
    /// A B B A …: drift and temperature favour no side.
    Interleaved,
}

/// One setting of everything.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Unique in the campaign and fit for a file name: the `[[cell]]` name and the matrix values,
    /// as in `native-isolated` or `isolcpus=1,load=idle`; `default` where the file has neither.
    pub name: String,
    /// Values of the matrix axes, by key as written (`boot.isolcpus` → `1`).
    pub axes: BTreeMap<String, String>,
    /// What it means.
    pub settings: Settings,
}

/// All settings of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// `[boot]`.
    pub boot: Boot,
    /// `[measure]`, `interval`.
    pub measure: Measure,
    /// `duration` or `cycles`.
    pub length: Length,
    /// `load`, resolved from `[loads]`, in the order named.
    pub loads: Vec<Load>,
    /// `[require]`.
    pub require: Conditions,
    /// `[apply]`.
    pub apply: Conditions,
    /// `[collect]`.
    pub collect: Collect,
    /// `[gate]`.
    pub gate: Gate,
}

/// `[boot]`: what must be booted. An absent field is not asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Boot {
    /// Kernel variant, a `[kernel.NAME]` of the target.
    pub kernel: Option<String>,
    /// Isolated CPUs; empty means none (`"none"` in the file).
    pub isolcpus: Option<CpuList>,
    /// Further words that must stand in the kernel command line.
    pub append: Vec<String>,
}

/// `[measure]` and `interval`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// What measures.
    pub instrument: Instrument,
    /// Which CPUs get a thread.
    pub cpus: Cpus,
    /// Period of the first thread, in ns.
    pub interval_ns: u64,
    /// Thread n has interval + n × distance, in ns.
    pub distance_ns: u64,
    /// Thread n starts n × offset later, in ns.
    pub offset_ns: u64,
    /// Scheduling policy.
    pub policy: Policy,
    /// Real-time priority 1..=99 (FIFO, RR), else 0.
    pub priority: u32,
    /// Lock memory.
    pub mlock: bool,
    /// Width of a bin, in ns.
    pub bin_width_ns: u64,
    /// Number of linear bins.
    pub bins: u32,
    /// Worst samples kept per thread.
    pub worst: u32,
    /// Length of a closed block, in ns.
    pub block_ns: u64,
    /// How a thread waits.
    pub sleep: Sleep,
    /// `/dev/cpu_dma_latency`.
    pub cpu_dma_latency: CpuDmaLatency,
    /// Warm-up, in ns.
    pub warmup_ns: u64,
    /// Accepted weaknesses.
    pub accept: Vec<Weakness>,
    /// What is hunted; there for [`Instrument::LatprobeHunt`].
    #[serde(default)]
    pub hunt: Option<Hunt>,
    /// Share of each period that [`Instrument::LatprobeNoise`] is busy, in percent.
    #[serde(default)]
    pub duty_percent: Option<u32>,
}

/// Which CPUs are measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cpus {
    /// One thread on each online CPU of the target, isolated ones included (`"all"`).
    All,
    /// One thread on each isolated CPU (`"isolated"`).
    Isolated,
    /// One thread on each of these.
    List(CpuList),
    /// So many threads, not pinned (`threads = N` without `cpus`).
    Unpinned(u32),
}

impl Cpus {
    /// The CPUs of a list; `None` for the other kinds.
    pub fn list(&self) -> Option<&CpuList> {
        match self {
            Cpus::List(list) => Some(list),
            _ => None,
        }
    }
}

/// What measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Instrument {
    /// This project's probe.
    Latprobe,
    /// The same with the kernel tracing, until a latency is long enough. Not a measurement.
    LatprobeHunt,
    /// The same as a busy loop that counts what takes the CPU from it. No latencies.
    LatprobeNoise,
    /// The board's cyclictest (not built yet).
    Cyclictest,
    /// cyclictest linked with libcobalt (not built yet).
    XenomaiCyclictest,
    /// Xenomai's `latency` (not built yet).
    XenomaiLatency,
    /// The kernel's timerlat tracer (not built yet).
    Timerlat,
}

/// A load of the cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Name in `[loads]`.
    pub name: String,
    /// What it runs.
    pub kind: LoadKind,
    /// CPUs it is bound to; absent: none.
    pub cpus: Option<CpuList>,
    /// Pause before each restart, in ns; not counted against its duty.
    pub pause_ns: u64,
    /// Smallest share of time it must run, 0..=1; below it the run is INVALID.
    pub min_duty: f64,
}

/// `[loads.NAME.KIND]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadKind {
    /// `hackbench`: the board's, or the probe's built-in where it has none.
    Hackbench {
        /// `-g`.
        groups: u32,
        /// `-l`.
        loops: u32,
        /// `-s`, bytes.
        size: u32,
        /// `-p`: pipes instead of sockets.
        pipes: bool,
        /// `-T`: threads instead of processes.
        threads: bool,
    },
    /// `dd`.
    Dd {
        /// `if=`, default `/dev/zero`.
        from: String,
        /// `of=`, default `/dev/null`.
        to: String,
        /// `bs=`, as dd writes it (`32M`).
        block: String,
        /// `count=`; absent: endless.
        count: Option<u64>,
    },
    /// `cat FILE`, output thrown away.
    Cat {
        /// Default `/dev/zero`.
        file: String,
    },
    /// Any program on the board.
    Command {
        /// Program and arguments.
        argv: Vec<String>,
    },
}

/// Conditions of the board, the same keys in `[require]` and `[apply]`; an absent one is not asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Conditions {
    /// cpufreq governor of every CPU that has one (`performance`).
    pub governor: Option<String>,
    /// `sched_rt_runtime_us`.
    pub rt_runtime: Option<RtRuntime>,
    /// Kernel messages on the console.
    pub console: Option<Console>,
    /// Transparent huge pages (`never`, `madvise`, `always`).
    pub transparent_hugepage: Option<String>,
    /// Fair deadline server (Linux 6.12 on).
    pub fair_server: Option<Off>,
    /// Tracers and trace events.
    pub tracing: Option<Off>,
    /// Lockup detectors.
    pub watchdog: Option<Off>,
    /// Where interrupts may go.
    pub irq_affinity: Option<Housekeeping>,
    /// Where unbound workqueues may run.
    pub workqueues: Option<Housekeeping>,
    /// Daemons that set the clock.
    pub time_sync: Option<Stopped>,
    /// Other real-time threads on the measured CPUs.
    pub rt_threads: Option<Below>,
    /// Recipe checks that must pass, by name (`[require]` only).
    #[serde(default)]
    pub checks: Vec<String>,
    /// Kernel preemption model that must run (`[require]` only).
    pub preemption: Option<Preemption>,
    /// Clock source that must be current (`[require]` only).
    pub clocksource: Option<String>,
}

/// `"off"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Off {
    /// Turned off.
    Off,
}

/// `"housekeeping"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Housekeeping {
    /// On every CPU but the measured ones.
    Housekeeping,
}

/// `"stopped"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stopped {
    /// None runs.
    Stopped,
}

/// `"below"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Below {
    /// Below the priority of the sampling threads.
    Below,
}

/// `rt_runtime`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RtRuntime {
    /// `"unlimited"`: -1, no throttling.
    Unlimited,
    /// A time per period of one second, in us.
    Us(u64),
}

/// `console`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Console {
    /// `kernel.printk` console level ≤ 4, as by `quiet`.
    Quiet,
}

/// Preemption model of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preemption {
    /// `PREEMPT_RT` (`PREEMPT_RT_FULL` on old kernels).
    PreemptRt,
    /// `PREEMPT`, also by `preempt=full`.
    Preempt,
    /// `PREEMPT_VOLUNTARY`.
    Voluntary,
    /// `PREEMPT_LAZY`.
    Lazy,
    /// `PREEMPT_NONE`.
    None,
}

/// `[collect]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collect {
    /// Time between host contacts during the measurement, in ns (default 60 s).
    pub every_ns: u64,
    /// When the host contacts the board.
    pub mode: CollectMode,
    /// Time between checkpoints on the board, in ns (default 10 s).
    pub checkpoint_ns: u64,
}

/// `collect.mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CollectMode {
    /// Every [`Collect::every_ns`].
    Live,
    /// Only after the end, for purists.
    End,
}

/// `[gate]`: limits, inclusive. Without any the verdict is NOT JUDGED.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Gate {
    /// Largest latency allowed, in ns.
    pub max_ns: Option<u64>,
    /// Missed periods allowed, all threads together.
    pub missed: Option<u64>,
    /// Quantile (0..1, as written) → largest value allowed, in ns.
    pub quantile_ns: BTreeMap<String, u64>,
    /// (latency in ns, largest share of samples above it).
    pub exceed: Vec<(u64, f64)>,
    /// What degrades a run makes it INVALID (`validity = "valid"`).
    #[serde(default)]
    pub valid_only: bool,
    /// Held against the cell's baseline; without one a night does not pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Relative>,
}

/// `[gate.baseline]`: limits relative to the runs of a baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Relative {
    /// Names of [`crate::trend::Metric`].
    pub metrics: Vec<String>,
    /// When a run is suspicious.
    pub rule: Rule,
    /// Further suspicious runs of a cell before a night fails; `latlab run` measures them by itself.
    pub confirm: u8,
}

/// As `latlab gate` judges where a campaign says nothing.
impl Default for Relative {
    fn default() -> Self {
        let metrics = Metric::OF_GATES.map(|metric| metric.name().to_owned()).to_vec();
        Self { metrics, rule: Rule::default(), confirm: 2 }
    }
}
