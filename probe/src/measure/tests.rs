//! The loop under a simulated clock.

use super::*;
use crate::{rt::alloc::allocations, supervise::Deltas};
use latprobe::{
    histogram::{Histogram, tail_index},
    spec::{CpuDmaLatency, Length, Measure, Mode, Policy, SPEC_FORMAT, Sleep, Spec, Thread},
    stream::{Block, Checkpoint, Folded, Header, Record, STREAM_FORMAT, fold::fold_bytes, wire::encode_all},
};
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
const MEASURE: (Stepping, Work) = (Stepping::Grid, Work::Sample { hunted_ns: u64::MAX });

/// Wakes each sleeper late by the next of `lateness_ns`, and by the last one from then on.
struct Simulated<'a> {
    now_ns: u64,
    lateness_ns: &'a [i64],
    waits: u32,
    /// Each wait is a voluntary switch to the kernel.
    sleeps: bool,
    at_wait: &'a mut dyn FnMut(u32),
    /// Latency and due time that tracing was stopped for.
    stopped: Option<(u64, u64)>,
}

impl Clock for Simulated<'_> {
    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn wait(&mut self, due_ns: u64, _: u64) -> u64 {
        (self.at_wait)(self.waits);
        self.waits += 1;
        let late = self.lateness_ns.first().copied().unwrap_or(0);
        if self.lateness_ns.len() > 1 {
            self.lateness_ns = &self.lateness_ns[1..];
        }
        self.now_ns = due_ns.saturating_add_signed(late);
        1
    }

    fn usage(&self) -> Usage {
        Usage { voluntary_switches: if self.sleeps { self.waits } else { 0 }, ..Default::default() }
    }

    fn stop_tracing(&mut self, latency_ns: u64, due_ns: u64) {
        assert!(self.stopped.is_none());
        self.stopped = Some((latency_ns, due_ns));
    }
}

fn spec(threads: usize, bins: u32, worst: u32, warmup_ns: u64) -> Spec {
    Spec {
        format: SPEC_FORMAT,
        first_segment: 0,
        run_id: "simulated".into(),
        measure: Measure {
            threads: vec![Thread { cpu: None, interval_ns: MS, offset_ns: 0 }; threads],
            policy: Policy::Other,
            priority: 0,
            mlock: false,
            bin_width_ns: 1000,
            bins,
            worst,
            block_ns: SECOND,
            sleep: Sleep::Absolute,
            cpu_dma_latency: CpuDmaLatency::None,
            mode: Mode::Measure,
        },
        length: Length::Cycles(1),
        warmup_ns,
        deadline_ns: SECOND,
        checkpoint_ns: SECOND,
        sync_ns: SECOND,
        housekeeping_cpus: vec![],
        loads: vec![],
        apply: vec![],
        halt: vec![],
        lower_from: None,
        accept: vec![],
    }
}

fn header(spec: &Spec) -> Record {
    Record::Header(Header {
        format: STREAM_FORMAT,
        run_id: spec.run_id.clone(),
        segment: 0,
        probe_version: String::new(),
        boot_id: String::new(),
        kernel_release: String::new(),
        mono_ns: 0,
        realtime_ns: 0,
        bin_width_ns: spec.measure.bin_width_ns,
        bins: spec.measure.bins,
        worst: spec.measure.worst,
        loads: vec![],
    })
}

fn checkpoint(deltas: &mut Deltas, mono_ns: u64) -> [Record; 2] {
    let warm_up = Checkpoint { warm_up: true, mono_ns, threads: deltas.warm_up(), ..Default::default() };
    [warm_up.into(), Checkpoint { mono_ns, threads: deltas.measuring(), ..Default::default() }.into()]
}

/// One thread from time `start_ns` on; the result as the host would fold it.
fn simulate(schedule: Schedule, warmup_ns: u64, bins: u32, lateness_ns: &[i64]) -> (Folded, Slot<'static>) {
    let spec = spec(1, bins, 4, warmup_ns);
    let region = Region::new(&spec).unwrap();
    region.set_schedule(schedule);
    assert_eq!(region.schedule(), schedule);
    let mut deltas = Deltas::new(region);
    let mut records = vec![header(&spec)];
    // Blocks are taken before the ring is full, as the supervisor does.
    let mut at_wait = |wait: u32| {
        if wait % 1000 == 999 {
            records.extend(checkpoint(&mut deltas, wait.into()));
        }
    };
    let mut clock = Simulated {
        now_ns: schedule.start_ns,
        lateness_ns,
        waits: 0,
        sleeps: true,
        at_wait: &mut at_wait,
        stopped: None,
    };
    let slot = region.slot(0);
    let first_due_ns = schedule.first_due_ns(MS, 0);
    Sampler::new(slot, MEASURE, MS, 1000, SECOND, first_due_ns).run(&mut clock, schedule);
    records.extend(checkpoint(&mut deltas, schedule.until_ns));
    (fold_bytes(&encode_all(&records)), slot)
}

