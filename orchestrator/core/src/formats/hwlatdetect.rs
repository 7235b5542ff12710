//! hwlatdetect's report: the gaps above a threshold that the hardware latency tracer saw.

use super::collect::{Context, Family};
use super::line::Line;
use super::measurement::{Kind, Measurement, Thread};
use super::number::{after, count, take_count, words};
use std::collections::BTreeMap;

/// Reads reports.
#[derive(Debug, Default)]
pub(super) struct Hwlatdetect {
    run: Option<Run>,
}

#[derive(Debug, Default)]
struct Run {
    line: u64,
    threshold_us: Option<u64>,
    /// Gaps by length in µs.
    gaps: BTreeMap<u64, u64>,
    samples: u64,
    max_us: Option<u64>,
    below_threshold: bool,
    recorded: Option<u64>,
    finished: bool,
    damaged: Option<(u64, u64)>,
}

impl Run {
    /// `ts: 1646837340.346151918, inner:5, outer:9`; older: `1408928107.0286324723   18      17`.
    fn gap(&mut self, line: Line<'_>, context: &mut Context) -> bool {
        let text = line.text;
        let field = |name: &[u8]| {
            let at = after(text, name)?;
            take_count(text[at..].trim_ascii_start()).map(|(value, _)| value)
        };
        let pair = if memchr::memmem::find(text, b"inner:").is_some() {
            (field(b"inner:"), field(b"outer:"))
        } else if text.first().is_some_and(u8::is_ascii_digit) {
            let mut words = words(text);
            let stamp = words.next().is_some_and(|stamp| stamp.len() > 11 && stamp.contains(&b'.'));
            let pair = (words.next().and_then(count), words.next().and_then(count));
            if !stamp || pair.0.is_none() || pair.1.is_none() || words.next().is_some() {
                return false;
            }
            pair
        } else {
            return false;
        };
        let (Some(inner), Some(outer)) = pair else {
            self.damaged.get_or_insert((0, line.number)).0 += 1;
            return true;
        };
        let gap = inner.max(outer);
        if self.gaps.contains_key(&gap) || context.room_for_bins(4) {
            *self.gaps.entry(gap).or_default() += 1;
            self.samples += 1;
        }
        true
    }

    fn measurement(self) -> Measurement {
        let mut measurement = Measurement::new("hwlatdetect", "hwlatdetect-text", Kind::Noise, self.line);
        let mut thread = Thread::new(0);
        let longest = self.gaps.last_key_value().map(|(gap, _)| *gap);
        let ns = |us: u64| us.checked_mul(1000).and_then(|ns| i64::try_from(ns).ok());
        thread.cycles = self.recorded.or((self.samples > 0).then_some(self.samples));
        thread.max_ns = self.max_us.or(longest).and_then(ns);
        thread.binned = self.samples;
        if self.samples > 0 {
            thread.bin_width_ns = Some(1000);
            thread.bins = self.gaps.iter().filter_map(|(gap, n)| Some((gap.checked_mul(1000)?, *n))).collect();
        }
        if let Some((lines, first)) = self.damaged {
            measurement.incomplete(format!("{lines} damaged lines are left out, the first at line {first}"));
        }
        if !self.finished {
            measurement.incomplete("the summary (Max Latency, Samples recorded) is missing");
        }
        if self.samples == 0 && self.recorded.is_some_and(|recorded| recorded > 0) {
            measurement.warn("the samples themselves are not in the file");
        }
        if let (Some(max), Some(longest)) = (self.max_us, longest)
            && max < longest
        {
            measurement.warn(format!("a sample of {longest} us lies above the stated maximum of {max} us"));
        }
        measurement.threads.push(thread);
        measurement
    }
}

impl Hwlatdetect {
    fn close(&mut self, context: &mut Context) {
        let Some(run) = self.run.take() else { return };
        if run.samples > 0 || run.max_us.is_some() {
            context.found(run.measurement());
        } else if run.below_threshold && run.recorded == Some(0) {
            // A whole test without a gap is a result, and the only one whose numbers are unknown.
            let threshold = run.threshold_us.map_or_else(|| "its threshold".to_owned(), |us| format!("{us} us"));
            let mut measurement = run.measurement();
            measurement.warn(format!("no gap above {threshold}: the largest one is unknown, but below it"));
            context.found_bound(measurement);
        } else {
            context.no_data(run.line, "hwlatdetect began, but reports no result");
        }
    }
}

impl Family for Hwlatdetect {
    fn line(&mut self, line: Line<'_>, context: &mut Context) -> bool {
        let text = line.text;
        if text.starts_with(b"hwlatdetect:") && memchr::memmem::find(text, b"test duration").is_some() {
            self.close(context);
            self.run = Some(Run { line: line.number, ..Run::default() });
            return true;
        }
        let Some(run) = &mut self.run else { return false };
        // Lines may be glued together: fields are looked for, not lines.
        let number = |name: &[u8]| {
            let at = after(text, name)?;
            take_count(text[at..].trim_ascii_start()).map(|(value, _)| value)
        };
        if let Some(threshold) = number(b"Latency threshold:") {
            run.threshold_us = Some(threshold);
        } else if text.starts_with(b"Max Latency:") {
            run.max_us = number(b"Max Latency:").filter(|_| line.ended || text.ends_with(b"us"));
            run.below_threshold = run.max_us.is_none();
            run.finished = true;
        } else if let Some(recorded) = number(b"Samples recorded:") {
            run.recorded = Some(recorded).filter(|_| line.ended);
        } else {
            let known = [
                &b"Samples exceeding"[..],
                b"detector:",
                b"parameters:",
                b"Sample w",
                b"Non-sampling",
                b"Output File:",
                b"test finished",
                b"SMIs during",
            ];
            return run.gap(line, context) || known.iter().any(|start| text.starts_with(start));
        }
        true
    }

    fn finish(&mut self, context: &mut Context) {
        self.close(context);
    }
}
