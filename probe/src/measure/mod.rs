//! The measuring loop. Nothing here allocates, locks or does I/O; one wait and
//! one clock read per sample, and nothing shared is touched between the two.

mod process;
mod region;
mod selftest;
mod thread;
mod worst;

#[cfg(test)]
mod tests;

pub(crate) use process::{Report, serve};
pub(crate) use region::{Ending, PhaseCounts, Region, Schedule, Slot};
pub(crate) use selftest::selftest;

use crate::rt::memory::Usage;
use latprobe::{histogram::tail_index, stream::Block};
use worst::Worst;

/// Time as the loop sees it; a test replaces it by a simulation.
pub(crate) trait Clock {
    /// `CLOCK_MONOTONIC`, in ns.
    fn now_ns(&self) -> u64;
    /// Waits until `due_ns`; `last_ns` is the clock read before. How many periods the timer itself counted (≥ 1).
    fn wait(&mut self, due_ns: u64, last_ns: u64) -> u64;
    /// Faults and context switches of the calling thread so far.
    fn usage(&self) -> Usage;
}

/// How the next due time follows from this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stepping {
    /// On the grid of the interval; periods that passed meanwhile are missed.
    Grid,
    /// One interval after the wake-up.
    FromWake,
    /// As many intervals as the timer counted.
    Timer,
}

/// Cycles without a single voluntary switch after which a thread may stop itself …
const MAX_SLEEPLESS_CYCLES: u32 = 10_000;
/// … if they took at least this long, in ns.
const MAX_SLEEPLESS_NS: u64 = 1_000_000_000;

/// One sampling thread's own state; what others may read is in its [`Slot`].
pub(crate) struct Sampler<'a> {
    slot: Slot<'a>,
    stepping: Stepping,
    interval_ns: u64,
    width: Divider,
    block_ns: u64,
    /// Programmed wake-up, in ns.
    due_ns: u64,
    /// Last clock read, in ns.
    now_ns: u64,
    block: Block,
    usage: Usage,
    sleepless_cycles: u32,
    sleepless_since_ns: u64,
}

/// What the loop counts in one phase.
struct Phase<'a> {
    counts: PhaseCounts<'a>,
    worst: Worst<'a>,
    until_ns: u64,
    cycles: u64,
    missed: u64,
    negative: u64,
}

impl<'a> Sampler<'a> {
    pub(crate) fn new(
        slot: Slot<'a>,
        stepping: Stepping,
        interval_ns: u64,
        bin_width_ns: u64,
        block_ns: u64,
        first_due_ns: u64,
    ) -> Self {
        Self {
            slot,
            stepping,
            interval_ns,
            width: Divider::new(bin_width_ns),
            block_ns,
            due_ns: first_due_ns,
            now_ns: 0,
            block: Block::default(),
            usage: Usage::default(),
            sleepless_cycles: 0,
            sleepless_since_ns: 0,
        }
    }

    /// Samples from the first due time: the warm-up until `schedule.from_ns`, then the phase that counts.
    pub(crate) fn run(&mut self, clock: &mut impl Clock, schedule: Schedule) {
        let first_due_ns = self.due_ns;
        self.now_ns = clock.now_ns();
        (self.usage, self.sleepless_since_ns) = (clock.usage(), self.now_ns);
        let warm_up = self.slot.warm_up.map(|counts| Phase::new(counts, schedule.from_ns));
        let ending = warm_up.map_or(Ending::Reached, |mut phase| self.sample(clock, &mut phase, u64::MAX));
        let mut phase = Phase::new(self.slot.measuring, schedule.until_ns);
        if self.stepping != Stepping::FromWake {
            // Periods of this phase that passed while the last wake-up of the warm-up was late.
            let first_ns = schedule.from_ns + self.due_ns.saturating_sub(schedule.from_ns) % self.interval_ns;
            self.miss(&mut phase, first_ns.max(first_due_ns));
        }
        let ending = match ending {
            Ending::Reached => self.sample(clock, &mut phase, schedule.cycles),
            stopped => stopped,
        };
        self.slot.finish(ending, [phase.cycles, phase.missed, phase.negative], self.due_ns.min(schedule.until_ns));
    }

