//! The JSON formats: rt-tests (`--json`, all versions), jitterdebugger, Linaro's `parse_rtla.py`, RT Dataset 1.0.

mod rt_dataset;
mod syntax;

use super::collect::Context;
use super::command::Command;
use super::measurement::{Kind, Layer, Measurement, Thread};
use super::number::{Decimal, Unit, count, shown};
use super::{Format, Reason};
use rt_dataset::Dataset;
use std::collections::BTreeMap;
use syntax::{Frame, Reader, Sink};

/// More threads than any machine runs.
const MAX_THREADS: usize = 4096;

/// A document as it is read.
#[derive(Debug)]
pub(super) struct Document {
    /// Line it starts at.
    pub(super) line: u64,
    reader: Reader,
    content: Content,
}

/// What the formats have in common: named values, and groups of numbered threads.
#[derive(Debug, Default)]
struct Content {
    command_line: Option<Vec<u8>>,
    version: Option<String>,
    file_version: Option<u64>,
    return_code: Option<Decimal>,
    num_threads: Option<u64>,
    resolution_in_ns: Option<u64>,
    threads: BTreeMap<(Group, u64), Numbers>,
    dataset: Dataset,
    /// Values that are none: how many.
    damaged: u64,
    /// Bins to announce to the context.
    new_bins: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Thread,
    Irq,
    User,
    /// jitterdebugger's name for its threads.
    Cpu,
}

/// oslat's buckets, by its options.
#[derive(Debug, Clone, Copy)]
struct Buckets {
    count: u64,
    width_ns: u64,
}

/// One thread's values.
#[derive(Debug, Default)]
struct Numbers {
    cycles: Option<u64>,
    over: Option<u64>,
    min: Option<Decimal>,
    avg: Option<Decimal>,
    max: Option<Decimal>,
    cpu: Option<u64>,
    interval: Option<u64>,
    priority: Option<u64>,
    has_histogram: bool,
    /// Lower edge in thousandths of the printed unit, samples.
    bins: Vec<(u64, u64)>,
}

impl Document {
    pub(super) fn new(line: u64) -> Self {
        Self { line, reader: Reader::new(line), content: Content::default() }
    }

    /// Takes bytes; gives how many belong to the document.
    pub(super) fn push(&mut self, bytes: &[u8], context: &mut Context) -> usize {
        let taken = self.reader.push(bytes, &mut self.content);
        context.room_for_bins(std::mem::take(&mut self.content.new_bins));
        taken
    }

    pub(super) fn ended(&self) -> bool {
        self.reader.ended()
    }

    /// What the document measured, or why it is no result.
    pub(super) fn measurement(self, only: Option<Format>, context: &mut Context) -> Result<Measurement, Reason> {
        let (whole, line) = (self.reader.whole(), self.reader.line);
        let content = self.content;
        let format = content.format().ok_or(if whole { Reason::UnknownJson } else { Reason::BrokenJson(line) })?;
        if only.is_some_and(|only| !only.names(format)) {
            return Err(only.map_or(Reason::UnknownJson, Reason::NotThat));
        }
        let damaged = content.damaged;
        let mut measurement = if format == Format::RtDataset {
            content.dataset.measurement(self.line)
        } else {
            content.measurement(format, self.line, context.nanoseconds)
        };
        if !whole {
            measurement.incomplete(format!("not valid JSON from line {line} on: the file is cut or damaged there"));
        }
        if damaged > 0 {
            measurement.incomplete(format!("{damaged} values are no numbers of their kind and are left out"));
        }
        Ok(measurement)
    }
}

impl Content {
    fn format(&self) -> Option<Format> {
        let has = |group| self.threads.keys().any(|(other, _)| *other == group);
        if self.dataset.is_one() {
            Some(Format::RtDataset)
        } else if has(Group::Cpu) {
            Some(Format::Jitterdebugger)
        } else if has(Group::Irq) || (has(Group::Thread) && self.file_version == Some(2)) {
            Some(Format::LinaroRtla)
        } else if has(Group::Thread) {
            Some(Format::RtTestsJson)
        } else {
            None
        }
    }

