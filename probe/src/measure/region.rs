//! The memory that the measuring process and the supervisor share.
//!
//! Single 32-bit words only: a 64-bit store is two instructions on the smaller
//! boards, so a reader could see half of it. Counters have one writer and are
//! read as differences modulo 2^32; wider values are handed over in closed
//! blocks through a ring, or behind a sequence counter.

use crate::rt::memory::Usage;
use latprobe::{
    histogram::{TAIL_BINS, tail_index},
    spec::Spec,
    stream::{Block, Sample},
};
use std::sync::atomic::{
    AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
    fence,
};

/// Words of a cache line pair: neighbours on some CPUs are fetched together.
const LINE: usize = 32;
const BLOCK_WORDS: usize = 10;
const SAMPLE_WORDS: usize = 8;
const MIN_RING: usize = 64;
const MAX_RING: usize = 4096;

// Words of the common part.
const STOP: usize = 0;
const SCHEDULE: usize = LINE;

// Words at the start of a thread's part.
const STATE: usize = 0;
const TOTALS: usize = 2;
const ENDED_AT: usize = 8;

// Words at the start of a phase's part; ring indices on lines of their own.
const NEGATIVE: usize = 0;
const MISSED: usize = 1;
const USAGE: usize = 2;
const LOST: usize = 6;
const HEAD: usize = 7;
const TAKEN: usize = LINE;
const RING: usize = 2 * LINE;

/// When to sample, decided before the first sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Schedule {
    /// First due times are not before this, in ns.
    pub(crate) start_ns: u64,
    /// First due time that counts is not before this; before it is the warm-up.
    pub(crate) from_ns: u64,
    /// No due time from here on; `u64::MAX`: only cycles end the run.
    pub(crate) until_ns: u64,
    /// Wake-ups of the measuring phase; `u64::MAX`: only time ends the run.
    pub(crate) cycles: u64,
}

impl Schedule {
    /// First due time of a thread with this period and offset: its grid has a point at `from_ns + offset_ns`.
    pub(crate) fn first_due_ns(&self, interval_ns: u64, offset_ns: u64) -> u64 {
        let warm_up_periods = (self.from_ns - self.start_ns) / interval_ns;
        self.from_ns - warm_up_periods * interval_ns + offset_ns
    }
}

/// Why a thread stopped sampling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Its time or cycles were reached.
    Reached,
    /// The supervisor asked.
    Stopped,
    /// It did not sleep any more, so it stopped itself.
    Sleepless,
    /// What a hunt was for has come.
    Hit,
}

/// Sizes of the region's parts.
#[derive(Debug, Clone, Copy)]
struct Layout {
    bins: usize,
    worst: usize,
    ring: usize,
    warm_up: bool,
}

fn lines(words: usize) -> usize {
    words.next_multiple_of(LINE)
}

impl Layout {
    fn of(spec: &Spec) -> Self {
        let blocks = spec.checkpoint_ns.div_ceil(spec.measure.block_ns).saturating_mul(4);
        Self {
            bins: spec.measure.bins as usize,
            worst: spec.measure.worst as usize,
            ring: usize::try_from(blocks).unwrap_or(MAX_RING).clamp(MIN_RING, MAX_RING),
            warm_up: spec.warmup_ns > 0,
        }
    }

    fn phase(&self) -> usize {
        lines(RING + self.ring * BLOCK_WORDS + self.worst * SAMPLE_WORDS + self.bins + TAIL_BINS)
    }

    fn thread(&self) -> usize {
        LINE + self.phase() * if self.warm_up { 2 } else { 1 }
    }
}

/// The whole region.
#[derive(Clone, Copy)]
pub(crate) struct Region {
    words: &'static [AtomicU32],
    layout: Layout,
    threads: usize,
}

impl Region {
    /// Memory that the region of `spec` takes, in bytes.
    pub(crate) fn bytes(spec: &Spec) -> u64 {
        let words = (Layout::of(spec).thread() as u64).saturating_mul(spec.measure.threads.len() as u64);
        words.saturating_mul(size_of::<AtomicU32>() as u64)
    }

    /// A zeroed region that fits `spec`, shared with processes forked later.
    pub(crate) fn new(spec: &Spec) -> std::io::Result<Self> {
        let layout = Layout::of(spec);
        let threads = spec.measure.threads.len();
        let words = layout.thread().checked_mul(threads).and_then(|words| words.checked_add(2 * LINE));
        let words = words.ok_or_else(|| std::io::Error::from_raw_os_error(libc::ENOMEM))?;
        Ok(Self { words: crate::rt::memory::share(words)?, layout, threads })
    }

    /// Writes every page from this process, and changes nothing. Locking maps shared pages only for reading where the
    /// processor does not note writes itself (most ARM cores): the first write to each would fault between samples.
    pub(crate) fn touch(&self) {
        crate::rt::memory::touch(self.words);
    }

