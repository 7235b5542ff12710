//! Framing. A record is
//!
//! | bytes | |
//! | --- | --- |
//! | 4 | magic `A7 4C 4C 1A` |
//! | 1 | kind |
//! | 4 | sequence number, little endian, from 0 |
//! | 4 | length of the payload, at most [`MAX_PAYLOAD`] |
//! | 4 | CRC-32 of the 13 bytes above |
//! | n | payload: JSON, for checkpoints packed varints |
//! | 4 | CRC-32 of the payload |
//!
//! The header has a checksum of its own so that a damaged length cannot swallow what follows.

use super::{Checkpoint, Record, checkpoint};
use serde::{Serialize, de::DeserializeOwned};

const MAGIC: [u8; 4] = [0xA7, 0x4C, 0x4C, 0x1A];
const HEADER: usize = 17;
const TRAILER: usize = 4;
/// Largest payload, in bytes: 1024 threads × 10,000 changed bins fit.
pub const MAX_PAYLOAD: u32 = 64 << 20;

/// Turns records into bytes, numbering them.
#[derive(Debug, Default)]
pub struct Encoder {
    next_sequence: u32,
    payload: Vec<u8>,
}

impl Encoder {
    /// An encoder for a new segment.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends `record` to `out`.
    pub fn append(&mut self, record: &Record, out: &mut Vec<u8>) {
        self.payload.clear();
        let kind = match record {
            Record::Header(value) => self.json(1, value),
            Record::Instrument(value) => self.json(2, value),
            Record::Phase(value) => self.json(3, value),
            Record::Checkpoint(value) => {
                checkpoint::encode(value, &mut self.payload);
                4
            }
            Record::Event(value) => self.json(5, value),
            Record::End(value) => self.json(6, value),
        };
        let start = out.len();
        let length = u32::try_from(self.payload.len()).unwrap_or(u32::MAX);
        debug_assert!(length <= MAX_PAYLOAD);
        out.extend_from_slice(&MAGIC);
        out.push(kind);
        out.extend_from_slice(&self.next_sequence.to_le_bytes());
        out.extend_from_slice(&length.to_le_bytes());
        let header_crc = crc32fast::hash(&out[start..]);
        out.extend_from_slice(&header_crc.to_le_bytes());
        out.extend_from_slice(&self.payload);
        out.extend_from_slice(&crc32fast::hash(&self.payload).to_le_bytes());
        self.next_sequence += 1;
    }

    fn json(&mut self, kind: u8, value: &impl Serialize) -> u8 {
        // Plain structs of numbers and strings: serialisation to memory cannot fail; were it to, the reader names the empty payload as damage.
        if serde_json::to_writer(&mut self.payload, value).is_err() {
            self.payload.clear();
        }
        kind
    }
}

/// A stretch of a stream that could not be used.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Damage {
    /// Offset of its first byte in the segment.
    pub offset: u64,
    /// How many bytes were skipped; 0 when records are missing between two good ones.
    pub bytes: u64,
    /// What was wrong, in plain words.
    pub reason: String,
}

/// Turns bytes into records, in pieces of any size; skips and names what is damaged.
#[derive(Debug, Default)]
pub struct Decoder {
    buffer: Vec<u8>,
    /// Bytes of `buffer` already consumed.
    read: usize,
    /// Stream offset of `buffer[0]`.
    base: u64,
    next_sequence: u32,
    damage: Vec<Damage>,
    /// First byte of the stretch being skipped.
    skipping: Option<(u64, &'static str)>,
}

enum Step {
    Record(Record),
    Skip(usize, &'static str),
    NeedMore,
}

impl Decoder {
    /// A decoder at offset 0 of a segment.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the bytes that follow those given before.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.read > 0 {
            self.buffer.drain(..self.read);
            self.base += self.read as u64;
            self.read = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Offset of the next byte to be decoded: everything before it is final.
    pub fn offset(&self) -> u64 {
        self.base + self.read as u64
    }

