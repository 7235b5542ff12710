//! The text of `cyclictest -h N -q` up to rt-tests 2.6: dense rows of 1 us and the `# Total:` line, which most scripts expect
//! (from 2.7 on empty rows are left out, and readers of dense arrays go wrong).

use super::{Export, Source};
use crate::latency::{Summary, summarise};
use crate::quantity::{count, total};
use latprobe::histogram::{DifferentBins, Histogram};
use latprobe::stream::{Folded, ThreadResult};
use std::fmt::Write as _;

const ROW_NS: u64 = 1000;

/// One thread as cyclictest would have counted it.
struct Column {
    rows: Vec<u64>,
    overflow: u64,
    /// Numbers of the cycles in overflow that are known, ascending.
    overflow_cycles: Vec<u64>,
    summary: Summary,
}

/// The histogram block as rt-tests up to 2.6 print it.
pub fn cyclictest(source: &Source) -> Result<Export, DifferentBins> {
    block(source, false)
}

/// The histogram block as rt-tests from 2.7 on print it: without empty rows and without the total.
pub fn cyclictest_sparse(source: &Source) -> Result<Export, DifferentBins> {
    block(source, true)
}

fn block(source: &Source, sparse: bool) -> Result<Export, DifferentBins> {
    let threads = source.threads()?;
    let column = |(index, thread): (usize, &ThreadResult)| column(thread, overflow_cycles(source.segments, index));
    let columns: Vec<Column> = threads.iter().enumerate().map(column).collect();
    let mut text = String::new();
    let instrument = source.segments.iter().find_map(|s| s.instrument.as_ref());
    if instrument.is_some_and(|i| i.cpu_dma_latency == "held 0 us") {
        text.push_str("# /dev/cpu_dma_latency set to 0us\n");
    }
    text.push_str("# Histogram\n");
    for row in 0..columns.iter().map(|c| c.rows.len()).max().unwrap_or(0) {
        let counts: Vec<u64> = columns.iter().map(|c| c.rows.get(row).copied().unwrap_or(0)).collect();
        if sparse && counts.iter().all(|count| *count == 0) {
            continue;
        }
        let counts: Vec<String> = counts.iter().map(|count| format!("{count:06}")).collect();
        let _ = writeln!(text, "{row:06} {}", counts.join("\t"));
    }
    let us = |ns: Option<u64>| ns.unwrap_or(0) / ROW_NS;
    if !sparse {
        footer(&mut text, "# Total:", &columns, 9, |c| total(c.rows.iter().copied()));
    }
    footer(&mut text, "# Min Latencies:", &columns, 5, |c| us(c.summary.min.map(|min| min.at_least_ns)));
    footer(&mut text, "# Avg Latencies:", &columns, 5, |c| us(c.summary.mean_ns.map(whole_ns)));
    footer(&mut text, "# Max Latencies:", &columns, 5, |c| us(c.summary.max.and_then(|max| max.at_most_ns)));
    footer(&mut text, "# Histogram Overflows:", &columns, 5, |c| c.overflow);
    text.push_str("# Histogram Overflow at cycle number:\n");
    for (index, column) in columns.iter().enumerate() {
        let _ = write!(text, "# Thread {index}:");
        for cycle in &column.overflow_cycles {
            let _ = write!(text, " {cycle:05}");
        }
        let others = column.overflow.saturating_sub(column.overflow_cycles.len() as u64);
        if others > 0 {
            let _ = write!(text, " # {others:05} others");
        } else if sparse && column.overflow_cycles.is_empty() {
            text.push(' ');
        }
        text.push('\n');
    }
    text.push('\n');
    Ok(Export { text, lost: lost(source, &columns, &threads) })
}

fn footer(text: &mut String, label: &str, columns: &[Column], digits: usize, value: impl Fn(&Column) -> u64) {
    text.push_str(label);
    for column in columns {
        let _ = write!(text, " {:0digits$}", value(column));
    }
    text.push('\n');
}

/// cyclictest cuts off; a mean of a histogram is below 2^53 ns.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a mean of unsigned values below 2^48")]
fn whole_ns(mean_ns: f64) -> u64 {
    mean_ns as u64
}

fn column(thread: &ThreadResult, overflow_cycles: Vec<u64>) -> Column {
    Column {
        rows: rows(&thread.histogram),
        overflow: thread.histogram.overflow(),
        overflow_cycles,
        summary: summarise(thread),
    }
}

/// Rows of 1 us. A bin that is finer goes into its row; one that lies across rows goes into the last of them.
pub(super) fn rows(histogram: &Histogram) -> Vec<u64> {
    let length = usize::try_from(histogram.range_ns().div_ceil(ROW_NS)).unwrap_or(usize::MAX);
    let mut rows = vec![0; length.min(1_000_000)];
    for (bin, n) in (1u64..).zip(&histogram.bins).filter(|(_, n)| **n > 0) {
        let row = usize::try_from((bin * histogram.bin_width_ns - 1) / ROW_NS).unwrap_or(usize::MAX);
        if let Some(sum) = rows.get_mut(row) {
            *sum = total([*sum, *n]);
        }
    }
    rows
}

/// Of the worst samples those beyond the bins, numbered through all segments.
fn overflow_cycles(segments: &[Folded], index: usize) -> Vec<u64> {
    let mut cycles = Vec::new();
    let mut before = 0;
    for thread in segments.iter().filter_map(|s| s.threads.get(index)) {
        let range_ns = thread.histogram.range_ns();
        cycles.extend(thread.worst.iter().filter(|s| s.latency_ns >= range_ns).map(|s| total([before, s.cycle])));
        before = total([before, thread.histogram.total()]);
    }
    cycles.sort_unstable();
    cycles
}

fn lost(source: &Source, columns: &[Column], threads: &[ThreadResult]) -> Vec<String> {
    let mut lost = Vec::new();
    let mut say = |text: String| lost.push(text);
    let missed = total(threads.iter().map(|t| t.missed));
    if missed > 0 {
        say(format!("{} missed periods: cyclictest does not count them", count(missed)));
    }
    let overflow = total(columns.iter().map(|c| c.overflow));
    if overflow > 0 {
        say(format!("the magnitude of {} overflows: only their number and the maximum are kept", count(overflow)));
    }
    let negative = total(threads.iter().map(|t| t.histogram.negative));
    if negative > 0 {
        say(format!("{} wake-ups before their time", count(negative)));
    }
    match source.result.setup.bin_width_ns {
        ROW_NS => {}
        width if ROW_NS.is_multiple_of(width) => say(format!("the resolution: bins of {width} ns become rows of 1 us")),
        width => {
            say(format!("the bins: those of {width} ns do not fit rows of 1 us and are counted at their upper end"))
        }
    }
    if columns.iter().any(|c| c.summary.max.is_some_and(|max| !max.is_exact())) {
        say("that the maximum is known only by its bin".to_owned());
    }
    say("validity, verdict, loads, kernel and times: see `--as json`".to_owned());
    lost
}
