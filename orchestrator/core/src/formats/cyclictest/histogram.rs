//! The histogram block of `-h`, `-H` and `--histfile`: rows, and the footer lines around them.
//!
//! rt-tests up to 2.6 print every row; from 2.7 on rows without a sample are left out. So a row's place comes from
//! its index, never from its position.

use crate::formats::collect::Context;
use crate::formats::line::Line;
use crate::formats::number::{Decimal, six, take_count, take_short, words};

/// More columns than threads that cyclictest starts on any machine.
const MAX_COLUMNS: usize = 4096;
/// Longer latencies than any clock can tell; keeps the arithmetic in range.
const MAX_INDEX: u64 = 1_000_000_000_000_000;
/// Rows are printed at least this wide.
const ROW_WIDTH: usize = 6;

/// Rows of one histogram.
#[derive(Debug)]
pub(super) struct Rows {
    pub(super) columns: Vec<Column>,
    /// In every row the last column is the sum of the others (`-H`).
    pub(super) last_is_sum: bool,
    /// Rows that could not be used: how many, and the first one's line.
    pub(super) damaged: Option<(u64, u64)>,
    pub(super) last_index: Option<u64>,
    /// What follows the index in a row without samples: most rows are like this, and comparing is fast.
    zero_tail: Vec<u8>,
    counts: Vec<u64>,
}

/// One column of the rows.
#[derive(Debug, Clone)]
pub(super) struct Column {
    /// Occupied bins: index, samples; empty if they are not asked for.
    pub(super) bins: Vec<(u64, u64)>,
    /// The lowest occupied bin and the highest.
    pub(super) ends: Option<(u64, u64)>,
    /// Samples; `None` beyond 64 bits.
    pub(super) sum: Option<u64>,
    /// Samples times their indices; `None` beyond 64 bits.
    pub(super) weight: Option<u64>,
}