    /// The next whole record, or `None` until more bytes are pushed.
    pub fn next_record(&mut self) -> Option<Record> {
        self.advance(false)
    }

    /// After the last push: the records behind a damaged end, if any.
    /// Call until `None`, then [`Self::finish`].
    pub fn next_at_end(&mut self) -> Option<Record> {
        self.advance(true)
    }

    /// What could not be used. Bytes at the end that are no whole record (torn by a reset) are dropped: their number is returned apart.
    pub fn finish(mut self) -> (Vec<Damage>, u64) {
        let torn = (self.buffer.len() - self.read) as u64;
        self.close_gap();
        (self.damage, torn)
    }

    /// Damage seen so far.
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }

    fn advance(&mut self, at_end: bool) -> Option<Record> {
        loop {
            match self.step(at_end) {
                Step::Record(record) => return Some(record),
                Step::Skip(bytes, reason) => {
                    self.skipping.get_or_insert((self.base + self.read as u64, reason));
                    self.read += bytes;
                }
                Step::NeedMore => return None,
            }
        }
    }

    fn step(&mut self, at_end: bool) -> Step {
        let rest = &self.buffer[self.read..];
        if !MAGIC.starts_with(&rest[..rest.len().min(MAGIC.len())]) {
            let next = (1..rest.len()).find(|i| MAGIC.starts_with(&rest[*i..rest.len().min(i + MAGIC.len())]));
            return Step::Skip(next.unwrap_or(rest.len()), "no record starts here");
        }
        let (Some(header), true) = (rest.first_chunk::<HEADER>(), !rest.is_empty()) else {
            return Step::NeedMore;
        };
        let word = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let (kind, sequence, length) = (header[4], word(5), word(9));
        if crc32fast::hash(&header[..HEADER - TRAILER]) != word(13) || length > MAX_PAYLOAD {
            return Step::Skip(1, "damaged record header");
        }
        let end = HEADER + length as usize;
        let Some(record) = rest.get(..end + TRAILER) else {
            // A whole header with too few bytes behind it: still being written, or torn.
            // At the end of a file that went on after damage, a good record may hide inside the claimed length.
            let hidden = at_end && rest[1..].windows(MAGIC.len()).any(|w| w == MAGIC);
            return if hidden { Step::Skip(1, "record cut short") } else { Step::NeedMore };
        };
        let payload = &record[HEADER..end];
        let stored = u32::from_le_bytes([record[end], record[end + 1], record[end + 2], record[end + 3]]);
        if crc32fast::hash(payload) != stored {
            return Step::Skip(1, "damaged record");
        }
        let Some(parsed) = decode(kind, payload) else {
            return Step::Skip(record.len(), "record of unknown kind or content");
        };
        let at = self.offset();
        self.close_gap();
        if sequence != self.next_sequence {
            let reason = format!("record {} follows record {}", sequence, i64::from(self.next_sequence) - 1);
            self.damage.push(Damage { offset: at, bytes: 0, reason });
        }
        self.next_sequence = sequence.wrapping_add(1);
        self.read += end + TRAILER;
        Step::Record(parsed)
    }

