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
use latprobe::stream::Block;
use worst::Worst;

/// Time as the loop sees it; a test replaces it by a simulation.
pub(crate) trait Clock {
    /// `CLOCK_MONOTONIC`, in ns.
    fn now_ns(&self) -> u64;
    /// Waits until `due_ns`; `last_ns` is the clock read before. How many periods the timer itself counted (≥ 1).
    fn wait(&mut self, due_ns: u64, last_ns: u64) -> u64;
    /// Faults and context switches of the calling thread so far.
    fn usage(&self) -> Usage;
    /// Ends the kernel's tracing, with this as the last entry. Called once, after the last sample.
    fn stop_tracing(&mut self, latency_ns: u64, due_ns: u64);
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

/// What a thread does in a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// Counts its wake-up; a latency of at least `hunted_ns` is the last.
    Sample { hunted_ns: u64 },
    /// Is busy for so long, in ns, and counts the gaps.
    Spin { busy_ns: u64 },
}

/// Cycles without a single voluntary switch after which a thread may stop itself …
const MAX_SLEEPLESS_CYCLES: u32 = 10_000;
/// … if they took at least this long, in ns.
const MAX_SLEEPLESS_NS: u64 = 1_000_000_000;

/// One sampling thread's own state; what others may read is in its [`Slot`].
pub(crate) struct Sampler<'a> {
    slot: Slot<'a>,
    stepping: Stepping,
    work: Work,
    interval_ns: u64,
    width: Divider,
    block_ns: u64,
    /// Programmed wake-up, in ns.
    due_ns: u64,
    /// Last clock read, in ns.
    now_ns: u64,
    usage: Usage,
    sleepless_cycles: u32,
    sleepless_since_ns: u64,
}

/// What the loop counts in one phase.
struct Phase<'a> {
    counts: PhaseCounts<'a>,
    worst: Worst<'a>,
    until_ns: u64,
    /// Wake-ups, negative ones too.
    wakeups: u64,
    missed: u64,
    negative: u64,
    /// A latency of at least this ends the phase, in ns.
    hunted_ns: u64,
    /// The one that did.
    hit: Option<Hit>,
    block: Tally,
}

/// What a hunt was for.
#[derive(Debug, Clone, Copy)]
struct Hit {
    latency_ns: u64,
    due_ns: u64,
}

/// The block that is not closed yet.
struct Tally {
    /// Cycles of the phase before it.
    cycles_before: u64,
    missed_before: u64,
    min_ns: u64,
    max_ns: u64,
    sum_ns: u64,
}

