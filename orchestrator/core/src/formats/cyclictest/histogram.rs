//! The histogram block of `-h`, `-H` and `--histfile`: rows, and the footer lines around them.
//!
//! rt-tests up to 2.6 print every row; from 2.7 on rows without a sample are left out. So a row's place comes from
//! its index, never from its position.

use crate::formats::collect::Context;
use crate::formats::line::Line;
use crate::formats::number::{Decimal, take_count, take_six, words};

/// More columns than threads that cyclictest starts on any machine.
const MAX_COLUMNS: usize = 4096;
/// Longer latencies than any clock can tell; keeps the arithmetic in range.
const MAX_INDEX: u64 = 1_000_000_000_000_000;
/// Rows are printed at least this wide.
const ROW_WIDTH: usize = 6;

/// Rows of one histogram.
#[derive(Debug)]
pub(super) struct Rows {
    pub(super) columns: usize,
    /// Occupied bins of each column: index, samples.
    pub(super) bins: Vec<Vec<(u64, u64)>>,
    /// Samples of each column; `None` beyond 64 bits.
    pub(super) sums: Vec<Option<u64>>,
    /// In every row the last column is the sum of the others (`-H`).
    pub(super) last_is_sum: bool,
    /// Rows that could not be used: how many, and the first one's line.
    pub(super) damaged: Option<(u64, u64)>,
    last_index: Option<u64>,
    /// What follows the index in a row without samples: most rows are like this, and comparing is fast.
    zero_tail: Vec<u8>,
    counts: Vec<u64>,
}

impl Rows {
    pub(super) fn new() -> Self {
        Self {
            columns: 0,
            bins: Vec::new(),
            sums: Vec::new(),
            last_is_sum: true,
            damaged: None,
            last_index: None,
            zero_tail: Vec::new(),
            counts: Vec::new(),
        }
    }

    pub(super) fn any(&self) -> bool {
        self.last_index.is_some()
    }

    /// Could this line be the first row of a histogram whose heading was cut off? Only with cyclictest's zero padding.
    pub(super) fn looks_like_row(text: &[u8]) -> bool {
        text.first() == Some(&b'0')
            && words(text).count() >= 2
            && words(text).all(|word| word.len() >= ROW_WIDTH && word.iter().all(u8::is_ascii_digit))
    }

    /// Takes a row. `false`: the line is none.
    #[inline]
    pub(super) fn row(&mut self, line: Line<'_>, context: &mut Context) -> bool {
        let Some((index, taken)) = take_count(line.text) else { return false };
        let tail = &line.text[taken..];
        if tail == self.zero_tail.as_slice() && !tail.is_empty() && self.last_index.is_some_and(|last| index > last) {
            self.last_index = Some(index);
            return true;
        }
        if !tail.first().is_some_and(|byte| matches!(byte, b' ' | b'\t')) {
            return false;
        }
        self.other_row(index, tail, line, context)
    }

    /// Takes rows without samples from the start of `bytes` as long as they look like the last one; gives how many
    /// bytes and lines. A dense histogram is nearly all such rows.
    pub(super) fn skip_empty(&mut self, bytes: &[u8]) -> (usize, u64) {
        let Some(mut last) = self.last_index.and_then(six_digits).filter(|_| !self.zero_tail.is_empty()) else {
            return (0, 0);
        };
        let width = ROW_WIDTH + self.zero_tail.len() + 1;
        let (mut taken, mut lines) = (0, 0);
        while let Some(row) = bytes.get(taken..taken + width) {
            let Some(head) = row.first_chunk::<8>() else { break };
            let index = u64::from_be_bytes(*head) >> 16;
            let (tail, end) = row[ROW_WIDTH..].split_at(self.zero_tail.len());
            if !are_digits(index) || index <= last || tail != self.zero_tail.as_slice() || end != b"\n" {
                break;
            }
            (last, taken, lines) = (index, taken + width, lines + 1);
        }
        if lines > 0 {
            let digits = last.to_be_bytes();
            self.last_index = take_count(&digits[2..]).map(|(index, _)| index);
        }
        (taken, lines)
    }

