//! Status lines: `T: 0 ( 1307) P:80 I:10000 C:   3892 Min:     19 Act:   26 Avg:   67 Max:   13743`.

use crate::formats::number::{Decimal, Unit, after, take_count};

/// One status line.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Status {
    pub(super) thread: u64,
    pub(super) pid: Option<u64>,
    pub(super) priority: Option<u64>,
    pub(super) interval_us: Option<u64>,
    pub(super) cpu: Option<u64>,
    pub(super) cycles: u64,
    pub(super) min: Option<Decimal>,
    pub(super) avg: Option<Decimal>,
    pub(super) max: Option<Decimal>,
    /// `-N` pads these two to eight places instead of five: the only trace it leaves in the line.
    act_width: usize,
    /// `nan` or `inf` stands where a number belongs.
    pub(super) no_number: bool,
    avg_width: usize,
}

/// Names of the fields.
const KEYS: [&[u8]; 8] = [b"P", b"I", b"A", b"C", b"Min", b"Act", b"Avg", b"Max"];

/// A line begins like a status line, but fields are missing or damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Damaged;

impl Status {
    /// Reads a line; anything may stand before the `T:`. `None`: the line is something else.
    pub(super) fn read(text: &[u8], ended: bool) -> Result<Option<Self>, Damaged> {
        let plain = text.starts_with(b"T:");
        let Some(start) = (if plain { Some(2) } else { start_within(text) }) else { return Ok(None) };
        match Self::fields(&text[start..], ended) {
            Some(status) => Ok(Some(status)),
            None if plain && memchr::memmem::find(text, b"C:").is_none() => Ok(None),
            None => Err(Damaged),
        }
    }

    fn fields(text: &[u8], ended: bool) -> Option<Self> {
        let mut status = Self::default();
        let mut rest = text.trim_ascii_start();
        let taken;
        (status.thread, taken) = take_count(rest)?;
        rest = rest[taken..].trim_ascii_start();
        if let Some(inner) = rest.strip_prefix(b"(") {
            let inner = inner.trim_ascii_start();
            let (pid, taken) = take_count(inner)?;
            status.pid = Some(pid);
            rest = inner[taken..].trim_ascii_start().strip_prefix(b")")?;
        }
        let mut cycles = None;
        loop {
            rest = rest.trim_ascii_start();
            let Some(colon) = rest.iter().take(6).position(|byte| *byte == b':') else { break };
            let (key, field) = (&rest[..colon], &rest[colon + 1..]);
            if !KEYS.contains(&key) {
                break;
            }
            let blanks = field.iter().take_while(|byte| **byte == b' ').count();
            let (value, taken) = match Decimal::take(&field[blanks..]) {
                Some((value, taken)) => (Some(value), taken),
                None => (None, no_number(&field[blanks..])?),
            };
            status.no_number |= value.is_none();
            let width = blanks + taken;
            rest = &field[width..];
            // Where the file ends, digits may be cut, unless the number is as wide as it is printed.
            let nominal = if matches!(key, b"Act" | b"Avg") { 5 } else { 7 };
            let value = value.filter(|_| ended || !rest.is_empty() || width >= nominal);
            match key {
                b"P" => status.priority = value.and_then(Decimal::count),
                b"I" => status.interval_us = value.and_then(Decimal::count),
                b"A" => status.cpu = value.and_then(Decimal::count),
                b"C" => cycles = Some(value?.count()?),
                b"Min" => status.min = value,
                b"Act" => status.act_width = width,
                b"Avg" => (status.avg, status.avg_width) = (value, width),
                // The last field: without a line end its digits may be cut, unless it is as wide as it is printed.
                b"Max" if ended || width >= 8 || !rest.is_empty() => status.max = value,
                _ => {}
            }
        }
        status.cycles = cycles?;
        (status.min.is_some() || status.max.is_some()).then_some(status)
    }

    /// Are the values nanoseconds (`-N`), by the way they are padded?
    pub(super) fn padded_as_nanoseconds(&self) -> bool {
        self.act_width >= 8 && self.avg_width >= 8
    }

    /// jitterdebugger prints the CPU (`A:`) where rt-tests print the priority.
    pub(super) fn is_jitterdebugger(&self) -> bool {
        self.cpu.is_some() && self.priority.is_none()
    }

