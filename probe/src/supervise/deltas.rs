//! What the sampling threads counted since the checkpoint before.

use crate::measure::{PhaseCounts, Region, Slot};
use latprobe::stream::{ThreadDelta, ThreadTotals};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Reads the shared region as differences.
pub(crate) struct Deltas {
    threads: Vec<(Slot<'static>, PhaseReader, Option<PhaseReader>)>,
}

impl Deltas {
    pub(crate) fn new(region: Region) -> Self {
        let reader = |slot: Slot<'static>| (slot, PhaseReader::new(slot.measuring), slot.warm_up.map(PhaseReader::new));
        Self { threads: region.slots().map(reader).collect() }
    }

    /// New counts of the warm-up, by thread.
    pub(crate) fn warm_up(&mut self) -> Vec<ThreadDelta> {
        let readers = self.threads.iter_mut().enumerate();
        readers.filter_map(|(i, (slot, _, reader))| reader.as_mut()?.take(i, slot.warm_up?)).collect()
    }

    /// New counts of the measuring phase, by thread.
    pub(crate) fn measuring(&mut self) -> Vec<ThreadDelta> {
        let readers = self.threads.iter_mut().enumerate();
        readers.filter_map(|(i, (slot, reader, _))| reader.take(i, slot.measuring)).collect()
    }

    /// Blocks lost so far because they were not taken in time.
    pub(crate) fn lost_blocks(&self) -> u64 {
        let lost = |counts: PhaseCounts<'_>| u64::from(counts.lost_blocks());
        self.threads.iter().map(|(slot, ..)| lost(slot.measuring) + slot.warm_up.map_or(0, lost)).sum()
    }

    /// The threads' own totals; of one that was killed, what was read of it.
    pub(crate) fn totals(&self) -> Vec<ThreadTotals> {
        let totals = |(slot, reader, _): &(Slot<'static>, PhaseReader, _)| {
            let [cycles, missed, negative] = slot.finished().map_or(reader.totals, |(_, totals, _)| totals);
            ThreadTotals { cycles, missed, negative }
        };
        self.threads.iter().map(totals).collect()
    }
}

/// Last seen values of one thread in one phase.
struct PhaseReader {
    bins: Seen,
    tail: Seen,
    counters: [u32; 6],
    worst: Vec<u32>,
    /// Cycles, missed, negative so far.
    totals: [u64; 3],
}

impl PhaseReader {
    fn new(counts: PhaseCounts<'_>) -> Self {
        Self {
            bins: Seen::default(),
            tail: Seen::default(),
            counters: [0; 6],
            worst: vec![0; counts.worst_slots()],
            totals: [0; 3],
        }
    }

    fn take(&mut self, thread: usize, counts: PhaseCounts<'_>) -> Option<ThreadDelta> {
        let mut delta = ThreadDelta { thread: u32::try_from(thread).ok()?, ..Default::default() };
        // Blocks first: what is counted after them belongs to the next checkpoint's blocks at the earliest.
        delta.blocks = std::iter::from_fn(|| counts.take_block()).collect();
        for (slot, seen) in self.worst.iter_mut().enumerate() {
            if let Some((sequence, sample)) = counts.worst_since(slot, *seen) {
                *seen = sequence;
                delta.worst.push(sample);
            }
        }
        delta.bins = self.bins.differences(counts.bins);
        delta.tail = self.tail.differences(counts.tail);
        let now = counts.counters();
        let [negative, missed, minor, major, voluntary, involuntary] =
            std::array::from_fn(|i| now[i].wrapping_sub(self.counters[i]));
        self.counters = now;
        delta.negative = negative;
        delta.missed = missed.into();
        delta.minor_faults = minor.into();
        delta.major_faults = major.into();
        delta.voluntary_switches = voluntary.into();
        delta.involuntary_switches = involuntary.into();
        let cycles: u64 = delta.bins.iter().chain(&delta.tail).map(|(_, count)| u64::from(*count)).sum();
        for (total, new) in self.totals.iter_mut().zip([cycles, delta.missed, negative.into()]) {
            *total += new;
        }
        let nothing = ThreadDelta { thread: delta.thread, ..Default::default() };
        (delta != nothing).then_some(delta)
    }
}

/// Words of a [`Seen`]'s chunk.
const CHUNK: usize = 128;

/// Last seen values of many words, most of which stay 0: chunks that were never touched take no memory, which is locked.
#[derive(Default)]
struct Seen(Vec<Option<Box<[u32; CHUNK]>>>);

impl Seen {
    /// (index, increase) of the words that changed since.
    fn differences(&mut self, words: &[AtomicU32]) -> Vec<(u32, u32)> {
        self.0.resize_with(words.len().div_ceil(CHUNK), || None);
        let mut new = Vec::new();
        for ((first, words), seen) in (0..).step_by(CHUNK).zip(words.chunks(CHUNK)).zip(&mut self.0) {
            for (offset, word) in words.iter().enumerate() {
                let (now, before) = (word.load(Relaxed), seen.as_ref().map_or(0, |seen| seen[offset]));
                if now != before {
                    seen.get_or_insert_with(|| Box::new([0; CHUNK]))[offset] = now;
                    new.push((first + u32::try_from(offset).unwrap_or(u32::MAX), now.wrapping_sub(before)));
                }
            }
        }
        new
    }
}