    fn other_row(&mut self, index: u64, tail: &[u8], line: Line<'_>, context: &mut Context) -> bool {
        let mut counts = std::mem::take(&mut self.counts);
        let usable = read_counts(tail, line.ended, &mut counts)
            && index <= MAX_INDEX
            && (self.columns == 0 || counts.len() == self.columns)
            && self.last_index.is_none_or(|last| index > last);
        if usable {
            self.store(index, &counts, context);
            if counts.iter().all(|count| *count == 0) {
                self.zero_tail.clear();
                self.zero_tail.extend_from_slice(tail);
            }
        } else {
            let (rows, _) = self.damaged.get_or_insert((0, line.number));
            *rows += 1;
        }
        self.counts = counts;
        true
    }

    fn store(&mut self, index: u64, counts: &[u64], context: &mut Context) {
        if self.columns == 0 {
            self.columns = counts.len();
            self.bins = vec![Vec::new(); self.columns];
            self.sums = vec![Some(0); self.columns];
        }
        self.last_index = Some(index);
        let occupied = counts.iter().filter(|count| **count > 0).count();
        if occupied == 0 || !(context.without_bins || context.room_for_bins(occupied)) {
            return;
        }
        for ((count, bins), sum) in counts.iter().zip(&mut self.bins).zip(&mut self.sums) {
            if *count > 0 {
                if context.without_bins {
                    // The checks look at the last one only.
                    bins.clear();
                }
                bins.push((index, *count));
                *sum = sum.and_then(|sum| sum.checked_add(*count));
            }
        }
        if let Some((last, others)) = counts.split_last() {
            let sum: u128 = others.iter().map(|count| u128::from(*count)).sum();
            self.last_is_sum &= sum == u128::from(*last);
        }
    }
}

/// An index as it is printed, six digits as the bytes of a number; these order as the indices do.
fn six_digits(index: u64) -> Option<u64> {
    let mut rest = index;
    let mut printed = 0;
    for place in 0..6 {
        printed |= (u64::from(b'0') + rest % 10) << (8 * place);
        rest /= 10;
    }
    (rest == 0).then_some(printed)
}

fn are_digits(six: u64) -> bool {
    let high = |value: u64| value & 0xf0f0_f0f0_f0f0 == 0x3030_3030_3030;
    high(six) && high(six + 0x0606_0606_0606)
}

fn read_counts(mut tail: &[u8], ended: bool, counts: &mut Vec<u64>) -> bool {
    counts.clear();
    loop {
        while let Some(count) = take_six(tail) {
            if counts.len() == MAX_COLUMNS {
                return false;
            }
            counts.push(count);
            tail = &tail[1 + ROW_WIDTH..];
        }
        let blanks = tail.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        tail = &tail[blanks..];
        if tail.is_empty() {
            return !counts.is_empty();
        }
        let Some((count, width)) = take_count(tail) else { return false };
        let cut = !ended && width == tail.len() && width < ROW_WIDTH;
        if blanks == 0 || cut || counts.len() == MAX_COLUMNS {
            return false;
        }
        counts.push(count);
        tail = &tail[width..];
    }
}

/// The footer: one value per thread in each line, with `-H` sometimes a further one over all.
#[derive(Debug, Default)]
pub(super) struct Footer {
    pub(super) total: Option<Vec<Option<Decimal>>>,
    pub(super) min: Option<Vec<Option<Decimal>>>,
    pub(super) avg: Option<Vec<Option<Decimal>>>,
    pub(super) max: Option<Vec<Option<Decimal>>>,
    pub(super) overflows: Option<Vec<Option<Decimal>>>,
    /// `-b` stopped the run at this value.
    pub(super) break_value: Option<String>,
}

/// What a line of the footer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FooterLine {
    /// One that was not there yet.
    New,
    /// One of which there was one already: another run's.
    Repeated,
    /// Not of the footer.
    Other,
}

