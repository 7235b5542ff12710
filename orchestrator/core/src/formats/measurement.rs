//! What every format is read into.

use serde::{Deserialize, Serialize, Serializer};

/// What a measurement says something about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Wake-up latency of threads.
    Latency,
    /// How long a load took (hackbench).
    Load,
    /// Time stolen from a busy loop (oslat, hwlatdetect).
    Noise,
}

/// Where in the wake-up a latency was taken (timerlat takes two or three).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// At the timer interrupt.
    Irq,
    /// At the kernel thread.
    Kernel,
    /// Back in user space.
    User,
}

/// One run of a tool, as its file states it. `None` is unknown, never zero.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The tool's name (`cyclictest`, `xenomai-latency`, `rtla-timerlat` …).
    pub tool: String,
    /// The tool's version, where the file states one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_version: Option<String>,
    /// What was measured.
    pub kind: Kind,
    /// Is everything there that the tool prints, and did it end as asked? The warnings say what is missing.
    pub complete: bool,
    /// What a reader must know before using the numbers.
    pub warnings: Vec<String>,
    /// Period of the (first) sampling thread, in µs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_us: Option<u64>,
    /// Priority of the (first) sampling thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u64>,
    /// The sampling threads.
    pub threads: Vec<Thread>,
    /// The parser rule that read it; with [`super::RULES_VERSION`] it tells how the numbers came about.
    #[serde(skip)]
    pub rule: &'static str,
    /// Line the run starts at.
    #[serde(skip)]
    pub line: u64,
}

/// What one sampling thread measured.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Thread {
    /// The thread's number in the tool's output.
    pub thread: u64,
    /// The CPU it ran on, where stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u64>,
    /// Where the latency was taken, for tools that take several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<Layer>,
    /// Samples the tool says it took, those beyond the histogram included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycles: Option<u64>,
    /// Samples in histogram bins; 0 when there is no histogram.
    pub binned: u64,
    /// Samples beyond the histogram.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overflow: Option<u64>,
    /// Smallest value, in ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_ns: Option<i64>,
    /// Mean, in ns, as precise as the tool prints it.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "whole_if_exact")]
    pub mean_ns: Option<f64>,
    /// Largest value, in ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_ns: Option<i64>,
    /// Width of a bin, in ns; absent without a histogram.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bin_width_ns: Option<u64>,
    /// Periods that the tool says were missed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overruns: Option<u64>,
    /// Occupied bins, ascending: lower edge in ns, samples.
    #[serde(skip)]
    pub bins: Vec<(u64, u64)>,
}

/// Means that are whole are written as integers, as the tools print them.
#[expect(clippy::cast_possible_truncation, reason = "whole and below 2^53")]
fn whole_if_exact<S: Serializer>(mean: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match mean {
        Some(mean) if mean.fract() == 0.0 && mean.abs() < 9e15 => serializer.serialize_i64(*mean as i64),
        Some(mean) => serializer.serialize_f64(*mean),
        None => serializer.serialize_none(),
    }
}

impl Thread {
    /// A thread of which nothing is known yet.
    pub(super) fn new(thread: u64) -> Self {
        Self { thread, ..Self::default() }
    }

    /// Has it any number that says how long something took?
    fn has_data(&self) -> bool {
        self.binned > 0 || self.overflow.is_some_and(|n| n > 0) || self.max_ns.is_some() || self.min_ns.is_some()
    }

    /// A name for messages.
    pub(super) fn name(&self) -> String {
        match (self.layer, self.cpu) {
            (Some(layer), Some(cpu)) => format!("CPU {cpu} ({layer:?})"),
            _ => format!("thread {}", self.thread),
        }
    }
}

/// Longer latencies than this are a clock or timer fault until shown otherwise, in ns.
const IMPLAUSIBLE_NS: i64 = 10_000_000_000;

impl Measurement {
    /// An empty measurement of a tool, read by `rule`, starting at `line`.
    pub(super) fn new(tool: &str, rule: &'static str, kind: Kind, line: u64) -> Self {
        Self {
            tool: tool.to_owned(),
            tool_version: None,
            kind,
            complete: true,
            warnings: Vec::new(),
            interval_us: None,
            priority: None,
            threads: Vec::new(),
            rule,
            line,
        }
    }

    /// Says what a reader must know.
    pub(super) fn warn(&mut self, warning: impl Into<String>) {
        /// Enough to see what is wrong with a file; a damaged one would fill the memory.
        const MAX_WARNINGS: usize = 100;
        if self.warnings.len() < MAX_WARNINGS {
            self.warnings.push(warning.into());
        }
    }

    /// Says what is missing.
    pub(super) fn incomplete(&mut self, warning: impl Into<String>) {
        self.complete = false;
        self.warn(warning);
    }

    /// Is there anything measured in it?
    pub(super) fn has_data(&self) -> bool {
        self.threads.iter().any(Thread::has_data)
    }

    /// Gives a thread its histogram: bins of `width_ns`, by their lower edge in ns, occupied ones only.
    pub(super) fn set_bins(&mut self, thread: &mut Thread, width_ns: u64, bins: Vec<(u64, u64)>) {
        thread.bin_width_ns = Some(width_ns);
        match bins.iter().try_fold(0u64, |sum, (_, samples)| sum.checked_add(*samples)) {
            Some(sum) => {
                thread.binned = sum;
                thread.bins = bins;
            }
            None => self.incomplete(format!("{}: the counts add up to more than 64 bits hold", thread.name())),
        }
    }

    /// The checks that hold for every format. Nothing is repaired: what disagrees is said.
    pub(super) fn check(&mut self) {
        let mut said = Vec::new();
        for thread in &self.threads {
            let name = thread.name();
            if thread.bin_width_ns.is_some()
                && let (Some(cycles), overflow) = (thread.cycles, thread.overflow.unwrap_or(0))
                && thread.binned.checked_add(overflow) != Some(cycles)
            {
                said.push(format!(
                    "{name}: histogram and overflow hold {} samples, but {cycles} cycles are stated",
                    u128::from(thread.binned) + u128::from(overflow)
                ));
            }
            if let (Some(min), Some(max)) = (thread.min_ns, thread.max_ns)
                && min > max
            {
                said.push(format!("{name}: minimum {min} ns is above the maximum {max} ns"));
            }
            if let Some(max) = thread.max_ns
                && max >= IMPLAUSIBLE_NS
                && self.kind != Kind::Load
            {
                said.push(format!("{name}: a maximum of {max} ns is implausible; look for a timer or clock fault"));
            }
            if let Some((bin, _)) = thread.bins.last()
                && let (Some(max), Some(width)) = (thread.max_ns, thread.bin_width_ns)
                && thread.layer.is_none()
                && i128::from(max) < i128::from(*bin)
                && width > 0
            {
                said.push(format!("{name}: samples at {bin} ns lie above the stated maximum {max} ns"));
            }
            if thread.cycles == Some(0) {
                said.push(format!("{name}: no sample"));
            }
        }
        said.into_iter().for_each(|warning| self.warn(warning));
    }
}
