//! Histogram files for gnuplot: Xenomai `latency -g` (each count one too high) and EVL `latmus -g`.

use super::collect::{Context, Family};
use super::line::Line;
use super::measurement::{Kind, Measurement, Thread};
use super::number::{Decimal, Unit, after, count, take_count, words};

/// Reads plot files.
#[derive(Debug, Default)]
pub(super) struct Plot {
    run: Option<Run>,
    /// A first row without a header: taken back if the second is none of Xenomai's.
    candidate: Option<(u64, Decimal)>,
}

#[derive(Debug, Default)]
struct Run {
    line: u64,
    xenomai: bool,
    version: Option<String>,
    period_us: Option<u64>,
    priority: Option<u64>,
    cpu: Option<u64>,
    min: Option<Decimal>,
    avg: Option<Decimal>,
    max: Option<Decimal>,
    overruns: Option<u64>,
    headings: bool,
    /// There is a header: with it comes the line of minimum, mean and maximum.
    titled: bool,
    /// Value in ns, count, as printed.
    rows: Vec<(u64, u64)>,
    outliers: Option<u64>,
    damaged: Option<(u64, u64)>,
}

impl Run {
    fn new(line: u64, xenomai: bool) -> Self {
        Self { line, xenomai, titled: true, ..Self::default() }
    }

    fn header(&mut self, text: &[u8]) {
        let value = |name: &[u8]| text.strip_prefix(name).map(<[u8]>::trim_ascii);
        if let Some(version) = value(b"libevl version:") {
            self.version = words(version).next().map(|word| String::from_utf8_lossy(word).into_owned());
        } else if let Some(period) = value(b"sampling period:") {
            self.period_us = words(period).next().and_then(count);
        } else if let Some(priority) = value(b"thread priority:") {
            self.priority = count(priority);
        } else if let Some(cpu) = value(b"thread affinity: CPU") {
            self.cpu = take_count(cpu).map(|(cpu, _)| cpu);
        } else if let Some(min) = value(b"min latency:") {
            self.min = Decimal::parse(min);
        } else if let Some(avg) = value(b"avg latency:") {
            self.avg = Decimal::parse(avg);
        } else if let Some(max) = value(b"max latency:") {
            self.max = Decimal::parse(max);
        } else if memchr::memmem::find(text, b" us period, priority ").is_some() {
            let at = memchr::memmem::find(text, b" us period").unwrap_or(0);
            self.period_us = words(&text[..at]).last().and_then(count);
            self.priority = after(text, b"priority ").and_then(|at| take_count(&text[at..])).map(|(value, _)| value);
        } else if memchr::memmem::find(text, b"lat min|").is_some() {
            self.headings = true;
        } else if self.headings && memchr::memchr(b'|', text).is_some() {
            let mut cells = text.split(|byte| *byte == b'|').map(Decimal::parse);
            self.min = cells.next().flatten();
            self.avg = cells.next().flatten();
            self.max = cells.next().flatten();
            self.overruns = cells.next().flatten().and_then(Decimal::count);
            self.headings = false;
        }
    }

    fn row(&mut self, line: Line<'_>, context: &mut Context) {
        let mut words = words(line.text);
        let (Some(x), Some(n), None) = (words.next(), words.next(), words.next()) else {
            self.damaged.get_or_insert((0, line.number)).0 += 1;
            return;
        };
        // The code marks the outliers after the index, the documentation after the count.
        let outliers = x.ends_with(b"+") || n.ends_with(b"+");
        let plain = |word: &[u8]| Decimal::parse(word.strip_suffix(b"+").unwrap_or(word));
        let value = plain(x).and_then(|x| x.nanoseconds(Unit::Micro)).and_then(|x| u64::try_from(x).ok());
        match (value, plain(n).and_then(Decimal::count)) {
            (Some(_), Some(n)) if outliers && self.outliers.is_none() => self.outliers = Some(n),
            (Some(value), Some(n)) if self.rows.last().is_none_or(|(last, _)| *last < value) => {
                if context.room_for_bins(1) {
                    self.rows.push((value, n));
                }
            }
            _ => self.damaged.get_or_insert((0, line.number)).0 += 1,
        }
    }

    fn measurement(mut self) -> Measurement {
        let tool = if self.xenomai { "xenomai-latency" } else { "latmus" };
        let rule = if self.xenomai { "xenomai-plot" } else { "latmus-plot" };
        let mut measurement = Measurement::new(tool, rule, Kind::Latency, self.line);
        measurement.tool_version = self.version.take();
        measurement.interval_us = self.period_us;
        measurement.priority = self.priority;
        let mut thread = Thread::new(0);
        thread.cpu = self.cpu;
        thread.min_ns = self.min.and_then(|min| min.nanoseconds(Unit::Micro));
        thread.mean_ns = self.avg.and_then(|avg| avg.nanoseconds_f64(Unit::Micro));
        thread.max_ns = self.max.and_then(|max| max.nanoseconds(Unit::Micro));
        thread.overruns = self.overruns;
        if self.xenomai {
            self.xenomai_bins(&mut thread, &mut measurement);
        } else {
            thread.overflow = self.outliers;
            let bins = self.rows.iter().copied().filter(|(_, n)| *n > 0).collect();
            measurement.set_bins(&mut thread, Unit::Micro.nanoseconds(), bins);
        }
        if self.rows.is_empty() {
            measurement.incomplete("the rows are missing: the file is cut");
        }
        if self.titled && (thread.min_ns.is_none() || thread.mean_ns.is_none() || thread.max_ns.is_none()) {
            measurement.incomplete("the minimum, mean or maximum is missing in the header");
        }
        self.ends(&thread, &mut measurement);
        if let Some((lines, first)) = self.damaged {
            measurement.incomplete(format!("{lines} damaged rows are left out, the first at line {first}"));
        }
        measurement.threads.push(thread);
        measurement
    }

