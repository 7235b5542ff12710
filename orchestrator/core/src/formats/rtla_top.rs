//! `rtla timerlat top`: a table that is drawn again and again; the last one counts.

use super::collect::{Context, Family};
use super::line::Line;
use super::measurement::{Kind, Layer, Measurement, Thread};
use super::number::{Decimal, Unit, take_count, words};
use std::collections::BTreeMap;

/// More CPUs than any machine has.
const MAX_CPUS: usize = 8192;

/// Reads `top` tables.
#[derive(Debug, Default)]
pub(super) struct RtlaTop {
    run: Option<Run>,
}

#[derive(Debug)]
struct Run {
    line: u64,
    unit: Unit,
    cpus: BTreeMap<u64, Row>,
    all: Option<Row>,
    elided: Option<u64>,
    /// A threshold ended the run.
    stopped: bool,
    damaged: Option<(u64, u64)>,
    /// Length of a whole row; one without a line end may be cut.
    row_length: Option<usize>,
}

/// One CPU: number of samples, and minimum, mean and maximum of each layer.
#[derive(Debug, Clone)]
struct Row {
    count: u64,
    groups: Vec<[Option<Decimal>; 3]>,
}

impl Row {
    /// `#10003     |      113        19       150       441 |      134 …`; without the first of the four in the ALL row.
    fn read(text: &[u8], without_current: bool) -> Option<Self> {
        let mut cells = text.split(|byte| *byte == b'|');
        let mut words_of_count = words(cells.next()?);
        let mut count = super::number::count(words_of_count.next()?.strip_prefix(b"#")?)?;
        if let Some(exponent) = words_of_count.next() {
            let exponent = super::number::count(exponent.strip_prefix(b"e")?)?;
            count = count.checked_mul(10u64.checked_pow(u32::try_from(exponent).ok()?)?)?;
        }
        let groups: Option<Vec<_>> = cells
            .take(3)
            .map(|cell| {
                let values: Vec<Option<Decimal>> = words(cell)
                    .take(5)
                    .map(|word| Decimal::parse(word).filter(|value| value.nanoseconds(Unit::Nano).is_some()))
                    .collect();
                match values.as_slice() {
                    [_, min, avg, max] => Some([*min, *avg, *max]),
                    [min, avg, max] if without_current => Some([*min, *avg, *max]),
                    _ => None,
                }
            })
            .collect();
        groups.filter(|groups| !groups.is_empty()).map(|groups| Self { count, groups })
    }
}

impl Run {
    fn measurement(self) -> Measurement {
        let mut measurement = Measurement::new("rtla-timerlat", "rtla-top", Kind::Latency, self.line);
        for (cpu, row) in &self.cpus {
            for (layer, group) in [Layer::Irq, Layer::Kernel, Layer::User].into_iter().zip(&row.groups) {
                let [min, avg, max] = *group;
                let mut thread = Thread::new(*cpu);
                thread.cpu = Some(*cpu);
                thread.layer = Some(layer);
                thread.cycles = Some(row.count);
                if row.count > 0 {
                    thread.min_ns = min.and_then(|min| min.nanoseconds(self.unit));
                    thread.mean_ns = avg.and_then(|avg| avg.nanoseconds_f64(self.unit));
                    thread.max_ns = max.and_then(|max| max.nanoseconds(self.unit));
                }
                measurement.threads.push(thread);
            }
        }
        self.warnings(&mut measurement);
        measurement
    }