    fn close_gap(&mut self) {
        if let Some((offset, reason)) = self.skipping.take() {
            self.damage.push(Damage {
                offset,
                bytes: self.base + self.read as u64 - offset,
                reason: reason.to_owned(),
            });
        }
    }
}

fn decode(kind: u8, payload: &[u8]) -> Option<Record> {
    fn json<T: DeserializeOwned>(payload: &[u8]) -> Option<T> {
        serde_json::from_slice(payload).ok()
    }
    Some(match kind {
        1 => Record::Header(json(payload)?),
        2 => Record::Instrument(json(payload)?),
        3 => Record::Phase(json(payload)?),
        4 => Record::Checkpoint(checkpoint::decode(payload)?),
        5 => Record::Event(json(payload)?),
        6 => Record::End(json(payload)?),
        _ => return None,
    })
}

/// Everything that bytes of one whole segment hold: records, damage, and bytes of a torn last record.
pub fn decode_all(bytes: &[u8]) -> (Vec<Record>, Vec<Damage>, u64) {
    let mut decoder = Decoder::new();
    decoder.push(bytes);
    let mut records = Vec::new();
    while let Some(record) = decoder.next_at_end() {
        records.push(record);
    }
    let (damage, torn) = decoder.finish();
    (records, damage, torn)
}

/// Encodes `records` as one segment.
pub fn encode_all(records: &[Record]) -> Vec<u8> {
    let (mut encoder, mut out) = (Encoder::new(), Vec::new());
    records.iter().for_each(|record| encoder.append(record, &mut out));
    out
}

impl From<Checkpoint> for Record {
    fn from(value: Checkpoint) -> Self {
        Record::Checkpoint(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{Event, EventKind, Phase, PhaseKind, ThreadDelta};
    use proptest::prelude::*;

    fn records(n: u64) -> Vec<Record> {
        (0..n)
            .map(|i| match i % 3 {
                0 => Record::Phase(Phase { kind: PhaseKind::Measuring, mono_ns: i }),
                1 => Record::Event(Event {
                    mono_ns: i,
                    kind: EventKind::Note,
                    subject: "x".into(),
                    detail: "\u{a7}LL".into(),
                }),
                _ => {
                    let thread =
                        ThreadDelta { thread: 3, bins: vec![(1, 5), (900, 1)], missed: i << 40, ..Default::default() };
                    Checkpoint { mono_ns: u64::MAX - i, threads: vec![thread], ..Default::default() }.into()
                }
            })
            .collect()
    }

    #[test]
    fn a_damaged_record_is_skipped_and_named() {
        let all = records(9);
        let mut bytes = encode_all(&all);
        let third = encode_all(&all[..2]).len();
        bytes[third + HEADER] ^= 1;
        let (read, damage, torn) = decode_all(&bytes);
        assert_eq!(read.len(), 8);
        assert_eq!(torn, 0);
        assert_eq!(damage.len(), 2, "{damage:?}");
        assert_eq!((damage[0].offset, damage[0].reason.as_str()), (third as u64, "damaged record"));
        assert_eq!(damage[1].reason, "record 3 follows record 1");
    }

    proptest! {
        #[test]
        fn whatever_is_cut_off_the_rest_is_whole(n in 1u64..12, cut in 0usize..2000, piece in 1usize..64) {
            let all = records(n);
            let bytes = encode_all(&all);
            let bytes = &bytes[..bytes.len().saturating_sub(cut % bytes.len())];
            let mut decoder = Decoder::new();
            let mut read = Vec::new();
            for part in bytes.chunks(piece) {
                decoder.push(part);
                while let Some(record) = decoder.next_record() { read.push(record); }
            }
            while let Some(record) = decoder.next_at_end() { read.push(record); }
            let final_offset = decoder.offset();
            let (damage, torn) = decoder.finish();
            prop_assert!(damage.is_empty());
            prop_assert_eq!(&read[..], &all[..read.len()]);
            prop_assert_eq!(final_offset + torn, bytes.len() as u64);
            prop_assert!(read.len() + 1 >= all.len() || torn > 0 || cut > 0);
        }

        #[test]
        fn one_flipped_bit_costs_at_most_its_own_record(n in 2u64..12, at in 0usize..5000, bit in 0u8..8) {
            let all = records(n);
            let mut bytes = encode_all(&all);
            let at = at % bytes.len();
            bytes[at] ^= 1 << bit;
            let (read, damage, torn) = decode_all(&bytes);
            prop_assert_eq!(read.len(), all.len() - 1);
            prop_assert!(!damage.is_empty() || torn > 0);
            prop_assert!(read.iter().all(|r| all.contains(r)));
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let mut framed = MAGIC.to_vec();
            framed.extend(&bytes);
            decode_all(&bytes);
            decode_all(&framed);
            checkpoint::decode(&bytes);
        }
    }
}
