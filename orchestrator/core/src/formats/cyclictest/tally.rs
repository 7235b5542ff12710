//! `-v`: one line per sample, `thread:cycle:value`.

use crate::formats::collect::Context;
use crate::formats::number::{padded, take_count};
use std::collections::BTreeMap;

/// Values below this are counted in an array.
const DENSE: u64 = 1 << 16;
/// Longer latencies than any clock can tell; keeps the arithmetic in range.
const MAX_VALUE: i64 = 1_000_000_000_000_000;
/// Thread numbers beyond this are garbage.
const MAX_THREADS: u64 = 4096;

/// Samples of one thread, counted by value.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) samples: u64,
    /// Values below zero, in no bin.
    pub(super) negative: u64,
    pub(super) min: i64,
    pub(super) max: i64,
    pub(super) sum: i128,
    last_cycle: u64,
    dense: Vec<u64>,
    sparse: BTreeMap<u64, u64>,
}

/// The tallies of all threads.
#[derive(Debug, Default)]
pub(super) struct Tallies(Vec<Tally>);

impl Tallies {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn get(&self, thread: u64) -> Option<&Tally> {
        self.0.get(usize::try_from(thread).ok()?).filter(|tally| tally.samples > 0)
    }

    /// The threads that have samples.
    pub(super) fn threads(&self) -> impl Iterator<Item = u64> + '_ {
        (0u64..).zip(&self.0).filter(|(_, tally)| tally.samples > 0).map(|(thread, _)| thread)
    }

    pub(super) fn count(&mut self, sample: Sample, context: &mut Context) {
        let Some(index) = usize::try_from(sample.thread).ok().filter(|_| sample.thread < MAX_THREADS) else { return };
        if index >= self.0.len() {
            self.0.resize_with(index + 1, Tally::default);
        }
        self.0[index].count(sample, context);
    }

    /// Takes lines as they are nearly always printed, `%8d:%8lu:%8ld`, from the start of `bytes` as long as they go on
    /// the same run; gives how many bytes and lines.
    pub(super) fn bulk(&mut self, bytes: &[u8], context: &mut Context) -> (usize, u64) {
        let mut lines = 0;
        let (rows, _) = bytes.as_chunks::<LINE>();
        for row in rows {
            let Some(sample) = Sample::padded(row) else { break };
            let Some(tally) = usize::try_from(sample.thread).ok().and_then(|thread| self.0.get_mut(thread)) else {
                break;
            };
            if tally.samples == 0 || sample.cycle <= tally.last_cycle {
                break;
            }
            tally.count(sample, context);
            lines += 1;
        }
        (lines * LINE, lines as u64)
    }
}

/// Length of a line whose numbers are not wider than they are padded.
const LINE: usize = 27;

/// One sample line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) thread: u64,
    pub(super) cycle: u64,
    pub(super) value: i64,
}

impl Sample {
    #[inline]
    fn padded(line: &[u8; LINE]) -> Option<Self> {
        if line[8] != b':' || line[17] != b':' || line[26] != b'\n' {
            return None;
        }
        let field = |at: usize| padded(*line[at..].first_chunk()?);
        Some(Self { thread: field(0)?, cycle: field(9)?, value: field(18)?.try_into().ok()? })
    }

    /// Reads a line; a time of day has no blanks and is none.
    #[inline]
    pub(super) fn read(text: &[u8], ended: bool) -> Option<Self> {
        let (thread, taken) = take_count(text)?;
        let rest = text[taken..].strip_prefix(b":")?;
        let cycle_text = rest.trim_ascii_start();
        let (cycle, taken) = take_count(cycle_text)?;
        let value_field = cycle_text[taken..].strip_prefix(b":")?;
        let value_text = value_field.trim_ascii_start();
        let padded = cycle_text.len() < rest.len() || value_text.len() < value_field.len();
        let digits = value_text.strip_prefix(b"-").unwrap_or(value_text);
        let (magnitude, taken) = take_count(digits)?;
        let value = i64::try_from(magnitude).ok().filter(|value| *value <= MAX_VALUE)?;
        let whole = ended || value_field.len() >= 8;
        (padded && taken == digits.len() && thread < MAX_THREADS && whole).then_some(Self {
            thread,
            cycle,
            value: if digits.len() < value_text.len() { -value } else { value },
        })
    }
}

impl Tally {
    /// Has this thread's counting begun anew? Then it is another run's.
    pub(super) fn restarts_at(&self, cycle: u64) -> bool {
        cycle <= self.last_cycle
    }

    #[inline]
    pub(super) fn count(&mut self, sample: Sample, context: &mut Context) {
        let value = sample.value;
        (self.min, self.max) =
            if self.samples == 0 { (value, value) } else { (self.min.min(value), self.max.max(value)) };
        self.samples += 1;
        self.sum += i128::from(value);
        self.last_cycle = sample.cycle;
        let Ok(bin) = u64::try_from(value) else {
            self.negative += 1;
            return;
        };
        if let (true, Ok(index)) = (bin < DENSE, usize::try_from(bin)) {
            if index >= self.dense.len() {
                let grown = (index + 1).next_power_of_two();
                context.room_for_bins(grown - self.dense.len());
                self.dense.resize(grown, 0);
            }
            self.dense[index] += 1;
        } else {
            if !self.sparse.contains_key(&bin) && !context.room_for_bins(4) {
                return;
            }
            *self.sparse.entry(bin).or_default() += 1;
        }
    }

    /// Occupied bins, ascending.
    pub(super) fn bins(&self) -> Vec<(u64, u64)> {
        let dense = (0u64..).zip(self.dense.iter().copied());
        let sparse = self.sparse.iter().map(|(bin, count)| (*bin, *count));
        dense.chain(sparse).filter(|(_, count)| *count > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sample_lines_and_what_only_looks_like_them() {
        let read = |text: &str| Sample::read(text.as_bytes(), true);
        assert_eq!(read("0:       1:      35"), Some(Sample { thread: 0, cycle: 1, value: 35 }));
        assert_eq!(read("12:10000000:     -35"), Some(Sample { thread: 12, cycle: 10_000_000, value: -35 }));
        for other in ["12:30:45", "0:  1: x", "0: 1", "9999:  1: 5"] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
