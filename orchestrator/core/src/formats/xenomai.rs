//! The `RTT | RTH | RTD | RTS` family: Xenomai `latency` and `klatency` 2.x and 3.x, EVL `latmus`, RTAI `latency`.
//!
//! Columns are read by their heading: 2.4 has six, later ones seven, RTAI other ones and nanoseconds.

use super::collect::{Context, Family};
use super::line::Line;
use super::measurement::{Kind, Measurement, Thread};
use super::number::{Decimal, Unit, after, count, take_count, words};

/// Headings when the head of the file is cut off, by the number of columns.
const SIX: [&str; 6] = ["lat min", "lat avg", "lat max", "overrun", "lat best", "lat worst"];
const SEVEN: [&str; 7] = ["lat min", "lat avg", "lat max", "overrun", "msw", "lat best", "lat worst"];
/// More cells than any line of the family has.
const MAX_CELLS: usize = 16;

/// Reads the family's text.
#[derive(Debug, Default)]
pub(super) struct Xenomai {
    run: Option<Run>,
}

#[derive(Debug, Default)]
struct Run {
    line: u64,
    origin: Origin,
    unit: Option<Unit>,
    period_us: Option<u64>,
    priority: Option<u64>,
    cpu: Option<u64>,
    headings: Vec<String>,
    places: Places,
    rows: u64,
    row_min: Option<Decimal>,
    row_max: Option<Decimal>,
    mean_sum_ns: f64,
    overruns: Option<u64>,
    summary: Option<[Option<Decimal>; 3]>,
    summary_line: bool,
    damaged: Option<(u64, u64)>,
    /// Buckets of the histogram over all samples (`-h`): index, samples.
    buckets: Vec<(u64, u64)>,
    bucket_sum: u64,
    histogram_samples: Option<u64>,
    histogram_line: Option<u64>,
    /// Width of a bucket by the command line.
    bucket_ns: Option<u64>,
}

/// Which column holds what.
#[derive(Debug, Clone, Copy, Default)]
struct Places {
    min: Option<usize>,
    best: Option<usize>,
    avg: Option<usize>,
    max: Option<usize>,
    worst: Option<usize>,
    overruns: Option<usize>,
}

