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
    bins: Vec<u32>,
    tail: Vec<u32>,
    counters: [u32; 6],
    worst: Vec<u32>,
    /// Cycles, missed, negative so far.
    totals: [u64; 3],
}

impl PhaseReader {
    fn new(counts: PhaseCounts<'_>) -> Self {
        Self {
            bins: vec![0; counts.bins.len()],
            tail: vec![0; counts.tail.len()],
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
        delta.bins = differences(counts.bins, &mut self.bins);
        delta.tail = differences(counts.tail, &mut self.tail);
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

fn differences(words: &[AtomicU32], seen: &mut [u32]) -> Vec<(u32, u32)> {
    let mut new = Vec::new();
    for (index, (word, before)) in (0..).zip(words.iter().zip(seen)) {
        let now = word.load(Relaxed);
        if now != *before {
            new.push((index, now.wrapping_sub(*before)));
            *before = now;
        }
    }
    new
}
