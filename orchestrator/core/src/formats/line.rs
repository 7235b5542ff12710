//! Cuts a stream into lines of bounded length, and takes terminal control codes out of them.

use std::io::{self, BufRead};

/// Longer lines are cut here; only lists of overflow cycles are longer, and nothing is read from their end.
pub(super) const MAX_LINE: usize = 1 << 20;

/// One line of text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    /// Number in the file, from 1.
    pub(super) number: u64,
    /// The text without control codes and blanks around it.
    pub(super) text: &'a [u8],
    /// Did a line end follow? The last line of a cut file has none.
    pub(super) ended: bool,
}

/// What the taker of lines wants next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Another line.
    Line,
    /// Nothing more.
    Stop,
}

/// Receives a stream's lines, and whole JSON documents as bytes.
pub(super) trait Taker {
    /// Takes a line.
    fn line(&mut self, line: Line<'_>) -> Next;
    /// Takes whole lines of a known layout from the start of `bytes`; gives how many bytes and lines.
    fn bulk(&mut self, bytes: &[u8]) -> (usize, u64) {
        let _ = bytes;
        (0, 0)
    }
    /// A line opens with a brace. Takes bytes of a document from `bytes`; gives how many it took and whether it goes on.
    fn document(&mut self, bytes: &[u8], line: u64) -> (usize, bool);
}

/// Feeds `reader` to `taker`.
pub(super) fn feed(mut reader: impl BufRead, taker: &mut impl Taker) -> io::Result<()> {
    let mut cutter = Cutter { number: 1, carry: Vec::new(), plain: Vec::new(), in_document: false };
    loop {
        let bytes = reader.fill_buf()?;
        let length = bytes.len();
        if length == 0 {
            break;
        }
        if cutter.bytes(bytes, taker) == Next::Stop {
            return Ok(());
        }
        reader.consume(length);
    }
    if !cutter.carry.is_empty() {
        let carry = std::mem::take(&mut cutter.carry);
        cutter.line(&carry, false, taker);
    }
    Ok(())
}

struct Cutter {
    number: u64,
    /// Start of a line whose end is not read yet.
    carry: Vec<u8>,
    /// A line without its control codes; kept to save allocations.
    plain: Vec<u8>,
    in_document: bool,
}

impl Cutter {
    fn bytes(&mut self, mut bytes: &[u8], taker: &mut impl Taker) -> Next {
        while !bytes.is_empty() {
            if self.in_document || (self.carry.is_empty() && opens_document(bytes)) {
                let (taken, goes_on) = taker.document(bytes, self.number);
                self.in_document = goes_on;
                let (document, rest) = bytes.split_at(taken.min(bytes.len()));
                self.number += newlines(document);
                bytes = rest;
                if goes_on {
                    continue;
                }
            }
            if self.carry.is_empty() && bytes.first().is_some_and(|byte| byte.is_ascii_digit() || *byte == b' ') {
                let (taken, lines) = taker.bulk(bytes);
                self.number += lines;
                bytes = bytes.get(taken..).unwrap_or_default();
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) else {
                self.keep(bytes);
                return Next::Line;
            };
            let (text, rest) = bytes.split_at(end);
            let next = if self.carry.is_empty() {
                self.line(text, true, taker)
            } else {
                self.keep(text);
                let mut carry = std::mem::take(&mut self.carry);
                let next = self.line(&carry, true, taker);
                carry.clear();
                self.carry = carry;
                next
            };
            if next == Next::Stop {
                return Next::Stop;
            }
            self.number += u64::from(rest[0] == b'\n');
            bytes = &rest[1..];
        }
        Next::Line
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = MAX_LINE.saturating_sub(self.carry.len());
        self.carry.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn line(&mut self, text: &[u8], ended: bool, taker: &mut impl Taker) -> Next {
        let text = &text[..text.len().min(MAX_LINE)];
        let number = self.number;
        // A quoted mail: the marks are no part of the lines.
        let quotes = text.iter().take_while(|byte| matches!(byte, b'>' | b' ')).count();
        let text = if text.first() == Some(&b'>') { &text[quotes..] } else { text };
        if memchr::memchr(0x1b, text).is_none() {
            return taker.line(Line { number, text: text.trim_ascii(), ended });
        }
        strip_escapes(text, &mut self.plain);
        taker.line(Line { number, text: self.plain.trim_ascii(), ended })
    }
}

/// A line that begins like a JSON object. What follows decides; a document that is none is given back as lines.
fn opens_document(bytes: &[u8]) -> bool {
    let Some(open) = bytes.iter().position(|byte| !matches!(byte, b' ' | b'\t')) else { return false };
    bytes[open] == b'{' && bytes[open + 1..].iter().find(|b| !b.is_ascii_whitespace()).is_none_or(|b| *b == b'"')
}

fn newlines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).map(|_| 1).sum()
}

/// Copies `text` without terminal control sequences (`ESC [ … letter`, `ESC letter`).
fn strip_escapes(text: &[u8], plain: &mut Vec<u8>) {
    plain.clear();
    let mut rest = text;
    while let Some(at) = memchr::memchr(0x1b, rest) {
        plain.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        let end = match rest.first() {
            Some(b'[') => rest.iter().skip(1).position(|byte| (0x40..=0x7e).contains(byte)).map(|at| at + 2),
            _ => Some(1),
        };
        rest = &rest[end.unwrap_or(rest.len()).min(rest.len())..];
    }
    plain.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Lines(Vec<(u64, String, bool)>);

    impl Taker for Lines {
        fn line(&mut self, line: Line<'_>) -> Next {
            self.0.push((line.number, String::from_utf8_lossy(line.text).into_owned(), line.ended));
            Next::Line
        }
        fn document(&mut self, bytes: &[u8], _: u64) -> (usize, bool) {
            (bytes.iter().position(|byte| *byte == b'}').map_or(bytes.len(), |at| at + 1), !bytes.contains(&b'}'))
        }
    }

    #[test]
    fn lines_do_not_depend_on_how_the_bytes_arrive() {
        let text = b"a\r\n\x1b[4Ab c \rd\n{\"x\":\n1}e\nlast";
        let expected = vec![
            (1, "a".to_owned(), true),
            (1, String::new(), true),
            (2, "b c".to_owned(), true),
            (2, "d".to_owned(), true),
            (4, "e".to_owned(), true),
            (5, "last".to_owned(), false),
        ];
        for size in [1, 2, 3, 7, 100] {
            let mut lines = Lines::default();
            feed(io::BufReader::with_capacity(size, &text[..]), &mut lines).unwrap();
            assert_eq!(lines.0, expected, "buffer of {size}");
        }
    }

    #[test]
    fn a_line_without_end_is_cut() {
        let mut lines = Lines::default();
        feed(io::BufReader::new(&vec![b'x'; 3 * MAX_LINE][..]), &mut lines).unwrap();
        assert_eq!(lines.0.len(), 1);
        assert_eq!(lines.0[0].1.len(), MAX_LINE);
    }
}