    /// The part of thread `index`.
    pub(crate) fn slot(&self, index: usize) -> Slot<'static> {
        let Self { words, layout, .. } = *self;
        let own = &words[2 * LINE + index * layout.thread()..][..layout.thread()];
        let phase = |n: usize| PhaseCounts::new(&own[LINE + n * layout.phase()..][..layout.phase()], layout);
        Slot { stop: &words[STOP], own: &own[..LINE], measuring: phase(0), warm_up: layout.warm_up.then(|| phase(1)) }
    }

    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot<'static>> + '_ {
        (0..self.threads).map(|index| self.slot(index))
    }

    /// Asks every thread to end after its next wake-up.
    pub(crate) fn ask_stop(&self) {
        self.words[STOP].store(1, Relaxed);
    }

    /// Written once, before the threads are let go.
    pub(crate) fn set_schedule(&self, schedule: Schedule) {
        let Schedule { start_ns, from_ns, until_ns, cycles } = schedule;
        for (i, value) in [start_ns, from_ns, until_ns, cycles].into_iter().enumerate() {
            put(&self.words[SCHEDULE + 2 * i..], value);
        }
        fence(Release);
    }

    pub(crate) fn schedule(&self) -> Schedule {
        fence(Acquire);
        let [start_ns, from_ns, until_ns, cycles] = [0, 1, 2, 3].map(|i| get(&self.words[SCHEDULE + 2 * i..]));
        Schedule { start_ns, from_ns, until_ns, cycles }
    }
}

/// One thread's part.
#[derive(Clone, Copy)]
pub(crate) struct Slot<'a> {
    stop: &'a AtomicU32,
    own: &'a [AtomicU32],
    pub(crate) measuring: PhaseCounts<'a>,
    pub(crate) warm_up: Option<PhaseCounts<'a>>,
}

impl Slot<'_> {
    #[inline(always)]
    pub(crate) fn stop_asked(&self) -> bool {
        self.stop.load(Relaxed) != 0
    }

    /// Asks every thread to end, as [`Region::ask_stop`].
    pub(super) fn ask_stop(&self) {
        self.stop.store(1, Relaxed);
    }

    /// Totals (cycles, missed, negative) of the measuring phase and the first due time that was not sampled.
    pub(crate) fn finish(&self, ending: Ending, totals: [u64; 3], ended_at_ns: u64) {
        for (i, total) in totals.into_iter().enumerate() {
            put(&self.own[TOTALS + 2 * i..], total);
        }
        put(&self.own[ENDED_AT..], ended_at_ns);
        let state = match ending {
            Ending::Reached => 1,
            Ending::Stopped => 2,
            Ending::Sleepless => 3,
            Ending::Hit => 4,
        };
        self.own[STATE].store(state, Release);
    }

    /// How the thread ended, its totals, and the first due time that was not sampled; `None` while it runs, or if it was killed.
    pub(crate) fn finished(&self) -> Option<(Ending, [u64; 3], u64)> {
        let ending = match self.own[STATE].load(Acquire) {
            1 => Ending::Reached,
            2 => Ending::Stopped,
            3 => Ending::Sleepless,
            4 => Ending::Hit,
            _ => return None,
        };
        Some((ending, [0, 1, 2].map(|i| get(&self.own[TOTALS + 2 * i..])), get(&self.own[ENDED_AT..])))
    }
}

/// Counts of one thread in one phase.
#[derive(Clone, Copy)]
pub(crate) struct PhaseCounts<'a> {
    head: &'a [AtomicU32],
    ring: &'a [AtomicU32],
    worst: &'a [AtomicU32],
    pub(crate) bins: &'a [AtomicU32],
    pub(crate) tail: &'a [AtomicU32],
}

/// Adds without a read-modify-write instruction: there is one writer.
#[inline(always)]
fn add(word: &AtomicU32, count: u32) {
    word.store(word.load(Relaxed).wrapping_add(count), Relaxed);
}

#[expect(clippy::cast_possible_truncation, reason = "the two halves")]
fn put(words: &[AtomicU32], value: u64) {
    words[0].store(value as u32, Relaxed);
    words[1].store((value >> 32) as u32, Relaxed);
}

#[inline(always)]
fn get(words: &[AtomicU32]) -> u64 {
    u64::from(words[0].load(Relaxed)) | u64::from(words[1].load(Relaxed)) << 32
}

impl<'a> PhaseCounts<'a> {
    fn new(words: &'a [AtomicU32], layout: Layout) -> Self {
        let (head, rest) = words.split_at(RING);
        let (ring, rest) = rest.split_at(layout.ring * BLOCK_WORDS);
        let (worst, rest) = rest.split_at(layout.worst * SAMPLE_WORDS);
        let (bins, rest) = rest.split_at(layout.bins);
        Self { head, ring, worst, bins, tail: &rest[..TAIL_BINS] }
    }

    /// `false`: beyond the linear bins.
    #[inline(always)]
    pub(super) fn add_bin(&self, bin: u64) -> bool {
        match usize::try_from(bin).ok().and_then(|bin| self.bins.get(bin)) {
            Some(word) => add(word, 1),
            None => return false,
        }
        true
    }