impl Places {
    fn of(headings: &[String]) -> Self {
        let place = |names: &[&str]| headings.iter().position(|heading| names.contains(&heading.as_str()));
        Self {
            min: place(&["lat min"]),
            best: place(&["lat best", "ovl min"]),
            avg: place(&["lat avg"]),
            max: place(&["lat max"]),
            worst: place(&["lat worst", "ovl max"]),
            overruns: place(&["overrun", "overruns"]),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Origin {
    #[default]
    Xenomai,
    Latmus,
    Rtai,
}

impl Origin {
    fn tool(self) -> &'static str {
        match self {
            Self::Xenomai => "xenomai-latency",
            Self::Latmus => "latmus",
            Self::Rtai => "rtai-latency",
        }
    }
}

impl Run {
    fn new(line: u64, context: &Context) -> Self {
        let command = context.command(&["latency", "klatency", "latmus"]);
        let bucket_ns = command.and_then(|command| command.number('B', "bucketsize"));
        Self { line, bucket_ns, ..Self::default() }
    }

    fn unit(&self) -> Unit {
        self.unit.unwrap_or(if self.origin == Origin::Rtai { Unit::Nano } else { Unit::Micro })
    }

    /// `RTT|  00:00:01  (periodic user-mode task, 1000 us period, priority 99, CPU1)`
    fn title(&mut self, text: &[u8]) {
        if let Some(at) = memchr::memmem::find(text, b" us period") {
            self.period_us = words(&text[..at]).last().and_then(count).or(self.period_us);
        }
        if let Some(at) = after(text, b"priority ") {
            self.priority = take_count(&text[at..]).map(|(value, _)| value).or(self.priority);
        }
        if let Some(at) = after(text, b", CPU") {
            self.cpu = take_count(&text[at..]).map(|(value, _)| value);
            self.origin = Origin::Latmus;
        }
    }

    fn headings(&mut self, text: &[u8]) {
        self.headings = cells(text)
            .map(|cell| String::from_utf8_lossy(cell).trim_matches(['-', ' ']).to_ascii_lowercase())
            .collect();
        self.places = Places::of(&self.headings);
        if self.headings.iter().any(|heading| heading.starts_with("ovl")) {
            self.origin = Origin::Rtai;
        }
    }

    fn row(&mut self, text: &[u8], line: Line<'_>) {
        let (mut values, mut columns, mut width) = ([None; MAX_CELLS], 0, 0);
        for (cell, value) in cells(text).zip(&mut values) {
            (*value, width) = (cell_value(cell), cell.len());
            columns += 1;
        }
        if self.headings.is_empty() {
            let known: &[&str] = if columns == SIX.len() { &SIX } else { &SEVEN };
            self.headings = known.iter().map(|&heading| heading.to_owned()).collect();
            self.places = Places::of(&self.headings);
        }
        let values = &values[..columns];
        let whole = line.ended || width >= 8;
        if columns != self.headings.len() || values.contains(&None) || !whole {
            self.damaged.get_or_insert((0, line.number)).0 += 1;
            return;
        }
        let value = |place: Option<usize>| values.get(place?).copied().flatten();
        let unit = self.unit();
        let lesser = |a: Decimal, b: Decimal| if a.nanoseconds(unit) <= b.nanoseconds(unit) { a } else { b };
        let greater = |a: Decimal, b: Decimal| if a.nanoseconds(unit) >= b.nanoseconds(unit) { a } else { b };
        let places = self.places;
        let minima = [self.row_min, value(places.min), value(places.best)];
        let maxima = [self.row_max, value(places.max), value(places.worst)];
        let mean = value(places.avg).and_then(|avg| avg.nanoseconds_f64(unit));
        let overruns = value(places.overruns).and_then(Decimal::count);
        self.row_min = minima.into_iter().flatten().reduce(lesser);
        self.row_max = maxima.into_iter().flatten().reduce(greater);
        self.mean_sum_ns += mean.unwrap_or(0.0);
        self.overruns = overruns.or(self.overruns);
        self.rows += 1;
    }

    /// `RTS|     -1.204|     -0.316|      3.114|       0|     0|    00:00:02/00:00:02`
    fn summary(&mut self, text: &[u8]) {
        self.summary_line = true;
        let values: Vec<Option<Decimal>> = cells(text).map(cell_value).collect();
        if let [min @ Some(_), avg @ Some(_), max @ Some(_), overruns, ..] = values.as_slice() {
            self.summary = Some([*min, *avg, *max]);
            self.overruns = overruns.and_then(Decimal::count).or(self.overruns);
        }
    }

    /// `HSD|    avg|   0 -  1 |    19870`: of the histograms of minima, of all samples and of maxima, the second.
    fn bucket(&mut self, text: &[u8], line: u64, context: &mut Context) {
        let mut cells = cells(text);
        let (Some(parameter), Some(range), Some(samples)) = (cells.next(), cells.next(), cells.next()) else { return };
        self.histogram_line.get_or_insert(line);
        if parameter.trim_ascii() != b"avg" {
            return;
        }
        let lower = take_count(range.trim_ascii()).map(|(value, _)| value);
        match (lower, count(samples)) {
            (Some(lower), Some(samples)) if self.buckets.last().is_none_or(|(last, _)| *last < lower) => {
                let Some(sum) = self.bucket_sum.checked_add(samples) else { return };
                if samples > 0 && context.room_for_bins(1) {
                    self.bucket_sum = sum;
                    self.buckets.push((lower, samples));
                }
            }
            _ => self.damaged.get_or_insert((0, line)).0 += 1,
        }
    }

    fn histogram_summary(&mut self, text: &[u8], line: u64) {
        let mut cells = cells(text);
        self.histogram_line.get_or_insert(line);
        if cells.next().is_some_and(|parameter| parameter.trim_ascii() == b"avg") {
            self.histogram_samples = cells.next().and_then(count);
        }
    }

    fn measurement(self) -> Measurement {
        let mut measurement = Measurement::new(self.origin.tool(), "xenomai-family", Kind::Latency, self.line);
        measurement.interval_us = self.period_us;
        measurement.priority = self.priority;
        let unit = self.unit();
        let [min, avg, max] = self.summary.unwrap_or([self.row_min, None, self.row_max]);
        let mut thread = Thread::new(0);
        thread.cpu = self.cpu;
        thread.min_ns = min.and_then(|min| min.nanoseconds(unit));
        thread.max_ns = max.and_then(|max| max.nanoseconds(unit));
        #[expect(clippy::cast_precision_loss, reason = "a number of seconds")]
        let rows_mean = (self.rows > 0).then(|| self.mean_sum_ns / self.rows as f64);
        thread.mean_ns = if self.summary.is_some() { avg.and_then(|avg| avg.nanoseconds_f64(unit)) } else { rows_mean };
        thread.overruns = self.overruns;
        self.histogram(&mut thread, &mut measurement);
        self.warnings(&mut measurement);
        measurement.threads.push(thread);
        measurement
    }

    /// The `-h` histogram counts absolute values in buckets of `-B` ns; only their index is printed.
    fn histogram(&self, thread: &mut Thread, measurement: &mut Measurement) {
        let Some(&(top, _)) = self.buckets.last() else { return };
        let width = self.bucket_ns.filter(|width| *width > 0).unwrap_or(1000);
        thread.cycles = self.histogram_samples;
        thread.binned = self.bucket_sum;
        let largest = [thread.min_ns, thread.max_ns].into_iter().flatten().map(i64::unsigned_abs).max();
        let Some(top_ns) = top.checked_mul(width) else {
            measurement
                .warn(format!("buckets of {width} ns (latency -B) would reach beyond any clock; bins are left out"));
            return;
        };
        if largest.is_some_and(|largest| top_ns > largest.saturating_add(width)) {
            measurement.warn(format!(
                "the histogram reaches beyond the maximum: its buckets are not {width} ns wide (latency -B); bins are left out"
            ));
            return;
        }
        if largest.is_some_and(|largest| largest >= top_ns.saturating_add(width)) {
            measurement.warn("the last bucket also counts larger values, which the tool does not mark");
        }
        if thread.min_ns.is_some_and(|min| min < 0) {
            measurement.warn("the histogram counts negative latencies by their absolute value");
        }
        thread.bin_width_ns = Some(width);
        thread.bins = self.buckets.iter().filter_map(|(bin, n)| Some((bin.checked_mul(width)?, *n))).collect();
    }

    fn warnings(&self, measurement: &mut Measurement) {
        if let Some((lines, first)) = self.damaged {
            measurement.incomplete(format!("{lines} damaged lines are left out, the first at line {first}"));
        }
        // RTAI's test runs until it is interrupted and prints no summary.
        if self.summary.is_none() && self.origin != Origin::Rtai {
            measurement.incomplete("no summary (RTS): the run was interrupted or the end is cut off");
        }
    }
}

/// The cells between bars, after the tag.
fn cells(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'|').take(MAX_CELLS)
}

/// A cell's number; an interrupt key echoed into it (`^C`) is no part of it.
fn cell_value(cell: &[u8]) -> Option<Decimal> {
    let trimmed = cell.trim_ascii();
    if let Some((value, taken)) = Decimal::take(trimmed)
        && taken == trimmed.len()
    {
        return Some(value);
    }
    words(cell)
        .filter_map(|word| {
            let word = word.strip_prefix(b"^C").unwrap_or(word);
            (!word.is_empty()).then(|| Decimal::parse(word))
        })
        .last()
        .flatten()
}

/// The line's tag and what follows it; anything may stand before (`^C`, a prompt, blanks).
fn tagged(text: &[u8]) -> Option<(&[u8], &[u8])> {
    const TAGS: [&[u8]; 7] = [b"RTT|", b"RTH|", b"RTD|", b"RTS|", b"HSD|", b"HSH|", b"HSS|"];
    let bar = memchr::memchr(b'|', text)?;
    let start = bar.checked_sub(3)?;
    let tag = text.get(start..=bar)?;
    TAGS.contains(&tag).then(|| (&tag[..3], &text[bar + 1..]))
}

impl Xenomai {
    fn close(&mut self, context: &mut Context) {
        let Some(run) = self.run.take() else { return };
        if run.rows > 0 || run.summary.is_some() || run.bucket_sum > 0 {
            let measurement = run.measurement();
            context.found(measurement);
        } else if run.histogram_samples == Some(0) {
            let line = run.histogram_line.unwrap_or(run.line);
            context.no_data(line, "the test took no sample (0 samples in the histogram summary)");
        } else {
            context.no_data(run.line, format!("{} began, but printed no result line", run.origin.tool()));
        }
    }

