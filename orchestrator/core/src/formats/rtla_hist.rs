//! `rtla timerlat hist` and `rtla osnoise hist`. Which columns there are stands in the heading: CPUs without samples
//! have none, and a CPU has one to three.

use super::collect::{Context, Family};
use super::command::Command;
use super::line::Line;
use super::measurement::{Kind, Layer, Measurement, Thread};
use super::number::{Decimal, Unit, count, take_count, words};

/// More columns than three for each CPU of any machine.
const MAX_COLUMNS: usize = 3 * 8192;

/// Reads histogram tables.
#[derive(Debug, Default)]
pub(super) struct RtlaHist {
    run: Option<Run>,
    /// `# Time unit is …`, which stands before the table.
    unit: Option<Unit>,
    /// First line of the head.
    head: Option<u64>,
}

#[derive(Debug)]
struct Run {
    line: u64,
    unit: Unit,
    columns: Vec<Column>,
    rows: u64,
    all: Option<Vec<Option<Decimal>>>,
    in_all: bool,
    has_count: bool,
    /// A threshold (`-T`, `-i`, `-a`) ended the run.
    stopped: bool,
    /// Whole lines of the summary; there are five.
    summary_lines: u8,
    damaged: Option<(u64, u64)>,
    last_index: Option<u64>,
    command: Option<Command>,
    /// All row indices are multiples of it.
    common_step: u64,
    /// Rows without an index (`--no-index`), those of the summary among them.
    bare: Option<Vec<Vec<Option<u64>>>>,
}

#[derive(Debug, Default)]
struct Column {
    cpu: u64,
    layer: Option<Layer>,
    bins: Vec<(u64, u64)>,
    over: Option<u64>,
    count: Option<u64>,
    min: Option<Decimal>,
    avg: Option<Decimal>,
    max: Option<Decimal>,
}

impl Column {
    /// `IRQ-000`, `Thr-000`, `Usr-000`, or osnoise's `CPU-000`.
    fn named(name: &[u8]) -> Option<Self> {
        let (kind, cpu) = name.split_at_checked(4)?;
        let layer = match kind {
            b"IRQ-" => Some(Layer::Irq),
            b"Thr-" => Some(Layer::Kernel),
            b"Usr-" => Some(Layer::User),
            b"CPU-" => None,
            _ => return None,
        };
        Some(Self { cpu: count(cpu)?, layer, ..Self::default() })
    }

    /// Does a line begin with a column's name?
    fn begins(text: &[u8]) -> bool {
        words(text).next().is_some_and(|word| Self::named(word).is_some())
    }
}

impl Run {
    fn row(&mut self, line: Line<'_>, context: &mut Context) -> bool {
        let mut words = words(line.text);
        let Some(index) = words.next().and_then(count) else { return false };
        let counts: Option<Vec<u64>> = words.take(MAX_COLUMNS + 1).map(count).collect();
        let Some(counts) = counts.filter(|counts| {
            counts.len() == self.columns.len() && self.last_index.is_none_or(|last| index > last) && line.ended
        }) else {
            self.damaged.get_or_insert((0, line.number)).0 += 1;
            return true;
        };
        self.last_index = Some(index);
        self.rows += 1;
        self.common_step = gcd(self.common_step, index);
        if context.room_for_bins(counts.iter().filter(|n| **n > 0).count()) {
            for (column, n) in self.columns.iter_mut().zip(counts).filter(|(_, n)| *n > 0) {
                column.bins.push((index, n));
            }
        }
        true
    }

    /// `over:`, `count:`, `min:`, `avg:`, `max:`; after `ALL:` over all CPUs.
    fn footer(&mut self, name: &[u8], values: &[u8], ended: bool) {
        /// Columns are at least this wide; a shorter last one at the end of a file may be cut.
        const WIDTH: usize = 9;
        let digits = values.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let blanks = values[..values.len() - digits].iter().rev().take_while(|byte| **byte == b' ').count();
        let is_whole = digits > 0 && digits + blanks > WIDTH;
        // An empty column has no minimum: older versions print the largest 64-bit number, newer ones a dash.
        let values: Vec<Option<Decimal>> = words(values)
            .take(MAX_COLUMNS)
            .map(|word| Decimal::parse(word).filter(|value| value.nanoseconds(Unit::Nano).is_some()))
            .collect();
        if self.in_all {
            if name == b"count" {
                self.all = Some(values);
            }
            return;
        }
        self.has_count |= name == b"count";
        if !(ended || is_whole) || values.len() != self.columns.len() {
            return;
        }
        self.summary_lines = self.summary_lines.saturating_add(1);
        for (column, value) in self.columns.iter_mut().zip(values) {
            match name {
                b"over" => column.over = value.and_then(Decimal::count),
                b"count" => column.count = value.and_then(Decimal::count),
                b"min" => column.min = value,
                b"avg" => column.avg = value,
                _ => column.max = value,
            }
        }
    }