impl Footer {
    /// Takes a line of the footer.
    pub(super) fn line(&mut self, line: Line<'_>) -> FooterLine {
        let Some(text) = line.text.strip_prefix(b"#") else { return FooterLine::Other };
        let text = text.trim_ascii_start();
        let (slot, width, values) = if let Some(values) = text.strip_prefix(b"Total:") {
            (&mut self.total, 9, values)
        } else if let Some(values) = text.strip_prefix(b"Min Latencies:") {
            (&mut self.min, 5, values)
        } else if let Some(values) = text.strip_prefix(b"Avg Latencies:") {
            (&mut self.avg, 5, values)
        } else if let Some(values) = text.strip_prefix(b"Max Latencies:") {
            (&mut self.max, 5, values)
        } else if let Some(values) = text.strip_prefix(b"Histogram Overflows:") {
            (&mut self.overflows, 5, values)
        } else if let Some(value) = text.strip_prefix(b"Break value:") {
            self.break_value = Some(crate::formats::number::shown(value.trim_ascii()));
            return FooterLine::New;
        } else if is_list(text) {
            return FooterLine::New;
        } else {
            return FooterLine::Other;
        };
        if slot.is_some() {
            return FooterLine::Repeated;
        }
        let mut read: Vec<_> = words(values).take(MAX_COLUMNS + 1).map(Decimal::parse).collect();
        if !line.ended && words(values).last().is_some_and(|word| word.len() < width) {
            read.pop();
        }
        *slot = Some(read);
        FooterLine::New
    }

    /// Threads that the footer has values of.
    pub(super) fn threads(&self) -> Option<usize> {
        [&self.min, &self.avg].into_iter().flatten().map(Vec::len).max().filter(|threads| *threads > 0)
    }

    pub(super) fn any(&self) -> bool {
        self.total.is_some() || self.min.is_some() || self.max.is_some()
    }

    /// A thread's value of one line.
    pub(super) fn value(values: &Option<Vec<Option<Decimal>>>, thread: usize) -> Option<Decimal> {
        *values.as_ref()?.get(thread)?
    }
}

/// Lists of overflow cycles and thread ids; their content is not needed.
fn is_list(text: &[u8]) -> bool {
    text.starts_with(b"Histogram Overflow at cycle number:")
        || text.starts_with(b"Thread Ids:")
        || text.starts_with(b"Break thread:")
        || text.starts_with(b"SMIs:")
        || text
            .strip_prefix(b"Thread ")
            .is_some_and(|rest| take_count(rest).is_some_and(|(_, taken)| rest.get(taken) == Some(&b':')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(rows: &mut Rows, text: &str) {
        let line = Line { number: 1, text: text.as_bytes(), ended: true };
        assert!(rows.row(line, &mut Context::default()), "{text}");
    }

    #[test]
    fn only_rows_without_samples_and_in_order_are_skipped() {
        let mut rows = Rows::new();
        row(&mut rows, "000007 000001\t000002");
        assert_eq!(
            rows.skip_empty(b"000008 000000\t000000\n"),
            (0, 0),
            "what an empty row looks like is not known yet"
        );
        row(&mut rows, "000008 000000\t000000");
        for (text, lines) in [
            ("000009 000000\t000000\n000012 000000\t000000\n", 2),
            ("000012 000000\t000000\n", 0),
            ("000013 000000\t000001\n", 0),
            ("000013 000000\t000000\t000000\n", 0),
            ("00001x 000000\t000000\n", 0),
            ("00001: 000000\t000000\n", 0),
            ("000099 000000\t000000", 0),
            ("000100 000000\t000000\n# Total: 1 2\n", 1),
            ("0000101 000000\t000000\n", 0),
        ] {
            assert_eq!(rows.skip_empty(text.as_bytes()), (21 * lines, lines as u64), "{text}");
        }
        assert_eq!(rows.last_index, Some(100));
        assert_eq!((rows.sums.as_slice(), rows.damaged), (&[Some(1), Some(2)][..], None));
    }
}