    /// The head of another run.
    fn open(&mut self, line: u64, context: &mut Context) -> &mut Run {
        if self.run.as_ref().is_some_and(|run| run.rows > 0 || run.summary_line || run.histogram_line.is_some()) {
            self.close(context);
        }
        self.run.get_or_insert_with(|| Run::new(line, context))
    }

    fn head(&mut self, line: Line<'_>, context: &mut Context) -> bool {
        let text = line.text;
        if let Some(rest) = text.strip_prefix(b"== Sampling period:") {
            let mut words = words(rest);
            self.open(line.number, context).period_us = words.next().and_then(count);
        } else if let Some(rest) = text.strip_prefix(b"== All results in ") {
            self.open(line.number, context).unit = Unit::named(rest);
        } else if text.starts_with(b"warming up on CPU") {
            self.open(line.number, context).origin = Origin::Latmus;
        } else if text.starts_with(b"== Test mode:") || text.starts_with(b"warming up") {
            self.open(line.number, context);
        } else if text.starts_with(b"RTAI Testsuite") {
            let run = self.open(line.number, context);
            run.origin = Origin::Rtai;
            run.unit =
                after(text, b"all data in ").and_then(|at| Unit::named(text[at..].split(|b| *b == b')').next()?));
        } else {
            return false;
        }
        true
    }
}

impl Family for Xenomai {
    fn line(&mut self, line: Line<'_>, context: &mut Context) -> bool {
        if line.text.starts_with(b"---|") && self.run.is_some() {
            return true;
        }
        let Some((tag, rest)) = tagged(line.text) else { return self.head(line, context) };
        if self.run.as_ref().is_some_and(|run| run.summary_line) {
            self.close(context);
        }
        let run = self.run.get_or_insert_with(|| Run::new(line.number, context));
        match tag {
            b"RTT" => run.title(rest),
            b"RTH" => run.headings(rest),
            b"RTD" => run.row(rest, line),
            b"RTS" => run.summary(rest),
            b"HSD" => run.bucket(rest, line.number, context),
            b"HSS" => run.histogram_summary(rest, line.number),
            _ => {}
        }
        true
    }

    fn finish(&mut self, context: &mut Context) {
        self.close(context);
    }
}