fn duration(start_ns: u64, warmup_ns: u64, length_ns: u64) -> Schedule {
    let from_ns = start_ns + warmup_ns;
    Schedule { start_ns, from_ns, until_ns: from_ns + length_ns, cycles: u64::MAX }
}

#[test]
fn a_stall_is_one_sample_and_the_periods_it_covers() {
    // 50 periods with 5 us, then one wake-up 20 ms late, then 5 us again.
    let mut lateness = vec![5_000; 50];
    lateness.extend([20_000_000, 5_000]);
    let (folded, slot) = simulate(duration(SECOND, 0, SECOND), 0, 200, &lateness);
    let thread = &folded.threads[0];
    assert_eq!(thread.histogram.tail[tail_index(20_000_000)], 1);
    assert_eq!((thread.histogram.bins[5], thread.missed), (980, 19));
    assert_eq!(thread.worst[0].latency_ns, 20_000_000);
    assert_eq!((thread.worst[0].cycle, thread.worst[0].mono_ns), (50, SECOND + 70 * MS));
    assert_eq!(slot.finished(), Some((Ending::Reached, [981, 19, 0], 2 * SECOND)));
}

#[test]
fn seconds_are_crossed_without_a_seam() {
    let (folded, _) = simulate(duration(1_999_500_000, 0, 3 * SECOND), 0, 200, &[999_999]);
    let thread = &folded.threads[0];
    assert_eq!((thread.histogram.tail[tail_index(999_999)], thread.missed), (3000, 0));
    assert_eq!((thread.min_ns(), thread.max_ns(), thread.mean_ns()), (Some(999_999), Some(999_999), Some(999_999.0)));
}

#[test]
fn sums_past_32_bits_and_all_in_overflow() {
    // 1 h of wake-ups that are each 900 us late: 3,240 s in all.
    let (folded, _) = simulate(duration(0, 0, 3600 * SECOND), 0, 10, &[900_000]);
    let thread = &folded.threads[0];
    assert_eq!((thread.histogram.overflow(), thread.histogram.bins.iter().sum::<u64>()), (3_600_000, 0));
    assert_eq!(thread.blocks.iter().map(|block| block.sum_ns).sum::<u64>(), 3_600_000 * 900_000);
    // A single block's sum is past 2^32 too: two wake-ups of 3 s each in one block.
    let (folded, _) = simulate(duration(0, 0, 10 * SECOND), 0, 10, &[3_000_000_000, 3_000_000_000, 0]);
    assert!(folded.threads[0].blocks.iter().any(|block| block.max_ns == 3_000_000_000));
    assert_eq!(folded.threads[0].histogram.total() + folded.threads[0].missed, 10_000);
}

#[test]
fn negative_differences_are_counted_apart() {
    let (folded, slot) = simulate(duration(SECOND, 0, 10 * MS), 0, 10, &[1000, -50, 1000]);
    let thread = &folded.threads[0];
    assert_eq!((thread.histogram.negative, thread.histogram.total(), thread.missed), (1, 9, 0));
    assert_eq!(slot.finished().unwrap().1, [9, 0, 1]);
}

#[test]
fn a_stall_over_the_end_of_the_warm_up_is_split() {
    // Due 5 ms before the switch, woken 8 ms late: 4 periods missed in the warm-up, 4 after it (the 4th at its start).
    let mut lateness = vec![0; 5];
    lateness.extend([8 * i64::try_from(MS).unwrap() + 1, 0]);
    let (folded, _) = simulate(duration(SECOND, 10 * MS, 100 * MS), 10 * MS, 10, &lateness);
    let (warm_up, thread) = (&folded.warm_up[0], &folded.threads[0]);
    assert_eq!((warm_up.histogram.total(), warm_up.missed), (6, 4));
    assert_eq!((thread.histogram.total(), thread.missed), (96, 4));
}

#[test]
fn cycles_end_a_thread() {
    let schedule = Schedule { start_ns: SECOND, from_ns: SECOND, until_ns: u64::MAX, cycles: 777 };
    let (folded, slot) = simulate(schedule, 0, 10, &[2_500_000, 100]);
    assert_eq!((folded.threads[0].histogram.total(), folded.threads[0].missed), (777, 2));
    assert_eq!(slot.finished(), Some((Ending::Reached, [777, 2, 0], SECOND + 779 * MS)));
}