    fn warnings(&self, measurement: &mut Measurement) {
        if let Some(line) = self.elided {
            measurement.incomplete(format!("line {line}: rows of some CPUs were cut out of the file"));
        }
        if self.stopped {
            measurement.incomplete("stopped at a threshold: the tail was not seen");
        }
        if let Some((rows, first)) = self.damaged {
            measurement.incomplete(format!("{rows} damaged rows are left out, the first at line {first}"));
        }
        let Some(all) = &self.all else { return };
        let sum: u128 = self.cpus.values().map(|row| u128::from(row.count)).sum();
        // The row is rounded down to a power of ten.
        let exact = u128::from(all.count);
        let step = 10u128.pow(exact.checked_ilog10().unwrap_or(0).saturating_sub(5));
        if sum > exact + step || (self.elided.is_none() && sum < exact) {
            measurement.warn(format!("the ALL row states {exact} samples, the CPUs' rows {sum}"));
        }
        let highest = |group: usize| {
            let means = self.cpus.values().filter_map(|row| row.groups.get(group)?[1]?.nanoseconds(self.unit));
            means.max()
        };
        for (group, values) in all.groups.iter().enumerate() {
            let mean = values[1].and_then(|mean| mean.nanoseconds(self.unit));
            if let (Some(mean), Some(highest), None) = (mean, highest(group), self.elided)
                && mean > highest
            {
                measurement
                    .warn(format!("the ALL row states a mean of {mean} ns, above that of every CPU ({highest} ns)"));
            }
        }
        if self.elided.is_some() && self.count_wrapped(exact) {
            measurement.warn(format!(
                "the ALL row's count ({exact}) is too small for so many CPUs: it has overflowed 32 bits"
            ));
        }
    }

    /// With rows cut out: as many samples on every CPU as on the first would be far more than the ALL row says.
    fn count_wrapped(&self, all: u128) -> bool {
        let (Some((first, row)), Some((last, _))) = (self.cpus.first_key_value(), self.cpus.last_key_value()) else {
            return false;
        };
        let expected = u128::from(row.count) * u128::from(last - first + 1);
        expected > u128::from(u32::MAX) && all < expected / 2
    }
}

impl Family for RtlaTop {
    fn line(&mut self, line: Line<'_>, context: &mut Context) -> bool {
        let text = line.text;
        let heading = memchr::memmem::find(text, b"Timer Latency (").is_some() && text[0].is_ascii_digit();
        if heading || (self.run.is_none() && text.starts_with(b"CPU COUNT")) {
            let unit = if memchr::memmem::find(text, b"(ns)").is_some() { Unit::Nano } else { Unit::Micro };
            match &mut self.run {
                // Drawn again: the ALL row belongs to the old table.
                Some(run) => run.all = None,
                None => {
                    let run = Run {
                        line: line.number,
                        unit,
                        cpus: BTreeMap::new(),
                        all: None,
                        elided: None,
                        stopped: false,
                        damaged: None,
                        row_length: None,
                    };
                    self.run = Some(run);
                }
            }
            return true;
        }
        let Some(run) = &mut self.run else { return false };
        if text.starts_with(b"rtla timerlat hit stop tracing") {
            run.stopped = true;
            return true;
        }
        if text.starts_with(b"CPU COUNT") || text.starts_with(b"---") {
            return true;
        }
        if text == b"..." {
            run.elided.get_or_insert(line.number);
            return true;
        }
        if let Some(rest) = text.strip_prefix(b"ALL") {
            run.all = Row::read(rest.trim_ascii(), true);
            return true;
        }
        let Some((cpu, taken)) = take_count(text) else { return false };
        let rest = text[taken..].trim_ascii();
        if !rest.starts_with(b"#") {
            return false;
        }
        let whole = line.ended || run.row_length.is_some_and(|length| rest.len() >= length);
        let row = Row::read(rest, false)
            .filter(|row| whole && run.cpus.values().next().is_none_or(|known| known.groups.len() == row.groups.len()));
        if line.ended && row.is_some() {
            run.row_length = Some(rest.len());
        }
        let Some(row) = row else {
            run.damaged.get_or_insert((0, line.number)).0 += 1;
            return true;
        };
        if run.cpus.get(&cpu).is_some_and(|known| row.count < known.count) {
            // Counting began anew: another run.
            let next = Run {
                line: line.number,
                unit: run.unit,
                cpus: BTreeMap::new(),
                all: None,
                elided: None,
                stopped: false,
                damaged: None,
                row_length: None,
            };
            let ended = std::mem::replace(run, next);
            context.found(ended.measurement());
        }
        if run.cpus.len() < MAX_CPUS || run.cpus.contains_key(&cpu) {
            run.cpus.insert(cpu, row);
        }
        true
    }

    fn finish(&mut self, context: &mut Context) {
        if let Some(run) = self.run.take() {
            if run.cpus.is_empty() {
                context.no_data(run.line, "an rtla table without a CPU");
            } else {
                context.found(run.measurement());
            }
        }
    }
}