    /// The rows that count samples.
    fn inner(&self) -> &[(u64, u64)] {
        let inner =
            if self.xenomai { self.rows.get(1..self.rows.len().max(2) - 1) } else { Some(self.rows.as_slice()) };
        inner.unwrap_or_default()
    }

    /// All rows between the first and the last occupied one are printed, and minimum and maximum lie in these.
    fn ends(&self, thread: &Thread, measurement: &mut Measurement) {
        /// Places are printed with six digits.
        const EXACT_NS: u64 = 99_999_000;
        let inner = self.inner();
        let step = inner.windows(2).map(|pair| pair[1].0 - pair[0].0).min().unwrap_or(1000);
        let gap = inner.windows(2).find(|pair| pair[1].0 < EXACT_NS && pair[1].0 - pair[0].0 != step);
        if let Some([_, (place, _)]) = gap {
            measurement.incomplete(format!("a row before that of {place} ns is missing"));
        }
        let (Some((first, _)), Some((last, _))) = (inner.first(), inner.last()) else { return };
        let from = if self.xenomai { first.saturating_sub(step / 2) } else { *first };
        let to = if self.xenomai { last.saturating_add(step / 2) } else { last.saturating_add(step) };
        let closed = |outer: Option<&(u64, u64)>, edge: u64| outer.is_none_or(|(place, _)| *place == edge);
        if self.xenomai && to < EXACT_NS && !(closed(self.rows.first(), from) && closed(self.rows.last(), to)) {
            measurement.incomplete("a row at an end of the curve is missing");
        }
        let ns = |value: Option<i64>| value.and_then(|ns| u64::try_from(ns).ok());
        if ns(thread.min_ns).is_some_and(|min| min < from || min >= to) {
            measurement.warn("the minimum lies in none of the rows");
        }
        if self.outliers.is_none() && ns(thread.max_ns).is_some_and(|max| max >= to) {
            measurement
                .warn("the maximum lies beyond the rows: the last one also counts larger values, or rows are missing");
        }
    }

    /// Rows stand for the middle of a bucket, with one added to each count; the first and the last row, of count 1,
    /// only close the curve.
    fn xenomai_bins(&mut self, thread: &mut Thread, measurement: &mut Measurement) {
        let width = self.inner().windows(2).map(|pair| pair[1].0 - pair[0].0).min().unwrap_or(1000);
        let (Some(first), Some(last)) = (self.rows.first(), self.rows.last()) else { return };
        if self.rows.len() < 3 || first.1 != 1 || last.1 != 1 {
            measurement.incomplete("the rows that close the curve are missing: the file is cut");
        }
        let inner = self.rows.len().saturating_sub(1);
        let rows = self.rows.get(1..inner.max(1)).unwrap_or_default();
        let bins = rows
            .iter()
            .map(|(middle, n)| (middle.saturating_sub(width / 2), n.saturating_sub(1)))
            .filter(|(_, n)| *n > 0)
            .collect();
        measurement.set_bins(thread, width, bins);
    }
}

impl Plot {
    fn close(&mut self, context: &mut Context) {
        self.candidate = None;
        if let Some(run) = self.run.take()
            && (!run.rows.is_empty() || run.min.is_some())
        {
            context.found(run.measurement());
        }
    }

    fn comment(&mut self, text: &[u8], line: u64, context: &mut Context) -> bool {
        let evl =
            [&b"libevl version:"[..], b"sampling period:", b"min latency:", b"clock gravity:", b"test started on:"]
                .iter()
                .any(|start| text.starts_with(start));
        let xenomai = memchr::memmem::find(text, b" us period, priority ").is_some();
        if !evl && !xenomai && self.run.is_none() {
            return false;
        }
        if self.run.as_ref().is_some_and(|run| !run.rows.is_empty()) {
            self.close(context);
            if !evl && !xenomai {
                return false;
            }
        }
        self.run.get_or_insert_with(|| Run::new(line, xenomai)).header(text);
        true
    }

    /// Older versions write no header: `<x> 1`, then `<x + half a bucket> <n>`.
    fn headless(&mut self, line: Line<'_>, context: &mut Context) -> bool {
        let mut words = words(line.text);
        let (Some(x), Some(n), None) = (words.next().and_then(Decimal::parse), words.next(), words.next()) else {
            self.candidate = None;
            return false;
        };
        let nanoseconds = |x: Decimal| x.nanoseconds(Unit::Micro);
        if let Some((number, first)) = self.candidate.take()
            && number + 1 == line.number
            && nanoseconds(first).zip(nanoseconds(x)).is_some_and(|(first, x)| x - 500 == first && first % 1000 == 0)
        {
            let mut run = Run { titled: false, ..Run::new(number, true) };
            let opening = u64::try_from(nanoseconds(first).unwrap_or(0)).unwrap_or(0);
            run.rows.push((opening, 1));
            run.row(line, context);
            self.run = Some(run);
            return true;
        }
        if n == b"1" && !x.is_negative() {
            self.candidate = Some((line.number, x));
        }
        false
    }
}

impl Family for Plot {
    fn line(&mut self, line: Line<'_>, context: &mut Context) -> bool {
        match line.text.first() {
            // Without its end a value may be cut.
            Some(b'#') if line.ended => self.comment(line.text[1..].trim_ascii(), line.number, context),
            Some(b'0'..=b'9') => match &mut self.run {
                Some(run) => {
                    run.row(line, context);
                    true
                }
                None => self.headless(line, context),
            },
            _ => false,
        }
    }

    fn finish(&mut self, context: &mut Context) {
        self.close(context);
    }
}
