//! The checkpoint stream: an append-only file per segment, the truth of a run.
//!
//! Each record checks itself (see [`wire`]) and carries deltas, so that
//! folding whatever arrived is the result up to that point ([`fold`]).
//! Order in a segment: [`Header`], [`Instrument`], then [`Phase`],
//! [`Checkpoint`] and [`Event`] records as things happen, [`End`] last.
//! Times are `CLOCK_MONOTONIC` of the board's boot named in the header.
//!
//! Versions: 1 (first).

mod checkpoint;
pub mod fold;
pub mod wire;

use crate::spec::{Policy, Weakness};
use serde::{Deserialize, Serialize};

pub use fold::{Fold, Folded, ThreadResult};
pub use wire::{Damage, Decoder, Encoder};

/// Version of the stream; readers refuse newer ones and read older ones.
pub const STREAM_FORMAT: u32 = 1;

/// One record.
#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    /// First record of a segment.
    Header(Header),
    /// The set-up as read back from the kernel, before the first sample.
    Instrument(Instrument),
    /// A phase begins.
    Phase(Phase),
    /// Deltas since the checkpoint before.
    Checkpoint(Checkpoint),
    /// Something worth knowing happened.
    Event(Event),
    /// Last record of a segment that ended by itself.
    End(End),
}

/// Identity of a segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// [`STREAM_FORMAT`].
    pub format: u32,
    /// Run this segment belongs to.
    pub run_id: String,
    /// Segment number from 0.
    pub segment: u32,
    /// Version of the probe that wrote it.
    pub probe_version: String,
    /// Boot it was measured in.
    pub boot_id: String,
    /// `uname -r`.
    pub kernel_release: String,
    /// `CLOCK_MONOTONIC` at the supervisor's start, in ns.
    pub mono_ns: u64,
    /// The board's wall clock then, in ns since 1970; often wrong, only for people.
    pub realtime_ns: u64,
    /// Width of a linear bin, in ns.
    pub bin_width_ns: u64,
    /// Number of linear bins.
    pub bins: u32,
    /// Worst samples kept per thread.
    pub worst: u32,
    /// Names of the loads, by index as used in [`LoadDelta`].
    pub loads: Vec<String>,
}

/// What was really set up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instrument {
    /// Sampling threads, by index.
    pub threads: Vec<ThreadSetup>,
    /// Clock and timer self-test.
    pub selftest: Selftest,
    /// Memory of the measuring process is locked.
    pub memory_locked: bool,
    /// `/dev/cpu_dma_latency` state: `held 0 us`, `none`, `missing`, `per-cpu` or `refused: …`.
    pub cpu_dma_latency: String,
    /// CPUs the supervisor may run on, kernel list format.
    pub supervisor_cpus: String,
    /// Weaknesses found that the campaign accepted.
    pub accepted: Vec<Weakness>,
}

/// A sampling thread as read back from the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadSetup {
    /// Kernel thread id.
    pub tid: i32,
    /// CPU it is pinned to; absent: not pinned.
    pub cpu: Option<u32>,
    /// CPUs it may run on, kernel list format.
    pub allowed_cpus: String,
    /// Policy read back.
    pub policy: Policy,
    /// Priority read back.
    pub priority: u32,
    /// Its period, in ns.
    pub interval_ns: u64,
}

/// Properties of the clock that every figure rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selftest {
    /// Cheapest of the measured clock reads, in ns.
    pub clock_read_min_ns: u64,
    /// 99 % of clock reads cost at most this, in ns.
    pub clock_read_p99_ns: u64,
    /// Smallest step seen between two reads that differ, in ns.
    pub clock_step_ns: u64,
    /// How the clock is read: `vdso`, `syscall` or `syscall-time64`.
    pub clock_call: String,
    /// How the thread sleeps: `clock_nanosleep`, `clock_nanosleep_time64` or `timerfd`.
    pub sleep_call: String,
    /// `clock_getres(CLOCK_MONOTONIC)`, in ns: 1 with high-resolution timers, a tick without.
    pub timer_resolution_ns: u64,
}

/// A phase begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    /// Which.
    pub kind: PhaseKind,
    /// `CLOCK_MONOTONIC`, in ns.
    pub mono_ns: u64,
}

/// Phases of a segment, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PhaseKind {
    /// Sampling into the warm-up histogram.
    WarmUp,
    /// Sampling into the histogram that counts.
    Measuring,
    /// Sampling has ended.
    Ended,
}

/// Deltas since the checkpoint before; the first one counts from zero.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Checkpoint {
    /// These samples belong to the warm-up.
    pub warm_up: bool,
    /// `CLOCK_MONOTONIC`, in ns.
    pub mono_ns: u64,
    /// Sampling threads with something new, by index.
    pub threads: Vec<ThreadDelta>,
    /// Loads, by index of [`Header::loads`].
    pub loads: Vec<LoadDelta>,
    /// The rest of the board.
    pub system: SystemDelta,
}