    #[cold]
    pub(super) fn add_tail(&self, latency_ns: u64) {
        add(&self.tail[tail_index(latency_ns)], 1);
    }

    pub(super) fn add_negative(&self) {
        add(&self.head[NEGATIVE], 1);
    }

    #[expect(clippy::cast_possible_truncation, reason = "read as differences modulo 2^32")]
    pub(super) fn add_missed(&self, periods: u64) {
        add(&self.head[MISSED], periods as u32);
    }

    /// Adds what happened between two readings.
    pub(super) fn add_usage(&self, before: Usage, now: Usage) {
        for (i, (before, now)) in fields(before).into_iter().zip(fields(now)).enumerate() {
            add(&self.head[USAGE + i], now.wrapping_sub(before));
        }
    }

    /// Negative, missed, and the four counts of [`Usage`], modulo 2^32.
    pub(crate) fn counters(&self) -> [u32; 6] {
        [NEGATIVE, MISSED, USAGE, USAGE + 1, USAGE + 2, USAGE + 3].map(|i| self.head[i].load(Relaxed))
    }

    /// Blocks lost because the ring was full.
    pub(crate) fn lost_blocks(&self) -> u32 {
        self.head[LOST].load(Relaxed)
    }

    pub(super) fn close_block(&self, block: &Block) {
        let head = self.head[HEAD].load(Relaxed);
        if head.wrapping_sub(self.head[TAKEN].load(Acquire)) as usize >= self.ring.len() / BLOCK_WORDS {
            add(&self.head[LOST], 1);
            return;
        }
        let entry = self.entry(head);
        entry[0].store(block.cycles, Relaxed);
        entry[1].store(block.missed, Relaxed);
        for (i, value) in [block.end_mono_ns, block.min_ns, block.max_ns, block.sum_ns].into_iter().enumerate() {
            put(&entry[2 + 2 * i..], value);
        }
        self.head[HEAD].store(head.wrapping_add(1), Release);
    }

    /// The oldest closed block that was not taken yet.
    pub(crate) fn take_block(&self) -> Option<Block> {
        let taken = self.head[TAKEN].load(Relaxed);
        if self.head[HEAD].load(Acquire) == taken {
            return None;
        }
        let entry = self.entry(taken);
        let block = Block {
            cycles: entry[0].load(Relaxed),
            missed: entry[1].load(Relaxed),
            end_mono_ns: get(&entry[2..]),
            min_ns: get(&entry[4..]),
            max_ns: get(&entry[6..]),
            sum_ns: get(&entry[8..]),
        };
        self.head[TAKEN].store(taken.wrapping_add(1), Release);
        Some(block)
    }

    fn entry(&self, index: u32) -> &'a [AtomicU32] {
        // The ring's length need not divide 2^32: indices wrap after 136 years of blocks.
        let at = index as usize % (self.ring.len() / BLOCK_WORDS);
        &self.ring[at * BLOCK_WORDS..][..BLOCK_WORDS]
    }

    pub(crate) fn worst_slots(&self) -> usize {
        self.worst.len() / SAMPLE_WORDS
    }

    pub(super) fn worst_latency(&self, slot: usize) -> u64 {
        // Not by `get`: a slice is not free in a small binary, and this runs over all slots.
        let [low, high] = [2, 3].map(|word| self.worst[slot * SAMPLE_WORDS + word].load(Relaxed));
        u64::from(low) | u64::from(high) << 32
    }

    pub(super) fn put_worst(&self, slot: usize, latency_ns: u64, cycle: u64, mono_ns: u64) {
        let words = &self.worst[slot * SAMPLE_WORDS..][..SAMPLE_WORDS];
        let sequence = words[0].load(Relaxed);
        words[0].store(sequence.wrapping_add(1), Relaxed);
        fence(Release);
        for (i, value) in [latency_ns, cycle, mono_ns].into_iter().enumerate() {
            put(&words[2 + 2 * i..], value);
        }
        words[0].store(sequence.wrapping_add(2), Release);
    }

    /// The sample in a slot with its sequence number, if it differs from `seen` and is not just being written.
    pub(crate) fn worst_since(&self, slot: usize, seen: u32) -> Option<(u32, Sample)> {
        let words = &self.worst[slot * SAMPLE_WORDS..][..SAMPLE_WORDS];
        let sequence = words[0].load(Acquire);
        if sequence == seen || sequence % 2 == 1 {
            return None;
        }
        let [latency_ns, cycle, mono_ns] = [2, 4, 6].map(|i| get(&words[i..]));
        fence(Acquire);
        (words[0].load(Relaxed) == sequence).then_some((sequence, Sample { latency_ns, cycle, mono_ns }))
    }
}

fn fields(usage: Usage) -> [u32; 4] {
    [usage.minor_faults, usage.major_faults, usage.voluntary_switches, usage.involuntary_switches]
}
