//! A small histogram in text: rows of growing width, bars by the logarithm of the count,
//! so that one cycle in a hundred million still has a bar.

use latlab_core::quantity::{count, micros};
use latlab_core::result::{Bound, RunResult};
use std::fmt::Write as _;

/// Most rows.
const ROWS: usize = 16;
/// Columns kept for the names of quantiles.
const MARKS: usize = 18;
/// Steps within a decade, finest first (rounded preferred numbers).
const SERIES: &[&[u64]] = &[
    &[10, 11, 12, 13, 15, 16, 18, 20, 22, 24, 27, 30, 33, 36, 39, 43, 47, 51, 56, 62, 68, 75, 82, 91],
    &[10, 12, 15, 18, 22, 27, 33, 39, 47, 56, 68, 82],
    &[10, 15, 20, 30, 50, 70],
    &[10, 20, 50],
    &[10],
];

pub(super) fn render(result: &RunResult, width: usize) -> String {
    let (Some(first), Some(last)) = (result.histogram.first(), result.histogram.last()) else {
        return String::new();
    };
    let edges = SERIES
        .iter()
        .map(|series| edges(series, first.from_ns, last.from_ns))
        .find(|edges| edges.len() <= ROWS)
        .unwrap_or_default();
    let mut counts = vec![0u64; edges.len()];
    for bin in &result.histogram {
        let row = edges.partition_point(|edge| *edge <= bin.from_ns).saturating_sub(1);
        if let Some(sum) = counts.get_mut(row) {
            *sum += bin.count;
        }
    }
    let mut out = "\nhistogram, from [us] (bar: logarithm of the cycles)\n".to_owned();
    let widest = width.saturating_sub(32 + MARKS).max(8);
    let most = counts.iter().copied().max().unwrap_or(1);
    let marks = marks(result, &edges);
    for ((edge, n), marks) in edges.iter().zip(&counts).zip(marks) {
        let bar = "#".repeat(bar_length(*n, most, widest));
        let line = format!("  {:>10}  {:>13}  {bar} {marks}", micros(*edge), count(*n));
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

/// By row: the quantiles that it holds, and the maximum.
fn marks(result: &RunResult, edges: &[u64]) -> Vec<String> {
    let mut rows: Vec<Vec<&str>> = vec![Vec::new(); edges.len()];
    let named = [("0.5", "p50"), ("0.99", "p99"), ("0.999", "p99.9"), ("0.9999", "p99.99")];
    let quantiles = named.into_iter().map(|(q, name)| (result.quantile(q), name));
    for (figure, name) in quantiles.chain([(result.total.max, "max")]) {
        let Some(figure) = figure.filter(|figure| figure.bound != Bound::Above) else { continue };
        let row = edges.partition_point(|edge| *edge <= figure.ns).saturating_sub(1);
        if let Some(row) = rows.get_mut(row) {
            row.push(name);
        }
    }
    rows.into_iter().map(|row| row.join(" ")).collect()
}

/// Lower edges of rows, in ns: from the last one at or below `from_ns` to the last one at or below `to_ns`.
fn edges(series: &[u64], from_ns: u64, to_ns: u64) -> Vec<u64> {
    let decades = (0..17).map(|power| 10u64.pow(power) * 10);
    let mut all: Vec<u64> = std::iter::once(0).chain(decades.flat_map(|d| series.iter().map(move |s| d * s))).collect();
    all.dedup();
    let start = all.partition_point(|edge| *edge <= from_ns).saturating_sub(1);
    let end = all.partition_point(|edge| *edge <= to_ns);
    all.get(start..end).map(<[u64]>::to_vec).unwrap_or_default()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and the width of a terminal")]
fn bar_length(n: u64, most: u64, widest: usize) -> usize {
    if n == 0 {
        return 0;
    }
    let share = ((n + 1) as f64).ln() / ((most + 1) as f64).ln();
    ((share * widest as f64).round() as usize).clamp(1, widest)
}
