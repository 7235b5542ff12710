//! The worst samples of a phase.

use super::PhaseCounts;

/// Keeps the slots of a phase filled with its largest latencies.
pub(super) struct Worst<'a> {
    counts: PhaseCounts<'a>,
    filled: usize,
    /// Slot of the smallest latency kept.
    smallest: usize,
    /// What a sample must reach: 0 until all slots are filled.
    wanted_ns: u64,
}

impl<'a> Worst<'a> {
    pub(super) fn new(counts: PhaseCounts<'a>) -> Self {
        let wanted_ns = if counts.worst_slots() == 0 { u64::MAX } else { 0 };
        Self { counts, filled: 0, smallest: 0, wanted_ns }
    }

    /// Whether a sample is among the worst so far.
    #[inline(always)]
    pub(super) fn wants(&self, latency_ns: u64) -> bool {
        latency_ns >= self.wanted_ns
    }

    /// Takes a sample that is wanted.
    pub(super) fn insert(&mut self, latency_ns: u64, cycle: u64, mono_ns: u64) {
        let slots = self.counts.worst_slots();
        if slots == 0 {
            return;
        }
        let slot = if self.filled < slots { self.filled } else { self.smallest };
        self.counts.put_worst(slot, latency_ns, cycle, mono_ns);
        self.filled = (self.filled + 1).min(slots);
        if self.filled == slots {
            (self.wanted_ns, self.smallest) = (u64::MAX, 0);
            for slot in 0..slots {
                let latency_ns = self.counts.worst_latency(slot);
                if latency_ns < self.wanted_ns {
                    (self.wanted_ns, self.smallest) = (latency_ns, slot);
                }
            }
            self.wanted_ns = self.wanted_ns.saturating_add(1);
        }
    }
}