    /// A value in ns.
    pub(super) fn ns(value: Option<Decimal>, unit: Unit) -> Option<i64> {
        value?.nanoseconds(unit)
    }
}

/// Length of a `nan` or `inf`.
fn no_number(text: &[u8]) -> Option<usize> {
    let sign = usize::from(text.first() == Some(&b'-'));
    let word = text.get(sign..sign + 3)?;
    (word.eq_ignore_ascii_case(b"nan") || word.eq_ignore_ascii_case(b"inf")).then_some(sign + 3)
}

/// Where the thread's number begins behind a prompt, a time stamp or a log prefix: only with the fields that make it a
/// status line.
fn start_within(text: &[u8]) -> Option<usize> {
    let c = memchr::memmem::find(text, b" C:")?;
    after(&text[c..], b"Min:")?;
    let t = memchr::memmem::rfind(&text[..c], b"T:")?;
    let boundary = t == 0 || !text[t - 1].is_ascii_alphanumeric();
    (boundary && text[t + 2..].trim_ascii_start().first().is_some_and(u8::is_ascii_digit)).then_some(t + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Status {
        match Status::read(text.as_bytes(), true) {
            Ok(Some(status)) => status,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn every_spelling_of_the_line() {
        let plain = read("T: 0 ( 1307) P:80 I:10000 C:   3892 Min:     19 Act:   26 Avg:   67 Max:   13743");
        assert_eq!(
            (plain.thread, plain.pid, plain.priority, plain.interval_us),
            (0, Some(1307), Some(80), Some(10000))
        );
        assert_eq!((plain.cycles, Status::ns(plain.max, Unit::Micro)), (3892, Some(13_743_000)));
        assert_eq!(read("T:10 (12345) P:95 I:1000 C:   8506 Min:      1 Act:    2 Avg:    1 Max:       2").thread, 10);
        assert_eq!(read("T: 0 (12345) P: 80 I:1000 C: 60000 Min: 2 Act: 4 Avg: 5 Max: 47").priority, Some(80));
        let glued = read("T: 0 (  637) P:99 I:1000 C:      8 Min:     52 Act:138802 Avg:133886 Max:  205696");
        assert_eq!(Status::ns(glued.avg, Unit::Micro), Some(133_886_000));
        assert!(!glued.padded_as_nanoseconds());
        let nano = read("T: 0 (  637) P:99 I:1000 C:    500 Min:  18404 Act:   20010 Avg:   22522 Max:   204226");
        assert!(nano.padded_as_nanoseconds());
        let logged = read("[   12.5] board: T: 1 (1) P:9 I:1 C: 5 Min: -1 Act: 1 Avg: 1 Max: 4");
        assert_eq!((logged.thread, Status::ns(logged.min, Unit::Micro)), (1, Some(-1000)));
        assert!(read("T: 0 (  614) A: 0 C:     13476 Min:         3 Avg:    3.08 Max:        10").is_jitterdebugger());
    }

    #[test]
    fn a_cut_or_damaged_line_is_no_result() {
        let cut = Status::read(b"T: 0 (1) P:9 I:1 C: 5 Min:      1 Act:    1 Avg:    1 Max:     1", false);
        assert!(matches!(cut, Ok(Some(Status { max: None, .. }))), "{cut:?}");
        let whole = Status::read(b"T: 0 (1) P:9 I:1 C: 5 Min:      1 Act:    1 Avg:    1 Max:       1", false);
        assert!(matches!(whole, Ok(Some(Status { max: Some(_), .. }))));
        for damaged in [
            "T: 0 (1) P:9 I:1 C: x Min: 1",
            "T: 0 (1) P:9 I:1 C: 5 Min: nan",
            "T: 0 (1) P:9 I:1 C: nan Min: 1",
            "T: 0 (1) P:9 I:1 C: 5",
        ] {
            assert_eq!(Status::read(damaged.as_bytes(), true), Err(Damaged), "{damaged}");
        }
        for other in ["T: 4 degrees", "policy: fifo: 1272          Avg:  128 Max:    1177", "SET: 1 C: 2 Min: 3"] {
            assert_eq!(Status::read(other.as_bytes(), true), Ok(None), "{other}");
        }
    }
}
