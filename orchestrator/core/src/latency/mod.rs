//! What counts say about latency: extremes, quantiles, shares above a limit.
//!
//! Everything is computed from exact counts in integers. A bin tells where a
//! sample lies only up to its width, so a figure is a [`Value`]: an interval that
//! surely holds the true one. Minimum, maximum and mean do not come from bins
//! but from the closed blocks and the worst samples, and are exact.

pub mod assessment;
pub mod blocks;
pub mod boots;
pub mod bootstrap;
mod distribution;
pub mod drift;
pub mod equal_cycles;
pub mod exceedance;
pub mod extremes;
pub mod outliers;
mod probability;
pub(crate) mod random;
pub mod slices;
mod stated;
pub mod stationarity;
pub mod timeline;

use latprobe::histogram::{DifferentBins, Histogram};
use latprobe::stream::{Folded, ThreadResult};
use serde::{Deserialize, Serialize};

pub use distribution::{Distribution, Share};
pub use probability::{BadProbability, Probability};
pub use stated::{CONFIDENCE, Interval, NotApplicable, Stated, Test};

/// A latency known to lie between two bounds, both inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Value {
    /// It is at least this, in ns.
    pub at_least_ns: u64,
    /// It is at most this, in ns; absent: no bound is known.
    pub at_most_ns: Option<u64>,
}

impl Value {
    /// A value known exactly.
    pub fn exact(ns: u64) -> Self {
        Self { at_least_ns: ns, at_most_ns: Some(ns) }
    }

    /// Whether both bounds meet.
    pub fn is_exact(self) -> bool {
        self.at_most_ns == Some(self.at_least_ns)
    }

    /// Whether it is surely at most `limit_ns`. A bound that cannot decide says no.
    pub fn surely_within(self, limit_ns: u64) -> bool {
        self.at_most_ns.is_some_and(|at_most| at_most <= limit_ns)
    }
}

/// Figures of one thread, or of several merged.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Wake-ups in bins and tail.
    pub cycles: u64,
    /// Missed periods.
    pub missed: u64,
    /// Wake-ups before their time, in no bin.
    pub negative: u64,
    /// Wake-ups beyond the linear bins.
    pub overflow: u64,
    /// First latency beyond the linear bins, in ns.
    pub range_ns: u64,
    /// Smallest latency; absent without samples.
    pub min: Option<Value>,
    /// Largest latency; absent without samples.
    pub max: Option<Value>,
    /// Mean over the closed blocks, in ns; absent without samples.
    pub mean_ns: Option<f64>,
    /// Wake-ups that the mean covers: all, unless blocks were lost or the last one is still open.
    pub mean_cycles: u64,
    /// Latency of the wake-ups, one value each.
    pub distribution: Distribution,
}

/// Figures of `thread`.
pub fn summarise(thread: &ThreadResult) -> Summary {
    let histogram = &thread.histogram;
    let (min, max) = (smallest(thread), largest(thread));
    Summary {
        cycles: histogram.total(),
        missed: thread.missed,
        negative: histogram.negative,
        overflow: histogram.overflow(),
        range_ns: histogram.range_ns(),
        min,
        max,
        mean_ns: thread.mean_ns(),
        mean_cycles: thread.blocks.iter().map(|block| u64::from(block.cycles)).sum(),
        distribution: Distribution::of_wake_ups(histogram).clamped(min, max),
    }
}

/// Exact by the closed blocks, unless a bin shows a smaller sample than any of them: that one was in a block that never came.
fn smallest(thread: &ThreadResult) -> Option<Value> {
    let (lower, upper, _) = thread.histogram.occupied().next()?;
    match thread.min_ns() {
        Some(min) if min < upper => Some(Value::exact(min)),
        _ => Some(Value { at_least_ns: lower, at_most_ns: Some(upper - 1) }),
    }
}

/// Exact by the closed blocks and the worst samples, unless a bin shows a larger sample.
fn largest(thread: &ThreadResult) -> Option<Value> {
    let (lower, upper, _) = thread.histogram.occupied().next_back()?;
    match thread.max_ns() {
        Some(max) if max >= lower => Some(Value::exact(max)),
        _ => Some(Value { at_least_ns: lower, at_most_ns: (upper < u64::MAX).then(|| upper - 1) }),
    }
}

/// The measuring phase of all segments, by thread. Sums are exact; whether the segments
/// may be added (same boot, same kernel) is for the validity rules to say.
pub fn merge_segments(segments: &[Folded]) -> Result<Vec<ThreadResult>, DifferentBins> {
    let mut threads: Vec<ThreadResult> = Vec::new();
    for segment in segments {
        for (index, thread) in segment.threads.iter().enumerate() {
            match threads.get_mut(index) {
                Some(sum) => add(sum, thread)?,
                None => threads.push(thread.clone()),
            }
        }
    }
    threads.iter_mut().for_each(sort_worst);
    Ok(threads)
}

/// All threads as one.
pub fn merge_threads(threads: &[ThreadResult]) -> Result<Option<ThreadResult>, DifferentBins> {
    let Some((first, rest)) = threads.split_first() else { return Ok(None) };
    let mut sum = first.clone();
    for thread in rest {
        add(&mut sum, thread)?;
    }
    // Once: a sort for each thread would take minutes for a thousand.
    sort_worst(&mut sum);
    Ok(Some(sum))
}

fn sort_worst(thread: &mut ThreadResult) {
    thread.worst.sort_unstable_by(|a, b| b.cmp(a));
}

/// The worst samples are left in no order.
fn add(sum: &mut ThreadResult, other: &ThreadResult) -> Result<(), DifferentBins> {
    sum.histogram.merge(&other.histogram)?;
    sum.missed = sum.missed.saturating_add(other.missed);
    sum.blocks.extend_from_slice(&other.blocks);
    sum.worst.extend_from_slice(&other.worst);
    sum.minor_faults = sum.minor_faults.saturating_add(other.minor_faults);
    sum.major_faults = sum.major_faults.saturating_add(other.major_faults);
    sum.voluntary_switches = sum.voluntary_switches.saturating_add(other.voluntary_switches);
    sum.involuntary_switches = sum.involuntary_switches.saturating_add(other.involuntary_switches);
    Ok(())
}

/// Latency of every period rather than of every wake-up: a wake-up later than its interval also served the
/// periods it slept through, and each of these was late by one interval less than the one before
/// (coordinated omission; cyclictest counts such a stall once).
pub fn per_period(histogram: &Histogram, interval_ns: u64, missed: u64) -> Distribution {
    Distribution::of_periods(histogram, interval_ns, missed)
}

#[cfg(test)]
mod tests;
