//! Prometheus text format, for the node exporter's textfile collector.

use super::{Export, Source};
use crate::judgement::{Validity, Verdict};
use latprobe::histogram::DifferentBins;
use std::fmt::Write as _;

/// Gauges of the run, and the histogram of each thread with the edges of the occupied bins.
pub fn prometheus(source: &Source) -> Result<Export, DifferentBins> {
    let result = source.result;
    let identity = &result.identity;
    let labels = [
        ("campaign", &identity.campaign),
        ("cell", &identity.cell),
        ("target", &identity.target),
        ("run", &identity.run),
    ]
    .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
    .join(",");
    let mut text = String::new();
    let flag = |yes: bool| u8::from(yes).to_string();
    gauge(
        &mut text,
        "latlab_run_valid",
        "1 unless the run is INVALID.",
        &labels,
        &flag(result.validity != Validity::Invalid),
    );
    if result.verdict != Verdict::NotJudged {
        let pass = flag(result.verdict == Verdict::Pass);
        gauge(&mut text, "latlab_run_pass", "1 if every limit of the gate holds.", &labels, &pass);
    }
    gauge(&mut text, "latlab_missed_periods", "Periods without a wake-up.", &labels, &result.total.missed.to_string());
    if let Some(max) = result.total.max {
        gauge(&mut text, "latlab_latency_max_seconds", "Largest latency observed.", &labels, &seconds(max.ns));
    }
    text.push_str("# HELP latlab_latency_seconds Wake-up latency.\n# TYPE latlab_latency_seconds histogram\n");
    for (index, thread) in source.threads()?.iter().enumerate() {
        let labels = format!("{labels},thread=\"{index}\"");
        let mut sum = 0;
        for (_, to, count) in thread.histogram.occupied() {
            sum += count;
            // Bins end below their upper edge, and latencies are whole ns; the bin without an end is only in +Inf.
            if to != u64::MAX {
                let _ = writeln!(text, "latlab_latency_seconds_bucket{{{labels},le=\"{}\"}} {sum}", seconds(to - 1));
            }
        }
        let total = thread.histogram.total();
        let _ = writeln!(text, "latlab_latency_seconds_bucket{{{labels},le=\"+Inf\"}} {total}");
        if let Some(mean) = result.threads.get(index).and_then(|row| row.figures.mean_ns) {
            #[expect(clippy::cast_precision_loss, reason = "a floating-point format")]
            let seconds = mean * total as f64 / 1e9;
            let _ = writeln!(text, "latlab_latency_seconds_sum{{{labels}}} {seconds}");
        }
        let _ = writeln!(text, "latlab_latency_seconds_count{{{labels}}} {total}");
    }
    let lost = "quantiles, findings, and whether a figure is exact or a bound: see `--as json`";
    Ok(Export { text, lost: vec![lost.to_owned()] })
}

fn gauge(text: &mut String, name: &str, help: &str, labels: &str, value: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge\n{name}{{{labels}}} {value}");
}

/// ns as seconds, exact.
fn seconds(ns: u64) -> String {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