impl<'a> Sampler<'a> {
    pub(crate) fn new(
        slot: Slot<'a>,
        (stepping, work): (Stepping, Work),
        interval_ns: u64,
        bin_width_ns: u64,
        block_ns: u64,
        first_due_ns: u64,
    ) -> Self {
        Self {
            slot,
            stepping,
            work,
            interval_ns,
            width: Divider::new(bin_width_ns),
            block_ns,
            due_ns: first_due_ns,
            now_ns: 0,
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
        let ending = warm_up.map_or(Ending::Reached, |mut phase| self.fill(clock, &mut phase, u64::MAX));
        let mut phase = Phase::new(self.slot.measuring, schedule.until_ns);
        if self.stepping != Stepping::FromWake {
            // Periods of this phase that passed while the last wake-up of the warm-up was late.
            let first_ns = schedule.from_ns + self.due_ns.saturating_sub(schedule.from_ns) % self.interval_ns;
            self.miss(&mut phase, first_ns.max(first_due_ns));
        }
        let ending = match ending {
            Ending::Reached => {
                if let Work::Sample { hunted_ns } = self.work {
                    phase.hunted_ns = hunted_ns;
                }
                self.fill(clock, &mut phase, schedule.cycles)
            }
            stopped => stopped,
        };
        self.slot.finish(ending, [phase.cycles(), phase.missed, phase.negative], self.due_ns.min(schedule.until_ns));
    }

    fn fill(&mut self, clock: &mut impl Clock, phase: &mut Phase<'_>, cycles: u64) -> Ending {
        match self.work {
            Work::Sample { .. } => self.sample(clock, phase, cycles),
            Work::Spin { busy_ns } => self.spin(clock, phase, busy_ns),
        }
    }

    fn sample(&mut self, clock: &mut impl Clock, phase: &mut Phase<'_>, cycles: u64) -> Ending {
        let mut block_end_ns = self.due_ns.saturating_add(self.block_ns);
        let ending = loop {
            if self.due_ns >= phase.until_ns || phase.wakeups >= cycles {
                break Ending::Reached;
            }
            let expirations = clock.wait(self.due_ns, self.now_ns);
            self.now_ns = clock.now_ns();
            self.count(phase, self.due_ns);
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
        let ending = match phase.hit {
            Some(Hit { latency_ns, due_ns }) => {
                clock.stop_tracing(latency_ns, due_ns);
                Ending::Hit
            }
            None => ending,
        };
        self.close_block(phase, clock.usage());
        ending
    }

    /// Busy from each due time on; what passes between two clock reads is counted. A period in which the CPU was
    /// not had at all is a missed one.
    fn spin(&mut self, clock: &mut impl Clock, phase: &mut Phase<'_>, busy_ns: u64) -> Ending {
        let mut block_end_ns = self.due_ns.saturating_add(self.block_ns);
        let ending = loop {
            if self.due_ns >= phase.until_ns {
                break Ending::Reached;
            }
            let expirations = clock.wait(self.due_ns, self.now_ns);
            self.now_ns = clock.now_ns();
            let end_ns = (self.due_ns + busy_ns).min(phase.until_ns);
            while self.now_ns < end_ns {
                let before_ns = self.now_ns;
                self.now_ns = clock.now_ns();
                self.count(phase, before_ns);
            }
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

    #[inline(always)]
    fn count(&mut self, phase: &mut Phase<'_>, from_ns: u64) {
        phase.wakeups += 1;
        let Some(latency_ns) = self.now_ns.checked_sub(from_ns) else { return phase.count_negative() };
        if !phase.counts.add_bin(self.width.divide(latency_ns)) {
            phase.counts.add_tail(latency_ns);
        }
        // Branches: both are rare, a conditional store each cycle is not cheaper.
        if latency_ns < phase.block.min_ns {
            phase.block.min_ns = latency_ns;
        }
        if latency_ns > phase.block.max_ns {
            phase.block.max_ns = latency_ns;
        }
        phase.block.sum_ns += latency_ns;
        if phase.worst.wants(latency_ns) {
            self.keep(phase, latency_ns);
        }
    }

    /// Keeps one of the worst samples. What is hunted is worse than all before it, so that looking for it costs the loop nothing.
    #[cold]
    fn keep(&self, phase: &mut Phase<'_>, latency_ns: u64) {
        phase.worst.insert(latency_ns, phase.cycles() - 1, self.now_ns);
        if latency_ns >= phase.hunted_ns && phase.hit.is_none() {
            phase.hit = Some(Hit { latency_ns, due_ns: self.due_ns });
            // This thread and all others end after their next look.
            self.slot.ask_stop();
        }
    }

    #[inline(always)]
    fn step(&mut self, phase: &mut Phase<'_>, expirations: u64) {
        let first_ns = self.due_ns + self.interval_ns;
        if self.stepping == Stepping::Grid {
            self.due_ns = first_ns;
            if self.now_ns > first_ns {
                self.skip(phase, (self.now_ns - first_ns).div_ceil(self.interval_ns));
            }
        } else if self.stepping == Stepping::FromWake {
            self.due_ns = self.now_ns + self.interval_ns;
        } else {
            self.due_ns = first_ns;
            self.skip(phase, expirations - 1);
        }
    }

    /// Moves the due time on by periods that are missed.
    #[cold]
    fn skip(&mut self, phase: &mut Phase<'_>, periods: u64) {
        let first_ns = self.due_ns;
        self.due_ns += periods * self.interval_ns;
        self.miss(phase, first_ns);
    }

    /// Counts the periods due from `first_ns` to before the next due time that belong to this phase.
    fn miss(&mut self, phase: &mut Phase<'_>, first_ns: u64) {
        let periods = self.due_ns.min(phase.until_ns).saturating_sub(first_ns).div_ceil(self.interval_ns);
        if periods > 0 {
            phase.missed += periods;
            phase.counts.add_missed(periods);
        }
    }

    /// Hands the block over with the faults and switches in it: one system call a block, cheaper and
    /// quieter than letting another process read `/proc`, which takes locks of this thread.
    fn close_block(&mut self, phase: &mut Phase<'_>, usage: Usage) {
        let block = phase.close_block(self.now_ns);
        let switches = usage.voluntary_switches.wrapping_sub(self.usage.voluntary_switches);
        if switches > 0 {
            (self.sleepless_cycles, self.sleepless_since_ns) = (0, self.now_ns);
        } else {
            self.sleepless_cycles = self.sleepless_cycles.saturating_add(block.cycles);
        }
        phase.counts.add_usage(self.usage, usage);
        self.usage = usage;
        if block.cycles > 0 || block.missed > 0 {
            phase.counts.close_block(&block);
        }
    }

    fn is_sleepless(&self) -> bool {
        self.sleepless_cycles >= MAX_SLEEPLESS_CYCLES
            && self.now_ns.saturating_sub(self.sleepless_since_ns) > MAX_SLEEPLESS_NS
    }
}

impl<'a> Phase<'a> {
    fn new(counts: PhaseCounts<'a>, until_ns: u64) -> Self {
        let (wakeups, missed, negative) = (0, 0, 0);
        let (hunted_ns, hit, block) = (u64::MAX, None, Tally::from(0, 0));
        Self { counts, worst: Worst::new(counts), until_ns, wakeups, missed, negative, hunted_ns, hit, block }
    }

    #[inline(always)]
    fn cycles(&self) -> u64 {
        self.wakeups - self.negative
    }

    #[cold]
    fn count_negative(&mut self) {
        self.negative += 1;
        self.counts.add_negative();
    }

    /// What was counted since the block before; the next one begins.
    fn close_block(&mut self, end_mono_ns: u64) -> Block {
        let (cycles, missed) = (self.cycles(), self.missed);
        let next = Tally::from(cycles, missed);
        let Tally { cycles_before, missed_before, min_ns, max_ns, sum_ns } = std::mem::replace(&mut self.block, next);
        let since = |now: u64, before: u64| u32::try_from(now - before).unwrap_or(u32::MAX);
        let (cycles, missed) = (since(cycles, cycles_before), since(missed, missed_before));
        let min_ns = if cycles == 0 { 0 } else { min_ns };
        Block { end_mono_ns, cycles, missed, min_ns, max_ns, sum_ns }
    }
}

impl Tally {
    fn from(cycles_before: u64, missed_before: u64) -> Self {
        Self { cycles_before, missed_before, min_ns: u64::MAX, max_ns: 0, sum_ns: 0 }
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
        Self { by, reciprocal: u64::MAX / by }
    }

    #[inline(always)]
    fn divide(self, value: u64) -> u64 {
        if value >= u64::from(u32::MAX) {
            return value / self.by;
        }
        // ⌊(2^64 - 1) / by⌋ · (value + 1) / 2^64: its error is below 1 / by as long as both are below 2^32,
        // and a wider bin has every such value in bin 0.
        let factor = value + 1;
        #[cfg(target_pointer_width = "64")]
        return ((u128::from(self.reciprocal) * u128::from(factor)) >> 64) as u64;
        #[cfg(target_pointer_width = "32")]
        {
            let low = (self.reciprocal & u64::from(u32::MAX)) * factor;
            ((self.reciprocal >> 32) * factor + (low >> 32)) >> 32
        }
    }
}
