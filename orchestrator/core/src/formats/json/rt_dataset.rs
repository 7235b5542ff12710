//! OSADL's RT Dataset 1.0: dense arrays of counts, one for each core, and the maxima apart.
//!
//! Its generator copies cyclictest's rows column by column, so the first array may be the rows' indices and not a
//! core; with them even sparse rows keep their place.

use super::super::command::Command;
use super::super::measurement::{Kind, Measurement, Thread};
use super::super::number::{Decimal, Unit, count};
use super::Frame;

/// More cores than any machine has.
const MAX_CORES: usize = 4096;

/// The parts of a data set that are read.
#[derive(Debug, Default)]
pub(super) struct Dataset {
    named: bool,
    version: Option<Vec<u8>>,
    interval: Option<u64>,
    command: Option<Command>,
    granularity_ns: Option<u64>,
    /// Each core's counts: place in the array, count; zeros left out.
    cores: Vec<Core>,
    maxima: Vec<Option<Decimal>>,
}

#[derive(Debug, Default)]
struct Core {
    length: u64,
    counts: Vec<(u64, u64)>,
}

impl Dataset {
    pub(super) fn is_one(&self) -> bool {
        self.named
    }

    /// Takes a value; `false` if it is none of its kind.
    pub(super) fn value(&mut self, path: &[Frame], text: &[u8], new_bins: &mut usize) -> bool {
        match path {
            [object, name] => match (object.key(), name.key()) {
                (b"format", b"name") => self.named = text == b"RT Dataset",
                (b"format", b"version") => self.version = Some(text.to_vec()),
                (b"condition", b"interval") => self.interval = Decimal::parse(text).and_then(Decimal::count),
                (b"condition", b"cyclictest") => self.command = Command::find(text),
                (b"latency", b"granularity") => self.granularity_ns = granularity(text),
                _ => {}
            },
            [_, maxima, _] if maxima.key() == b"maxima" && self.maxima.len() <= MAX_CORES => {
                self.maxima.push(Decimal::parse(text));
            }
            [_, cores, core, place] if cores.key() == b"cores" => {
                return self.count(core.index(), place.index(), text, new_bins);
            }
            _ => {}
        }
        true
    }

    fn count(&mut self, core: Option<u64>, place: Option<u64>, text: &[u8], new_bins: &mut usize) -> bool {
        let (Some(core), Some(place)) = (core.and_then(|core| usize::try_from(core).ok()), place) else { return false };
        if core >= MAX_CORES {
            return false;
        }
        if core >= self.cores.len() {
            self.cores.resize_with(core + 1, Core::default);
        }
        let counts = &mut self.cores[core];
        counts.length = place + 1;
        match Decimal::parse(text).and_then(Decimal::count) {
            Some(0) => true,
            Some(count) => {
                *new_bins += 1;
                // The reader stops at the next chunk when there are too many; what lies between is bounded by it.
                counts.counts.push((place, count));
                true
            }
            None => false,
        }
    }

    pub(super) fn measurement(mut self, line: u64) -> Measurement {
        let mut measurement = Measurement::new("cyclictest", "rt-dataset", Kind::Latency, line);
        measurement.interval_us = self.interval;
        measurement.priority = self.command.as_ref().and_then(|command| command.number('p', "prio"));
        if self.version.as_deref().is_some_and(|version| version != b"1.0") {
            measurement.warn("not version 1.0 of the RT Dataset format: read as if it were");
        }
        let width = self.granularity_ns.unwrap_or_else(|| {
            measurement.warn("the granularity is not stated; microseconds are assumed");
            Unit::Micro.nanoseconds()
        });
        let indices = self.take_indices();
        self.drop_sum();
        for (number, core) in (0u64..).zip(&self.cores) {
            let mut thread = Thread::new(number);
            let place = |place: u64| match &indices {
                Some(indices) => indices
                    .binary_search_by_key(&place, |(at, _)| *at)
                    .map_or((place == 0).then_some(0), |at| Some(indices[at].1)),
                None => Some(place),
            };
            let bins = core.counts.iter().filter_map(|(at, n)| Some((place(*at)?.checked_mul(width)?, *n))).collect();
            measurement.set_bins(&mut thread, width, bins);
            let index = usize::try_from(number).unwrap_or(usize::MAX);
            let unit = if width == 1 { Unit::Nano } else { Unit::Micro };
            thread.max_ns = self.maxima.get(index).copied().flatten().and_then(|max| max.nanoseconds(unit));
            let range = core.length.saturating_mul(width);
            if indices.is_none()
                && thread.max_ns.and_then(|max| u64::try_from(max).ok()).is_some_and(|max| max >= range)
            {
                measurement
                    .warn(format!("{}: samples beyond the histogram are not counted in this format", thread.name()));
            }
            measurement.threads.push(thread);
        }
        if self.maxima.is_empty() {
            measurement.incomplete("no maxima: a value beyond the histogram would not be seen");
        }
        measurement
    }

    /// Takes the array of row indices out, if the first one is that.
    fn take_indices(&mut self) -> Option<Vec<(u64, u64)>> {
        let first = self.cores.first()?;
        let ascending = first.length > 2
            && first.counts.is_sorted_by(|a, b| a.1 < b.1)
            && u64::try_from(first.counts.len()).is_ok_and(|n| n + 1 >= first.length)
            && self.cores.iter().all(|core| core.length == first.length);
        let exact = first.counts.iter().all(|(at, index)| at == index);
        let by_maxima = !self.maxima.is_empty() && self.cores.len() > self.maxima.len();
        (ascending && self.cores.len() > 1 && (exact || by_maxima)).then(|| self.cores.remove(0).counts)
    }

    /// Takes a last array out that is the sum of the others (`-H`).
    fn drop_sum(&mut self) {
        let Some((last, others)) = self.cores.split_last() else { return };
        if others.len() < 2 {
            return;
        }
        let mut sum = std::collections::BTreeMap::<u64, u128>::new();
        for (at, n) in others.iter().flat_map(|core| &core.counts) {
            *sum.entry(*at).or_default() += u128::from(*n);
        }
        let same =
            last.counts.len() == sum.len() && last.counts.iter().all(|(at, n)| sum.get(at) == Some(&u128::from(*n)));
        if same && !last.counts.is_empty() {
            self.cores.pop();
        }
    }
}

/// Width of a bin in ns: a unit's name, or a number of µs.
fn granularity(text: &[u8]) -> Option<u64> {
    Unit::named(text)
        .map(Unit::nanoseconds)
        .or_else(|| count(text).filter(|width| *width > 0).and_then(|width| width.checked_mul(1000)))
}