#[test]
fn a_stop_closes_the_block_it_comes_in() {
    let spec = spec(1, 10, 4, 0);
    let region = Region::new(&spec).unwrap();
    let schedule = duration(SECOND, 0, 1000 * SECOND);
    let slot = region.slot(0);
    let mut at_wait = |wait| {
        if wait == 1499 {
            region.ask_stop();
        }
    };
    let mut clock = Simulated {
        now_ns: SECOND,
        lateness_ns: &[7000],
        waits: 0,
        sleeps: true,
        at_wait: &mut at_wait,
        stopped: None,
    };
    Sampler::new(slot, MEASURE, MS, 1000, SECOND, SECOND).run(&mut clock, schedule);
    let blocks: Vec<Block> = std::iter::from_fn(|| slot.measuring.take_block()).collect();
    let cycles: Vec<u32> = blocks.iter().map(|block| block.cycles).collect();
    assert_eq!(cycles, [1001, 499]);
    assert_eq!(slot.finished(), Some((Ending::Stopped, [1500, 0, 0], SECOND + 1500 * MS)));
    assert_eq!(clock.waits, 1500);
}

#[test]
fn a_thread_that_does_not_sleep_stops_itself() {
    let spec = spec(1, 10, 0, 0);
    let region = Region::new(&spec).unwrap();
    let slot = region.slot(0);
    let mut clock =
        Simulated { now_ns: 0, lateness_ns: &[0], waits: 0, sleeps: false, at_wait: &mut |_| (), stopped: None };
    Sampler::new(slot, MEASURE, MS, 1000, SECOND, 0).run(&mut clock, duration(0, 0, 1000 * SECOND));
    assert_eq!(slot.finished(), Some((Ending::Sleepless, [10_001, 0, 0], 10_001 * MS)));
}

#[test]
fn the_loop_allocates_nothing() {
    let spec = spec(1, 100, 64, 0);
    let region = Region::new(&spec).unwrap();
    let lateness: Vec<i64> = (0..9000).map(|i| i * 37 % 1_300_000).collect();
    let mut clock =
        Simulated { now_ns: 0, lateness_ns: &lateness, waits: 0, sleeps: true, at_wait: &mut |_| (), stopped: None };
    let slot = region.slot(0);
    let mut sampler = Sampler::new(slot, MEASURE, MS, 1000, SECOND, 0);
    let before = allocations();
    sampler.run(&mut clock, duration(0, 0, 9 * SECOND));
    assert_eq!(allocations() - before, 0);
    assert!(clock.waits > 5000);
    let kept = vec![0u8; 1];
    assert_eq!(allocations() - before, 1, "the counter counts");
    drop(kept);
}

#[test]
fn a_ring_that_nobody_empties_counts_what_it_loses() {
    let spec = spec(1, 10, 0, 0);
    let region = Region::new(&spec).unwrap();
    let slot = region.slot(0);
    for n in 0..70 {
        slot.measuring.close_block(&Block { cycles: n, sum_ns: u64::from(n) << 33, ..Default::default() });
    }
    assert_eq!(slot.measuring.lost_blocks(), 6);
    let blocks: Vec<Block> = std::iter::from_fn(|| slot.measuring.take_block()).collect();
    assert_eq!(blocks.len(), 64);
    assert_eq!((blocks[63].cycles, blocks[63].sum_ns), (63, 63 << 33));
}

#[test]
fn a_hundred_threads_do_not_mix() {
    let spec = spec(128, 50, 4, MS);
    let region = Region::new(&spec).unwrap();
    let mut deltas = Deltas::new(region);
    for (i, slot) in (0..).zip(region.slots()) {
        let mut clock = Simulated {
            now_ns: 0,
            lateness_ns: &[i * 300],
            waits: 0,
            sleeps: true,
            at_wait: &mut |_| (),
            stopped: None,
        };
        Sampler::new(slot, MEASURE, MS, 1000, SECOND, 0).run(&mut clock, duration(0, MS, 10 * MS));
    }
    let threads = deltas.measuring();
    assert_eq!((threads.len(), deltas.warm_up().len()), (128, 128));
    for (i, thread) in (0..).zip(threads) {
        assert_eq!((thread.thread, thread.bins.clone(), thread.missed), (i, vec![(i * 300 / 1000, 10)], 0));
    }
    assert!(deltas.measuring().is_empty());
}