impl Rows {
    pub(super) fn new() -> Self {
        Self {
            columns: Vec::new(),
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

    /// Was a row without a sample printed? Only rt-tests up to 2.6 do.
    pub(super) fn with_empty_rows(&self) -> bool {
        !self.zero_tail.is_empty()
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

    /// Takes whole rows of the shape of those before from the start of `bytes`; gives how many bytes and lines.
    pub(super) fn bulk(&mut self, bytes: &[u8], context: &mut Context) -> (usize, u64) {
        let (mut taken, mut lines) = (0, 0);
        let mut counts = std::mem::take(&mut self.counts);
        while !self.columns.is_empty() && !context.is_full() {
            let (empty, rows) = self.skip_empty(&bytes[taken..]);
            (taken, lines) = (taken + empty, lines + rows);
            counts.resize(self.columns.len(), 0);
            let row = &bytes[taken..];
            let Some((index, length)) = six_wide_row(row, &mut counts).or_else(|| any_row(row, &mut counts)) else {
                break;
            };
            if index > MAX_INDEX || self.last_index.is_none_or(|last| index <= last) {
                break;
            }
            if self.zero_tail.is_empty() && counts.iter().all(|count| *count == 0) {
                // Read once as a line: that tells what such rows look like.
                break;
            }
            self.store(index, &counts, context);
            (taken, lines) = (taken + length, lines + 1);
        }
        self.counts = counts;
        (taken, lines)
    }

    /// Takes rows without samples from the start of `bytes` as long as they look like the last one; gives how many
    /// bytes and lines. A dense histogram is nearly all such rows.
    fn skip_empty(&mut self, bytes: &[u8]) -> (usize, u64) {
        let tail = bytes.get(ROW_WIDTH..ROW_WIDTH + self.zero_tail.len());
        if self.zero_tail.is_empty() || tail != Some(&self.zero_tail) {
            return (0, 0);
        }
        let Some(mut last) = self.last_index.and_then(six_digits) else { return (0, 0) };
        let width = ROW_WIDTH + self.zero_tail.len() + 1;
        let (mut taken, mut lines) = (0, 0);
        while let Some(row) = bytes.get(taken..taken + width) {
            let Some(head) = row.first_chunk::<8>() else { break };
            let index = u64::from_be_bytes(*head) >> 16;
            let (tail, end) = row[ROW_WIDTH..].split_at(self.zero_tail.len());
            if tail != self.zero_tail.as_slice() || !are_digits(index) || index <= last || end != b"\n" {
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
            && (self.columns.is_empty() || counts.len() == self.columns.len())
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
        if self.columns.is_empty() {
            self.columns = vec![Column { bins: Vec::new(), ends: None, sum: Some(0), weight: Some(0) }; counts.len()];
        }
        self.last_index = Some(index);
        let keep = !context.without_bins;
        if keep && !context.room_for_bins(counts.iter().filter(|count| **count > 0).count()) {
            return;
        }
        for (count, column) in counts.iter().zip(&mut self.columns) {
            if *count > 0 {
                if keep {
                    column.bins.push((index, *count));
                }
                column.ends = Some((column.ends.map_or(index, |(lowest, _)| lowest), index));
                column.sum = column.sum.and_then(|sum| sum.checked_add(*count));
                let weight = index.checked_mul(*count);
                column.weight = column.weight.zip(weight).and_then(|(sum, weight)| sum.checked_add(weight));
            }
        }
        if self.last_is_sum
            && let Some((last, others)) = counts.split_last()
        {
            let sum: u128 = others.iter().map(|count| u128::from(*count)).sum();
            self.last_is_sum = sum == u128::from(*last);
        }
    }
}

/// A row whose index and counts are six digits wide; gives the index and the row's length.
#[inline]
fn six_wide_row(bytes: &[u8], counts: &mut [u64]) -> Option<(u64, usize)> {
    const COLUMN: usize = ROW_WIDTH + 1;
    let end = ROW_WIDTH + COLUMN * counts.len();
    if bytes.get(end) != Some(&b'\n') {
        return None;
    }
    let [a, b, c, d, e, f] = *bytes.first_chunk::<ROW_WIDTH>()?;
    let index = six([b' ', a, b, c, d, e, f])?;
    let (columns, _) = bytes[ROW_WIDTH..end].as_chunks::<COLUMN>();
    for (column, count) in columns.iter().zip(counts) {
        *count = six(*column)?;
    }
    Some((index, end + 1))
}

/// A row whose counts are as wide as they are; gives the index and the row's length.
#[inline]
fn any_row(bytes: &[u8], counts: &mut [u64]) -> Option<(u64, usize)> {
    let (index, mut at) = take_count(bytes)?;
    for count in counts {
        if !matches!(bytes.get(at), Some(b' ' | b'\t')) {
            return None;
        }
        let field = &bytes[at + 1..];
        let (value, width) = take_short(field).or_else(|| take_count(field))?;
        *count = value;
        at += 1 + width;
    }
    (bytes.get(at) == Some(&b'\n')).then_some((index, at + 1))
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

    /// Threads that the footer has values of; of two answers the one that fits the rows.
    pub(super) fn threads(&self, rows: Option<usize>) -> Option<usize> {
        let lengths = || [&self.min, &self.avg].into_iter().flatten().map(Vec::len).filter(|threads| *threads > 0);
        let fits = |threads: &usize| rows.is_some_and(|rows| rows == *threads || rows == threads + 1);
        lengths().find(fits).or(lengths().max())
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
        let sums: Vec<_> = rows.columns.iter().map(|column| column.sum).collect();
        assert_eq!((sums, rows.damaged), (vec![Some(1), Some(2)], None));
    }

    #[test]
    fn rows_in_bulk_are_rows_one_by_one() {
        let text = "000008 000000\t000000\n000009 000001\t000000\n000010 1234567\t12345678901\n0000011 000003 000004\n\
            1000012 000001\t000001\n";
        for (tail, taken) in [
            ("", 5),
            ("1000012 000001\t000002\n", 5),
            ("1000013 1\n", 5),
            ("1000013 1\t2\t3\n", 5),
            ("1000013 1\t2", 5),
            ("1000013 1\t2\n", 6),
            ("1000013 1\t2 \n", 5),
        ] {
            let mut bulk = Rows::new();
            row(&mut bulk, "000007 000000\t000000");
            let bytes = format!("{text}{tail}");
            let (length, lines) = bulk.bulk(bytes.as_bytes(), &mut Context::default());
            assert_eq!(lines, taken, "{tail}");
            let mut single = Rows::new();
            row(&mut single, "000007 000000\t000000");
            bytes[..length].lines().for_each(|line| row(&mut single, line));
            assert_eq!(bytes[..length].lines().count() as u64, lines);
            let content =
                |rows: &Rows| rows.columns.iter().map(|c| (c.bins.clone(), c.ends, c.sum)).collect::<Vec<_>>();
            assert_eq!(content(&bulk), content(&single), "{tail}");
            assert_eq!((bulk.last_index, bulk.damaged), (single.last_index, single.damaged));
        }
    }
}