    fn measurement(self, format: Format, line: u64, nanoseconds: bool) -> Measurement {
        let command = self.command_line.as_deref().and_then(Command::find);
        let tool = match format {
            Format::Jitterdebugger => "jitterdebugger",
            Format::LinaroRtla => "rtla-timerlat",
            _ => command.as_ref().map_or("cyclictest", |command| command.tool),
        };
        let oslat = tool == "oslat";
        let kind = if oslat { Kind::Noise } else { Kind::Latency };
        let mut measurement = Measurement::new(tool, format.name(), kind, line);
        measurement.tool_version.clone_from(&self.version);
        let number = |short, long| command.as_ref().and_then(|command| command.number(short, long));
        let first = self.threads.values().next();
        measurement.interval_us = first.and_then(|first| first.interval).or(number('i', "interval"));
        measurement.priority =
            first.and_then(|first| first.priority).or(number('p', "priority")).or(number('p', "prio"));
        let option_n = !oslat && command.as_ref().is_some_and(|command| command.has('N', "nsecs"));
        let unit = match self.resolution_in_ns {
            Some(1) => Unit::Nano,
            None if option_n => Unit::Nano,
            _ if nanoseconds => Unit::Nano,
            _ => Unit::Micro,
        };
        let buckets = oslat.then(|| Buckets {
            count: number('b', "bucket-size").unwrap_or(32),
            width_ns: number('W', "bucket-width").unwrap_or(1000).max(1),
        });
        let stated = self.num_threads.filter(|stated| {
            let found = self.threads.keys().filter(|(group, _)| *group != Group::Irq && *group != Group::User).count();
            u64::try_from(found) != Ok(*stated)
        });
        if let Some(stated) = stated {
            measurement.incomplete(format!("{stated} threads are stated, but not all of them are there"));
        }
        if let Some(code) = self.return_code.filter(|code| code.count() != Some(0)) {
            let code = code.nanoseconds(Unit::Nano).unwrap_or(-1);
            measurement.incomplete(format!("the tool ended with return code {code}"));
        }
        for ((group, number), numbers) in self.threads {
            let thread = numbers.thread(number, group.layer(format), unit, buckets, &mut measurement);
            measurement.threads.push(thread);
        }
        measurement
    }
}

impl Group {
    fn named(name: &[u8]) -> Option<Self> {
        match name {
            b"thread" => Some(Self::Thread),
            b"irq" => Some(Self::Irq),
            b"user" => Some(Self::User),
            b"cpu" => Some(Self::Cpu),
            _ => None,
        }
    }

    fn layer(self, format: Format) -> Option<Layer> {
        match (format, self) {
            (Format::LinaroRtla, Self::Irq) => Some(Layer::Irq),
            (Format::LinaroRtla, Self::User) => Some(Layer::User),
            (Format::LinaroRtla, _) => Some(Layer::Kernel),
            _ => None,
        }
    }
}

impl Numbers {
    fn set(&mut self, name: &[u8], text: &[u8]) -> bool {
        let number = Decimal::parse(text);
        let whole = number.and_then(Decimal::count);
        match name {
            b"cycles" | b"samples" | b"count" => self.cycles = whole,
            b"over" => self.over = whole,
            b"min" => self.min = number,
            b"avg" => self.avg = number,
            b"max" => self.max = number,
            b"cpu" => {
                self.cpu = whole;
                // -1: not pinned.
                return number.is_some();
            }
            b"interval" => self.interval = whole,
            b"priority" => self.priority = whole,
            _ => return true,
        }
        // `nan` stands where there is no sample.
        let nan = matches!(text, b"nan" | b"-nan") && name == b"avg";
        nan || if matches!(name, b"min" | b"avg" | b"max") { number.is_some() } else { whole.is_some() }
    }

    fn thread(
        mut self,
        number: u64,
        layer: Option<Layer>,
        unit: Unit,
        buckets: Option<Buckets>,
        to: &mut Measurement,
    ) -> Thread {
        let mut thread = Thread::new(number);
        thread.cpu = self.cpu;
        thread.layer = layer;
        thread.cycles = self.cycles;
        if self.cycles != Some(0) {
            thread.min_ns = self.min.and_then(|min| min.nanoseconds(unit));
            thread.mean_ns = self.avg.and_then(|avg| avg.nanoseconds_f64(unit));
            thread.max_ns = self.max.and_then(|max| max.nanoseconds(unit));
        }
        if !self.has_histogram {
            return thread;
        }
        if !self.bins.is_sorted_by(|a, b| a.0 < b.0) {
            to.warn(format!("{}: the bins are out of order", thread.name()));
            self.bins.sort_unstable();
        }
        thread.overflow = self.over;
        // oslat's last bucket also counts everything beyond it.
        if let Some(buckets) = buckets {
            // Its edge in thousandths of a µs is its edge in ns.
            let edge = buckets.count.saturating_mul(buckets.width_ns);
            let last = self.bins.pop_if(|(bin, _)| *bin == edge);
            thread.overflow = Some(last.map_or(0, |(_, n)| n));
        }
        let width = unit.nanoseconds();
        let bins = self.bins.iter().filter_map(|(bin, n)| Some((bin.checked_mul(width)? / 1000, *n))).collect();
        to.set_bins(&mut thread, buckets.map_or(width, |buckets| buckets.width_ns), bins);
        if thread.overflow.is_none()
            && let Some(cycles) = thread.cycles
        {
            // No count of the overflow is printed; the check reports a histogram that holds more than the cycles.
            thread.overflow = cycles.checked_sub(thread.binned);
        }
        thread
    }
}

