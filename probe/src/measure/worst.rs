//! The worst samples of a phase.

use super::PhaseCounts;

/// Keeps the slots of a phase filled with its largest latencies.
pub(super) struct Worst<'a> {
    counts: PhaseCounts<'a>,
    filled: usize,
    /// Slot of the smallest latency kept, and that latency: what a sample must exceed once all slots are filled.
    smallest: usize,
    threshold_ns: u64,
}

impl<'a> Worst<'a> {
    pub(super) fn new(counts: PhaseCounts<'a>) -> Self {
        Self { counts, filled: 0, smallest: 0, threshold_ns: 0 }
    }

    /// Takes the sample if it is among the worst so far.
    #[inline]
    pub(super) fn offer(&mut self, latency_ns: u64, cycle: u64, mono_ns: u64) {
        if latency_ns > self.threshold_ns || self.filled < self.counts.worst_slots() {
            self.insert(latency_ns, cycle, mono_ns);
        }
    }

    #[cold]
    fn insert(&mut self, latency_ns: u64, cycle: u64, mono_ns: u64) {
        let slots = self.counts.worst_slots();
        if slots == 0 {
            self.threshold_ns = u64::MAX;
            return;
        }
        let slot = if self.filled < slots { self.filled } else { self.smallest };
        self.counts.put_worst(slot, latency_ns, cycle, mono_ns);
        self.filled = (self.filled + 1).min(slots);
        if self.filled == slots {
            let smallest = (0..slots).map(|slot| (self.counts.worst_latency(slot), slot)).min();
            (self.threshold_ns, self.smallest) = smallest.unwrap_or((u64::MAX, 0));
        }
    }
}