    /// A row without an index: its place is not known, and whether it is one of the summary only at the end.
    fn bare_row(&mut self, line: Line<'_>, context: &mut Context) -> bool {
        let Some(rows) = self.bare.as_mut().filter(|_| !self.in_all) else { return true };
        let row: Vec<Option<u64>> = words(line.text).take(MAX_COLUMNS + 1).map(count).collect();
        if row.len() != self.columns.len() || !line.ended {
            self.damaged.get_or_insert((0, line.number)).0 += 1;
        } else if context.room_for_bins(row.len()) {
            rows.push(row);
        }
        true
    }

    /// The last five rows without an index are the summary, if the sums over those before agree in every column.
    fn take_bare(&mut self) -> Option<Vec<u64>> {
        let rows = self.bare.take()?;
        let (rows, summary) = rows.split_last_chunk::<5>()?;
        let [over, count, min, avg, max] = summary;
        let mut sums = Vec::new();
        for (place, column) in self.columns.iter_mut().enumerate() {
            let sum = rows.iter().try_fold(0u64, |sum, row| sum.checked_add((*row.get(place)?)?))?;
            (column.over, column.count) = (over[place], count[place]);
            if sum.checked_add(column.over?)? != column.count? {
                return None;
            }
            if column.count != Some(0) {
                let value = |row: &[Option<u64>]| row[place].map(Decimal::whole);
                (column.min, column.avg, column.max) = (value(min), value(avg), value(max));
            }
            sums.push(sum);
        }
        (self.has_count, self.summary_lines) = (true, 5);
        Some(sums)
    }

    /// Bucket width in printed units: `-b`, else what rows, minima and maxima allow.
    fn step(&self) -> Option<u64> {
        if let Some(step) = self.command.as_ref().and_then(|c| c.number('b', "bucket-size")) {
            return Some(step.max(1));
        }
        // With a width of one, three rows with samples and none between them would be a rare chance.
        if self.rows >= 3 && self.common_step > 1 {
            return Some(self.common_step);
        }
        let by_one = self.columns.iter().filter(|column| column.over == Some(0)).all(|column| {
            let ends = column.bins.first().zip(column.bins.last());
            let printed = column.min.and_then(Decimal::count).zip(column.max.and_then(Decimal::count));
            ends.zip(printed).is_none_or(|((first, last), (min, max))| first.0 == min && last.0 == max)
        });
        if by_one { Some(1) } else { Some(self.common_step).filter(|step| *step > 0) }
    }

    fn measurement(self, without_places: Option<&[u64]>) -> Measurement {
        let noise = self.columns.iter().all(|column| column.layer.is_none());
        let (tool, kind) = if noise { ("rtla-osnoise", Kind::Noise) } else { ("rtla-timerlat", Kind::Latency) };
        let mut measurement = Measurement::new(tool, "rtla-hist", kind, self.line);
        measurement.interval_us = self.command.as_ref().and_then(|command| command.number('p', "period"));
        let step = self.step();
        let unit = self.unit.nanoseconds();
        for column in &self.columns {
            let mut thread = Thread::new(column.cpu);
            thread.cpu = Some(column.cpu);
            thread.layer = column.layer;
            thread.cycles = column.count;
            thread.overflow = column.over;
            if column.count != Some(0) {
                thread.min_ns = column.min.and_then(|min| min.nanoseconds(self.unit));
                thread.mean_ns = column.avg.and_then(|avg| avg.nanoseconds_f64(self.unit));
                thread.max_ns = column.max.and_then(|max| max.nanoseconds(self.unit));
            }
            if let Some(sums) = without_places {
                thread.binned = sums.get(measurement.threads.len()).copied().unwrap_or(0);
            } else {
                let bins = column.bins.iter().filter_map(|(bin, n)| Some((bin.checked_mul(unit)?, *n))).collect();
                measurement.set_bins(&mut thread, 0, bins);
                thread.bin_width_ns = step.and_then(|step| step.checked_mul(unit));
            }
            measurement.threads.push(thread);
        }
        if without_places.is_some() {
            measurement.incomplete(
                "rows without an index (--no-index): the latency of a row is not known, its samples are only counted",
            );
        }
        self.warnings(&mut measurement);
        measurement
    }

