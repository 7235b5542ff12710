//! Results of other tools as runs of a side. What their files do not tell is unknown.

use super::provenance::{Group, Provenance};
use super::side::{Counts, Run};
use crate::formats::{Kind, Measurement, Thread};
use crate::latency::slices::Slice;

impl Run {
    /// A latency measurement of another tool; `None` for other kinds. Of several layers (timerlat) the outermost counts.
    pub fn imported(name: &str, measurement: &Measurement) -> Option<Run> {
        if measurement.kind != Kind::Latency {
            return None;
        }
        let outermost = measurement.threads.iter().map(|thread| thread.layer).max()?;
        let threads: Vec<&Thread> = measurement.threads.iter().filter(|thread| thread.layer == outermost).collect();
        let max = threads.iter().map(|thread| u64::try_from(thread.max_ns?).ok()).collect::<Option<Vec<u64>>>();
        let provenance = Provenance::new()
            .with(Group::Measurement, "instrument", Some(measurement.tool.clone()))
            .with(Group::Measurement, "instrument version", measurement.tool_version.clone())
            .with(Group::Measurement, "priority", measurement.priority.map(|priority| priority.to_string()))
            .with(
                Group::Measurement,
                "interval",
                measurement.interval_us.map(|us| crate::units::format_duration(us.saturating_mul(1000))),
            )
            .with(Group::Cpus, "isolated", None)
            .with(Group::Kernel, "release", None);
        let cycles = threads
            .iter()
            .map(|t| t.cycles.or_else(|| (t.binned > 0).then(|| t.binned + t.overflow.unwrap_or(0))))
            .sum();
        let run = Run::of_maximum(name, 0, cycles, provenance);
        Some(Run {
            max_ns: max.and_then(|max| max.into_iter().max()),
            mean_ns: mean(&threads),
            missed: threads.iter().map(|thread| thread.overruns).sum(),
            counts: counts(&threads),
            ..run
        })
    }
}

fn mean(threads: &[&Thread]) -> Option<f64> {
    let parts: Option<Vec<(f64, f64)>> = threads.iter().map(|t| Some((t.mean_ns?, t.cycles? as f64))).collect();
    let parts = parts.filter(|parts| !parts.is_empty())?;
    Some(parts.iter().map(|(mean, n)| mean * n).sum::<f64>() / parts.iter().map(|(_, n)| n).sum::<f64>())
}

/// Counts of all threads; what lies beyond the histogram has no magnitude.
fn counts(threads: &[&Thread]) -> Option<Counts> {
    let mut samples = Slice::new();
    let mut bin_width_ns = 0;
    for thread in threads {
        let width = thread.bin_width_ns?;
        bin_width_ns = bin_width_ns.max(width);
        for (from, count) in &thread.bins {
            *samples.entry(from.saturating_add(width).saturating_sub(1)).or_default() += count;
        }
        if let Some(beyond) = thread.overflow.filter(|beyond| *beyond > 0) {
            *samples.entry(u64::MAX).or_default() += beyond;
        }
    }
    (!samples.is_empty()).then_some(Counts { bin_width_ns, range_ns: u64::MAX, samples })
}
