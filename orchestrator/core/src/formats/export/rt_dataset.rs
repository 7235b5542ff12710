//! OSADL's RT Dataset 1.0: a dense array of counts in µs for each core, and the maxima apart.

use super::cyclictest::rows;
use super::{Export, Source};
use crate::latency::summarise;
use latprobe::histogram::DifferentBins;
use latprobe::spec::Length;
use serde_json::json;

/// The data set.
pub fn rt_dataset(source: &Source) -> Result<Export, DifferentBins> {
    let (result, threads) = (source.result, source.threads()?);
    let cores: Vec<Vec<u64>> = threads.iter().map(|thread| rows(&thread.histogram)).collect();
    // Cut off to whole µs, as cyclictest does: so a maximum lies in the row that counts it.
    let maxima: Vec<u64> =
        threads.iter().map(|thread| summarise(thread).max.and_then(|max| max.at_most_ns).unwrap_or(0) / 1000).collect();
    let interval_us = result.threads.first().map(|row| row.interval_ns / 1000);
    let cycles = match result.setup.length {
        Length::Cycles(cycles) => Some(cycles),
        _ => result.threads.first().map(|row| row.figures.expected_cycles),
    };
    let set = json!({
        "format": { "name": "RT Dataset", "version": "1.0" },
        "timestamps": { "origin": result.identity.started_at },
        "system": { "hostname": result.identity.target },
        "processor": { "family": result.board.machine, "type": result.board.model },
        "kernel": { "version": result.board.kernel_release, "cmdline": result.board.cmdline },
        "condition": {
            "load": if result.loads.is_empty() { "idle" } else { "heavy" },
            "cycles": cycles,
            "interval": interval_us,
        },
        "latency": { "granularity": "microseconds", "cores": cores, "maxima": maxima },
    });
    let overflow: u64 = threads.iter().map(|thread| thread.histogram.overflow()).sum();
    let mut lost = Vec::new();
    if overflow > 0 {
        lost.push(format!("{overflow} samples beyond the bins; the format keeps only the maxima"));
    }
    if result.total.missed > 0 {
        lost.push(format!("{} missed periods", result.total.missed));
    }
    lost.push("kernel configuration, validity and verdict: see `--as json`".to_owned());
    Ok(Export { text: format!("{set}\n"), lost })
}