impl Sink for Content {
    fn holds_numbers(&self, path: &[Frame]) -> bool {
        matches!(path, [group, _, histogram, _] if histogram.key() == b"histogram" && Group::named(group.key()).is_some())
    }

    fn numbers(&mut self, path: &[Frame], entries: &[(u64, u64)]) {
        let [group, number, ..] = path else { return };
        let Some(numbers) = self.numbers_of(group, number) else { return };
        let occupied = entries.iter().filter(|(_, samples)| *samples > 0);
        let thousandths = occupied.filter_map(|(bin, samples)| Some((bin.checked_mul(1000)?, *samples)));
        let before = numbers.bins.len();
        numbers.bins.extend(thousandths);
        let added = numbers.bins.len() - before;
        self.new_bins += added;
        let lost = entries.iter().filter(|(bin, samples)| *samples > 0 && bin.checked_mul(1000).is_none()).count();
        self.damaged += lost as u64;
    }

    fn open(&mut self, path: &[Frame]) {
        if let [group, number, histogram] = path
            && histogram.key() == b"histogram"
            && let Some(numbers) = self.numbers_of(group, number)
        {
            numbers.has_histogram = true;
        }
    }

    fn value(&mut self, path: &[Frame], text: &[u8]) {
        let good = match path {
            [name] => self.top(name.key(), text),
            [object, name] if object.key() == b"sysinfo" && name.key() == b"resolution_in_ns" => {
                self.resolution_in_ns = count(text);
                true
            }
            [object, ..] if matches!(object.key(), b"format" | b"condition" | b"latency" | b"kernel") => {
                self.dataset.value(path, text, &mut self.new_bins)
            }
            [group, number, name] => self.numbers_of(group, number).is_none_or(|numbers| numbers.set(name.key(), text)),
            [group, number, histogram, bin] if histogram.key() == b"histogram" => {
                self.bin(group, number, bin.key(), text)
            }
            [group, number, side, name] if matches!(side.key(), b"sender" | b"receiver") => {
                self.numbers_of(group, number).is_none_or(|numbers| numbers.set(name.key(), text))
            }
            _ => true,
        };
        self.damaged += u64::from(!good);
    }
}

impl Content {
    fn top(&mut self, name: &[u8], text: &[u8]) -> bool {
        match name {
            b"cmdline" => self.command_line = Some(text.to_vec()),
            b"rt_test_version" => self.version = Some(shown(text)),
            b"file_version" => self.file_version = count(text),
            b"return_code" => self.return_code = Decimal::parse(text),
            // Linaro's converter writes 5.0.
            b"num_threads" => self.num_threads = Decimal::parse(text).and_then(Decimal::count),
            b"resolution_in_ns" => self.resolution_in_ns = count(text),
            _ => {}
        }
        true
    }

    fn numbers_of(&mut self, group: &Frame, number: &Frame) -> Option<&mut Numbers> {
        let key = (Group::named(group.key())?, count(number.key())?);
        if self.threads.len() >= MAX_THREADS && !self.threads.contains_key(&key) {
            return None;
        }
        Some(self.threads.entry(key).or_default())
    }

    fn bin(&mut self, group: &Frame, number: &Frame, bin: &[u8], samples: &[u8]) -> bool {
        let bin = Decimal::parse(bin).and_then(Decimal::thousandths);
        let (bin, samples) = (bin, Decimal::parse(samples).and_then(Decimal::count));
        let Some(numbers) = self.numbers_of(group, number) else { return true };
        match (bin, samples) {
            (Some(_), Some(0)) => {}
            (Some(bin), Some(samples)) => {
                numbers.bins.push((bin, samples));
                self.new_bins += 1;
            }
            _ => return false,
        }
        true
    }
}