/// New counts of one thread.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ThreadDelta {
    /// Index of the thread.
    pub thread: u32,
    /// (linear bin, new samples), ascending.
    pub bins: Vec<(u32, u32)>,
    /// (tail bin, new samples), ascending.
    pub tail: Vec<(u32, u32)>,
    /// New samples before their time.
    pub negative: u32,
    /// New missed periods.
    pub missed: u64,
    /// Blocks closed since.
    pub blocks: Vec<Block>,
    /// Worst samples that are new or changed since.
    pub worst: Vec<Sample>,
    /// Page faults served without I/O.
    pub minor_faults: u64,
    /// Page faults that needed I/O.
    pub major_faults: u64,
    /// Voluntary context switches (one per sleep).
    pub voluntary_switches: u64,
    /// Involuntary context switches (preemptions).
    pub involuntary_switches: u64,
}

/// A closed stretch of one thread, about [`crate::spec::Measure::block_ns`] long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Block {
    /// `CLOCK_MONOTONIC` at its end, in ns.
    pub end_mono_ns: u64,
    /// Wake-ups in it, negative ones not counted.
    pub cycles: u32,
    /// Missed periods in it.
    pub missed: u32,
    /// Smallest latency, in ns; meaningless without cycles.
    pub min_ns: u64,
    /// Largest latency, in ns.
    pub max_ns: u64,
    /// Sum of latencies, in ns.
    pub sum_ns: u64,
}

/// One remarkable wake-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Sample {
    /// Latency, in ns. First field, so that samples sort by it.
    pub latency_ns: u64,
    /// Wake-up number of the thread in its phase, from 0.
    pub cycle: u64,
    /// `CLOCK_MONOTONIC` of the wake-up, in ns.
    pub mono_ns: u64,
}

/// What a load did since the checkpoint before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LoadDelta {
    /// Index in [`Header::loads`].
    pub load: u32,
    /// Time it ran, in ns.
    pub active_ns: u64,
    /// Time in the pauses of its recipe, in ns.
    pub pause_ns: u64,
    /// Starts.
    pub starts: u32,
    /// Exits with status other than 0, or by a signal.
    pub failures: u32,
}

/// What the rest of the board did since the checkpoint before.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SystemDelta {
    /// Interrupts that fired on measured CPUs: CPU, label of `/proc/interrupts` (`27`, `LOC`, `IPI0`), count.
    pub interrupts: Vec<(u32, String, u64)>,
    /// Temperatures now: zone, in thousandths of a degree Celsius.
    pub temperatures_mc: Vec<(u32, i64)>,
    /// Frequencies now: CPU, in kHz.
    pub frequencies_khz: Vec<(u32, u64)>,
    /// Kills by the out-of-memory killer (`oom_kill` of `/proc/vmstat`).
    pub oom_kills: u64,
}

/// Something worth knowing happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// `CLOCK_MONOTONIC`, in ns.
    pub mono_ns: u64,
    /// What.
    pub kind: EventKind,
    /// Which load, setting or file it is about.
    pub subject: String,
    /// Plain words: exit code, old and new value …
    pub detail: String,
}

/// Kinds of [`Event`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// A setting was changed for the run.
    SettingApplied,
    /// A setting was put back.
    SettingRestored,
    /// A setting could not be put back.
    RestoreFailed,
    /// A load started for the first time.
    LoadStarted,
    /// A load ended with an error; it is restarted.
    LoadFailed,
    /// A load could not be started.
    LoadMissing,
    /// Worst samples or blocks were lost because the supervisor was late.
    HandoverLost,
    /// The measuring process ended by itself or was killed.
    MeasurerGone,
    /// Anything else that a person should read.
    Note,
}

/// How a segment ended. Written after the loads were stopped and the settings put back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// `CLOCK_MONOTONIC`, in ns.
    pub mono_ns: u64,
    /// Why.
    pub reason: EndReason,
    /// Plain words for anything but completion.
    pub detail: String,
    /// Every setting was put back.
    pub restored: bool,
    /// The probe's own totals of the measuring phase, by thread: a check on the folded deltas.
    pub threads: Vec<ThreadTotals>,
}

/// Why a segment ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndReason {
    /// The asked duration or cycles were reached.
    Completed,
    /// Stopped on request.
    Stopped,
    /// The deadline came first.
    Deadline,
    /// Refused before the first sample, or failed.
    Failed,
}

/// Totals of one thread over the measuring phase of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadTotals {
    /// Wake-ups in bins and tail.
    pub cycles: u64,
    /// Missed periods.
    pub missed: u64,
    /// Negative differences.
    pub negative: u64,
}