/// As the supervisor on another CPU does, only without pause: no value is torn, no cycle lost, nothing doubled.
#[test]
fn snapshots_taken_while_it_counts_add_up() {
    const LENGTH: u64 = 400 * SECOND;
    let spec = spec(1, 100, 16, 0);
    let region = Region::new(&spec).unwrap();
    let slot = region.slot(0);
    let mut deltas = Deltas::new(region);
    let sampling = std::thread::spawn(move || {
        // Each latency tells its cycle.
        let lateness: Vec<i64> = (0..400_000).map(|cycle| cycle % 90_000).collect();
        let mut clock = Simulated {
            now_ns: 5 << 32,
            lateness_ns: &lateness,
            waits: 0,
            sleeps: true,
            at_wait: &mut |_| (),
            stopped: None,
        };
        Sampler::new(slot, MEASURE, MS, 1000, SECOND, 5 << 32).run(&mut clock, duration(5 << 32, 0, LENGTH));
    });
    let mut records = vec![header(&spec)];
    let mut snapshots = 0;
    loop {
        let over = sampling.is_finished();
        let threads = deltas.measuring();
        for sample in threads.iter().flat_map(|thread| &thread.worst) {
            assert_eq!(sample.latency_ns, sample.cycle % 90_000, "torn {sample:?}");
            assert_eq!(sample.mono_ns, (5 << 32) + sample.cycle * MS + sample.latency_ns, "torn {sample:?}");
        }
        snapshots += 1;
        records.push(Checkpoint { mono_ns: snapshots, threads, ..Default::default() }.into());
        if over {
            break;
        }
    }
    sampling.join().unwrap();
    let folded = fold_bytes(&encode_all(&records));
    let thread = &folded.threads[0];
    assert_eq!((thread.histogram.total(), thread.missed), (400_000, 0));
    assert_eq!(slot.finished().unwrap().1, [400_000, 0, 0]);
    assert_eq!(thread.worst[0].latency_ns, 89_999);
    // Blocks may be lost by a reader that is held up, but none is torn: a whole second each.
    assert!(
        thread
            .blocks
            .iter()
            .all(|block| block.cycles <= 1001 && block.sum_ns <= u64::from(block.cycles) * block.max_ns)
    );
    let blocks = thread.blocks.len() as u64 + u64::from(slot.measuring.lost_blocks());
    assert!((399..=402).contains(&blocks), "{blocks}");
}

#[test]
fn every_width_divides_as_division_does() {
    for by in [1, 2, 3, 7, 1000, 999_983, 4_294_967_295, 4_294_967_296, 1 << 40] {
        let divider = Divider::new(by);
        for value in [0, 1, by - 1, by, by + 1, 3 * by - 1, 4_294_967_295, 4_294_967_296, u64::MAX] {
            assert_eq!(divider.divide(value), value / by, "{value} / {by}");
        }
    }
}

proptest! {
    #[test]
    fn division_is_exact(value in any::<u64>(), shift in 0u32..64, by in 1u64..1 << 33) {
        prop_assert_eq!(Divider::new(by).divide(value >> shift), (value >> shift) / by);
    }

    /// Whatever happens and wherever the stream is cut: what arrived adds up, nothing is doubled, the whole is exact.
    #[test]
    fn checkpoints_add_up_to_the_totals(
        lateness in prop::collection::vec(-2_000i64..5_000_000, 1..60),
        every in 1u32..40,
        warmup_ms in 0u64..20,
        cut in 0.0f64..1.0,
    ) {
        let spec = spec(1, 100, 4, warmup_ms * MS);
        let region = Region::new(&spec).unwrap();
        let mut deltas = Deltas::new(region);
        let mut records = vec![header(&spec)];
        let schedule = duration(SECOND, warmup_ms * MS, 300 * MS);
        let mut at_wait = |wait: u32| if wait % every == 0 { records.extend(checkpoint(&mut deltas, wait.into())); };
        let mut clock = Simulated { now_ns: SECOND, lateness_ns: &lateness, waits: 0, sleeps: true, at_wait: &mut at_wait, stopped: None };
        let slot = region.slot(0);
        Sampler::new(slot, MEASURE, MS, 1000, 50 * MS, SECOND).run(&mut clock, schedule);
        records.extend(checkpoint(&mut deltas, 0));
        let bytes = encode_all(&records);
        let whole = fold_bytes(&bytes);
        let (_, [cycles, missed, negative], _) = slot.finished().unwrap();
        let thread = &whole.threads[0];
        prop_assert_eq!([thread.histogram.total(), thread.missed, thread.histogram.negative], [cycles, missed, negative]);
        prop_assert_eq!(cycles + missed + negative, 300);
        let warm = whole.warm_up.first().map_or(0, |w| w.histogram.total() + w.missed + w.histogram.negative);
        prop_assert_eq!(warm, warmup_ms);

        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in the bytes")]
        let part = fold_bytes(&bytes[..(bytes.len() as f64 * cut) as usize]);
        prop_assert!(part.damage.is_empty());
        let none = Histogram::new(1000, 100);
        let counted = part.threads.first().map_or(&none, |thread| &thread.histogram);
        prop_assert!(counted.bins.iter().zip(&thread.histogram.bins).all(|(part, whole)| part <= whole));
        prop_assert!(counted.total() <= cycles);
    }
}