    fn sample(&mut self, clock: &mut impl Clock, phase: &mut Phase<'_>, cycles: u64) -> Ending {
        let mut block_end_ns = self.due_ns.saturating_add(self.block_ns);
        let ending = loop {
            if self.due_ns >= phase.until_ns || phase.cycles + phase.negative >= cycles {
                break Ending::Reached;
            }
            let expirations = clock.wait(self.due_ns, self.now_ns);
            self.now_ns = clock.now_ns();
            self.count(phase);
            self.step(phase, expirations);
            if self.now_ns >= block_end_ns {
                block_end_ns = self.now_ns - (self.now_ns - block_end_ns) % self.block_ns + self.block_ns;
                self.close_block(phase, clock.usage());
                if self.is_sleepless() {
                    break Ending::Sleepless;
                }
            }
            if self.slot.stop_asked() {
                break Ending::Stopped;
            }
        };
        self.close_block(phase, clock.usage());
        ending
    }

    #[inline]
    fn count(&mut self, phase: &mut Phase<'_>) {
        let Some(latency_ns) = self.now_ns.checked_sub(self.due_ns) else {
            phase.negative += 1;
            phase.counts.add_negative();
            return;
        };
        if !phase.counts.add_bin(self.width.divide(latency_ns)) {
            phase.counts.add_tail(tail_index(latency_ns));
        }
        let block = &mut self.block;
        block.min_ns = if block.cycles == 0 { latency_ns } else { block.min_ns.min(latency_ns) };
        block.max_ns = block.max_ns.max(latency_ns);
        block.sum_ns += latency_ns;
        block.cycles += 1;
        phase.worst.offer(latency_ns, phase.cycles, self.now_ns);
        phase.cycles += 1;
    }

    #[inline]
    fn step(&mut self, phase: &mut Phase<'_>, expirations: u64) {
        match self.stepping {
            Stepping::FromWake => self.due_ns = self.now_ns + self.interval_ns,
            Stepping::Grid => {
                let first_ns = self.due_ns + self.interval_ns;
                self.due_ns = first_ns;
                if self.now_ns > first_ns {
                    self.due_ns += (self.now_ns - first_ns).div_ceil(self.interval_ns) * self.interval_ns;
                    self.miss(phase, first_ns);
                }
            }
            Stepping::Timer => {
                let first_ns = self.due_ns + self.interval_ns;
                self.due_ns += expirations * self.interval_ns;
                self.miss(phase, first_ns);
            }
        }
    }

    /// Counts the periods due from `first_ns` to before the next due time that belong to this phase.
    fn miss(&mut self, phase: &mut Phase<'_>, first_ns: u64) {
        let periods = self.due_ns.min(phase.until_ns).saturating_sub(first_ns).div_ceil(self.interval_ns);
        if periods > 0 {
            phase.missed += periods;
            phase.counts.add_missed(periods);
            self.block.missed = self.block.missed.saturating_add(u32::try_from(periods).unwrap_or(u32::MAX));
        }
    }

    /// Hands the block over with the faults and switches in it: one system call a block, cheaper and
    /// quieter than letting another process read `/proc`, which takes locks of this thread.
    fn close_block(&mut self, phase: &Phase<'_>, usage: Usage) {
        let switches = usage.voluntary_switches.wrapping_sub(self.usage.voluntary_switches);
        if switches > 0 {
            (self.sleepless_cycles, self.sleepless_since_ns) = (0, self.now_ns);
        } else {
            self.sleepless_cycles = self.sleepless_cycles.saturating_add(self.block.cycles);
        }
        phase.counts.add_usage(self.usage, usage);
        self.usage = usage;
        if self.block.cycles > 0 || self.block.missed > 0 {
            self.block.end_mono_ns = self.now_ns;
            phase.counts.close_block(&self.block);
            self.block = Block::default();
        }
    }

    fn is_sleepless(&self) -> bool {
        self.sleepless_cycles >= MAX_SLEEPLESS_CYCLES
            && self.now_ns.saturating_sub(self.sleepless_since_ns) > MAX_SLEEPLESS_NS
    }
}

impl<'a> Phase<'a> {
    fn new(counts: PhaseCounts<'a>, until_ns: u64) -> Self {
        Self { counts, worst: Worst::new(counts), until_ns, cycles: 0, missed: 0, negative: 0 }
    }
}

/// Division by the bin width. A 32-bit board has no instruction for it: multiply by the reciprocal instead.
#[derive(Debug, Clone, Copy)]
struct Divider {
    by: u64,
    reciprocal: u64,
}

impl Divider {
    fn new(by: u64) -> Self {
        Self { by, reciprocal: (1 << 32) / by }
    }

    #[inline]
    fn divide(self, value: u64) -> u64 {
        if value >> 32 != 0 {
            return value / self.by;
        }
        // Too small by less than one.
        let quotient = (value * self.reciprocal) >> 32;
        quotient + u64::from(value - quotient * self.by >= self.by)
    }
}