    fn warnings(&self, measurement: &mut Measurement) {
        if let Some((rows, first)) = self.damaged {
            measurement.incomplete(format!("{rows} damaged rows are left out, the first at line {first}"));
        }
        if self.stopped {
            measurement.incomplete("stopped at a threshold: the tail was not seen");
        }
        if self.summary_lines < 5 {
            measurement.incomplete("the summary (over, count, min, avg, max) is missing or cut");
        }
        let layers = [Some(Layer::Irq), Some(Layer::Kernel), Some(Layer::User)];
        let stated = layers.into_iter().filter(|layer| self.columns.iter().any(|column| column.layer == *layer));
        for (layer, all) in stated.zip(self.all.iter().flatten()) {
            let counts = self.columns.iter().filter(|column| column.layer == layer).filter_map(|column| column.count);
            let sum: u128 = counts.map(u128::from).sum();
            if let Some(all) = all.and_then(Decimal::count)
                && u128::from(all) != sum
            {
                measurement.warn(format!("the ALL row states {all} samples, the columns {sum}"));
            }
        }
    }
}

/// A summary line of a table whose heading was not printed (`--no-header`).
fn without_heading(line: Line<'_>, context: &mut Context) -> bool {
    let numbers = |text: &[u8]| words(text).next().is_some() && words(text).all(|word| count(word).is_some());
    if line.text.strip_prefix(b"over:").is_some_and(numbers) {
        context.no_data(
            line.number,
            "an rtla histogram without its heading (--no-header): of which CPU and layer a column is, and in which unit, is not known",
        );
    }
    false
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl RtlaHist {
    fn close(&mut self, context: &mut Context) {
        if let Some(mut run) = self.run.take() {
            if run.bare.is_some() {
                match run.take_bare() {
                    Some(sums) => context.found(run.measurement(Some(&sums))),
                    None => context.no_data(
                        run.line,
                        "an rtla histogram without an index (--no-index) and without a summary that agrees: the latency of a row is not known",
                    ),
                }
                return;
            }
            let has_rows = run.rows > 0 || run.has_count;
            let line = run.line;
            if has_rows {
                let measurement = run.measurement(None);
                context.found(measurement);
            } else {
                context.no_data(line, "an rtla histogram without a row");
            }
        } else if let Some(line) = self.head.take() {
            context.no_data(line, "an rtla histogram without a column: no CPU had a sample");
        }
    }

    fn heading(&mut self, line: Line<'_>, names: &[u8], context: &mut Context) -> bool {
        let columns: Option<Vec<Column>> = words(names).take(MAX_COLUMNS).map(Column::named).collect();
        let Some(columns) = columns.filter(|columns| !columns.is_empty()) else { return false };
        let head = self.head.take();
        self.close(context);
        self.run = Some(Run {
            line: head.unwrap_or(line.number),
            unit: self.unit.take().unwrap_or_default(),
            columns,
            rows: 0,
            all: None,
            in_all: false,
            has_count: false,
            stopped: false,
            summary_lines: 0,
            damaged: None,
            last_index: None,
            command: context.command(&["rtla", "timerlat"]),
            common_step: 0,
            bare: None,
        });
        true
    }
}

impl Family for RtlaHist {
    fn line(&mut self, line: Line<'_>, context: &mut Context) -> bool {
        let text = line.text;
        if let Some(comment) = text.strip_prefix(b"# ") {
            if comment.starts_with(b"RTLA ") && memchr::memmem::find(comment, b" histogram").is_some() {
                self.close(context);
                self.head = Some(line.number);
            } else if let Some(unit) = comment.strip_prefix(b"Time unit is ") {
                self.unit = words(unit).next().and_then(Unit::named);
            } else {
                return comment.starts_with(b"Duration:") && self.head.is_some();
            }
            return true;
        }
        if let Some(names) = text.strip_prefix(b"Index") {
            return self.heading(line, names, context);
        }
        if self.head.is_some() && Column::begins(text) && self.heading(line, text, context) {
            if let Some(run) = &mut self.run {
                run.bare = Some(Vec::new());
            }
            return true;
        }
        let Some(run) = &mut self.run else { return without_heading(line, context) };
        if run.bare.is_some() {
            if text.first().is_some_and(|byte| byte.is_ascii_digit() || *byte == b'-') {
                return run.bare_row(line, context);
            }
            if words(text).all(|word| matches!(word, b"IRQ" | b"Thr" | b"Usr")) {
                run.in_all = true;
                return true;
            }
        }
        if text.starts_with(b"rtla timerlat hit stop tracing") {
            run.stopped = true;
            return true;
        }
        if text.first().is_some_and(u8::is_ascii_digit) && !run.has_count {
            return take_count(text).is_some() && run.row(line, context);
        }
        let Some(colon) = memchr::memchr(b':', text) else { return false };
        let (name, values) = (&text[..colon], &text[colon + 1..]);
        match name {
            b"over" | b"count" | b"min" | b"avg" | b"max" => run.footer(name, values, line.ended),
            b"ALL" => run.in_all = true,
            _ => return false,
        }
        true
    }

    fn finish(&mut self, context: &mut Context) {
        self.close(context);
    }
}