#[test]
fn a_hunt_ends_at_the_first_latency_that_is_long_enough() {
    let spec = spec(2, 10, 2, 2 * MS);
    let region = Region::new(&spec).unwrap();
    // Long ones in the warm-up are not what is hunted.
    let lateness = [900_000, 900_000, 100, 300_000, 100, 499_999, 100, 500_000, 100];
    let mut clock =
        Simulated { now_ns: 0, lateness_ns: &lateness, waits: 0, sleeps: true, at_wait: &mut |_| (), stopped: None };
    let slot = region.slot(0);
    let work = Work::Sample { hunted_ns: 500_000 };
    Sampler::new(slot, (Stepping::Grid, work), MS, 1000, SECOND, 0).run(&mut clock, duration(0, 2 * MS, SECOND));
    assert_eq!(slot.finished(), Some((Ending::Hit, [6, 0, 0], 8 * MS)));
    assert_eq!(clock.stopped, Some((500_000, 7 * MS)));
    // The others hear of it.
    assert!(region.slot(1).stop_asked());
    let kept: Vec<u64> = (0..2).filter_map(|i| Some(slot.measuring.worst_since(i, 0)?.1.latency_ns)).collect();
    assert!(kept.contains(&500_000) && kept.contains(&499_999), "{kept:?}");
}

/// A busy loop whose clock reads take `READ_NS`, apart from gaps: (read, how long).
struct Busy {
    now_ns: std::cell::Cell<u64>,
    reads: std::cell::Cell<u64>,
    gaps: &'static [(u64, u64)],
    waits: Vec<u64>,
}

const READ_NS: u64 = 25;

impl Clock for Busy {
    fn now_ns(&self) -> u64 {
        let read = self.reads.get();
        let gap = self.gaps.iter().find(|(at, _)| *at == read).map_or(READ_NS, |(_, gap)| *gap);
        self.reads.set(read + 1);
        self.now_ns.set(self.now_ns.get() + gap);
        self.now_ns.get()
    }

    fn wait(&mut self, due_ns: u64, _: u64) -> u64 {
        self.waits.push(due_ns);
        self.now_ns.set(self.now_ns.get().max(due_ns));
        1
    }

    fn usage(&self) -> Usage {
        Usage::default()
    }

    fn stop_tracing(&mut self, _: u64, _: u64) {}
}

#[test]
fn noise_is_counted_by_gaps_and_leaves_a_pause_in_each_period() {
    let spec = spec(1, 100, 4, 0);
    let region = Region::new(&spec).unwrap();
    let slot = region.slot(0);
    // 7 us in the first period; 2.2 ms in the second, which takes two more periods with it.
    let gaps = &[(100, 7_000), (40_000, 2_200_000)];
    let mut clock = Busy { now_ns: 0.into(), reads: 0.into(), gaps, waits: Vec::new() };
    let work = (Stepping::Grid, Work::Spin { busy_ns: 900_000 });
    Sampler::new(slot, work, MS, 1000, SECOND, MS).run(&mut clock, duration(MS, 0, 8 * MS));
    assert_eq!(clock.waits, [1, 2, 5, 6, 7, 8].map(|period| period * MS), "a sleep in each period that it had");
    let (ending, [reads, missed, negative], _) = slot.finished().unwrap();
    assert_eq!((ending, missed, negative), (Ending::Reached, 2, 0));
    let mut deltas = Deltas::new(region);
    let delta = &deltas.measuring()[0];
    assert_eq!(delta.bins, [(0, u32::try_from(reads).unwrap() - 2), (7, 1)]);
    assert_eq!(delta.tail.len(), 1);
    assert_eq!(delta.worst.iter().map(|sample| sample.latency_ns).max(), Some(2_200_000));
    // Five whole periods of 900 us, and two parts.
    let whole = 5 * 900_000 / READ_NS;
    assert!(reads > whole && reads < whole + 900_000 / READ_NS, "{reads}");
}
