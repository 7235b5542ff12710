use super::*;
use latprobe::stream::{Block, Sample};
use proptest::prelude::*;

fn p(text: &str) -> Probability {
    Probability::parse(text).unwrap()
}

fn filled(width: u64, bins: usize, samples: &[u64]) -> Histogram {
    let mut histogram = Histogram::new(width, bins);
    samples.iter().for_each(|s| histogram.record(i64::try_from(*s).unwrap()));
    histogram
}

/// A thread whose blocks hold what its bins hold, as after a run that ended well.
fn thread(width: u64, bins: usize, samples: &[u64]) -> ThreadResult {
    let block = Block {
        end_mono_ns: 1,
        cycles: u32::try_from(samples.len()).unwrap(),
        missed: 0,
        min_ns: samples.iter().copied().min().unwrap_or(0),
        max_ns: samples.iter().copied().max().unwrap_or(0),
        sum_ns: samples.iter().sum(),
    };
    ThreadResult {
        histogram: filled(width, bins, samples),
        missed: 0,
        blocks: vec![block],
        worst: Vec::new(),
        minor_faults: 0,
        major_faults: 0,
        voluntary_switches: 0,
        involuntary_switches: 0,
    }
}

#[test]
fn probabilities_are_read_exactly_or_refused() {
    // In binary floating point 0.9999 * 10000 is above 9999, and 0.07 * 100 above 7.
    for (text, total, rank) in [
        ("0.9999", 10_000, 9_999),
        ("0.07", 100, 7),
        ("0", 10, 1),
        ("1", 10, 10),
        ("1.0", 7, 7),
        (".5", 4, 2),
        ("0.5", 5, 3),
        ("0.5", 1, 1),
        ("0.999", 1, 1),
        ("0.999999999999999", u64::MAX, 18_446_744_073_709_533_169),
    ] {
        assert_eq!(p(text).rank(total), rank, "{text} of {total}");
    }
    for text in ["", ".", "1.1", "2", "-0.5", "99%", "1e-3", "0.9999999999999999", "0,5", "99999999999999999999"] {
        assert!(Probability::parse(text).is_err(), "{text}");
    }
}

#[test]
fn quantiles_at_the_edges() {
    let value = |samples: &[u64], q: &str| {
        summarise(&thread(1000, 10, samples))
            .distribution
            .quantile(&p(q))
            .map(|v| (v.at_least_ns, v.at_most_ns.unwrap()))
    };
    assert_eq!(value(&[], "0.5"), None);
    // One sample: exact by the clamp to minimum and maximum.
    assert_eq!(value(&[1500], "0.5"), Some((1500, 1500)));
    // Even and odd: type 1 takes the lower middle one.
    assert_eq!(value(&[500, 3500], "0.5"), Some((500, 999)));
    assert_eq!(value(&[500, 3500], "0.51"), Some((3000, 3500)));
    assert_eq!(value(&[500, 1500, 3500], "0.5"), Some((1000, 1999)));
    // One step either side of the range of 10 us.
    assert_eq!(value(&[0, 9_999], "1"), Some((9_000, 9_999)));
    assert_eq!(value(&[0, 10_000], "1"), Some((10_000, 10_000)));
}

#[test]
fn a_quantile_in_overflow_is_a_bound() {
    let summary = summarise(&thread(1000, 10, &[20_000, 30_000, 50_000]));
    let median = summary.distribution.quantile(&p("0.5")).unwrap();
    assert!(summary.distribution.in_overflow(median));
    assert!(median.at_least_ns >= 10_000 && median.at_least_ns <= 30_000 && median.at_most_ns.unwrap() >= 30_000);
    assert!(!median.surely_within(30_000) && median.surely_within(32_000), "{median:?}");
    assert_eq!(summary.overflow, 3);
}

#[test]
fn extremes_are_exact_unless_a_block_is_missing() {
    let mut t = thread(1000, 10, &[1234, 2345, 56_789]);
    let s = summarise(&t);
    assert_eq!((s.min, s.max, s.mean_ns), (Some(Value::exact(1234)), Some(Value::exact(56_789)), Some(60_368.0 / 3.0)));
    // A sample outside every closed block: only its bin is known.
    t.histogram.record(70_000);
    t.histogram.record(100);
    let s = summarise(&t);
    assert_eq!(s.max, Some(Value { at_least_ns: 69_632, at_most_ns: Some(73_727) }));
    assert_eq!(s.min, Some(Value { at_least_ns: 0, at_most_ns: Some(999) }));
    assert_eq!((s.cycles, s.mean_cycles), (5, 3));
    // … unless it stands among the worst samples.
    t.worst.push(Sample { latency_ns: 70_000, cycle: 3, mono_ns: 2 });
    assert_eq!(summarise(&t).max, Some(Value::exact(70_000)));
}

#[test]
fn share_above_a_limit_is_inclusive_and_names_its_doubt() {
    let above = |limit| {
        let d = summarise(&thread(1000, 10, &[500, 2_000, 2_999, 7_000])).distribution;
        let share = d.above(limit);
        (share.at_least, share.at_most)
    };
    assert_eq!(above(6_999), (1, 1));
    // The largest sample is known exactly: a sample equal to the limit is not above it.
    assert_eq!(above(7_000), (0, 0));
    assert_eq!(above(2_500), (1, 3));
    assert_eq!(above(1_999), (3, 3));
}

#[test]
fn a_stall_counts_once_by_wake_up_and_as_often_as_periods_were_missed() {
    // 20.5 ms late at 2 ms: 10 periods slept through, late by 18.5, 16.5 … 0.5 ms.
    let mut samples = vec![5_000; 90];
    samples.push(20_500_000);
    let histogram = filled(100_000, 400, &samples);
    let periods = per_period(&histogram, 2_000_000, 10);
    assert_eq!(periods.total(), 101);
    assert_eq!(periods.above(2_000_000), Share { at_least: 10, at_most: 10, total: 101 });
    assert_eq!(Distribution::of_wake_ups(&histogram).above(2_000_000).at_least, 1);
    assert_eq!(periods.quantile(&p("0.95")).unwrap().at_most_ns, Some(10_599_999));
}

#[test]
fn missed_periods_that_no_wake_up_explains_are_late_without_bound() {
    let periods = per_period(&filled(1000, 100, &[5_000; 10]), 1_000_000, 3);
    assert_eq!(periods.quantile(&p("0.75")).unwrap().at_most_ns, Some(5_999));
    assert_eq!(periods.quantile(&p("0.8")).unwrap().at_most_ns, None);
}

#[test]
fn absurd_input_ends() {
    let mut histogram = Histogram::new(1, 1);
    histogram.record(i64::MAX);
    let periods = per_period(&histogram, 1, u64::MAX / 2);
    assert!(periods.quantile(&p("0.5")).unwrap().at_most_ns.is_none());
}

#[test]
fn joined_distributions_hold_every_sample_once() {
    let parts = [vec![1_500, 1_500, 9_000], vec![1_500], vec![4_000, 9_000]];
    let apart = parts.iter().map(|samples| per_period(&filled(1000, 20, samples), 1_000_000, 0));
    let together = per_period(&filled(1000, 20, &parts.concat()), 1_000_000, 0);
    assert_eq!(Distribution::joined(apart), Some(together));
    assert_eq!(Distribution::joined([]), None);
}

#[test]
fn segments_and_threads_add_up_exactly() {
    let segment = |samples: &[u64]| Folded { threads: vec![thread(1000, 10, samples); 2], ..Folded::default() };
    let threads = merge_segments(&[segment(&[100, 5_000]), segment(&[20_000]), Folded::default()]).unwrap();
    assert_eq!(threads.len(), 2);
    let all = summarise(&merge_threads(&threads).unwrap().unwrap());
    assert_eq!((all.cycles, all.max, all.min), (6, Some(Value::exact(20_000)), Some(Value::exact(100))));
    assert_eq!(all.mean_ns, Some(25_100.0 / 3.0));
    let mut latest = segment(&[30_000]);
    latest.threads[1].worst = vec![Sample { latency_ns: 30_000, cycle: 0, mono_ns: 9 }];
    let mut first = segment(&[100]);
    first.threads[1].worst = vec![Sample { latency_ns: 100, cycle: 0, mono_ns: 1 }];
    let threads = merge_segments(&[first, latest]).unwrap();
    for worst in [&threads[1].worst, &merge_threads(&threads).unwrap().unwrap().worst] {
        assert_eq!(worst.iter().map(|sample| sample.latency_ns).collect::<Vec<_>>(), [30_000, 100]);
    }
    let other = Folded { threads: vec![thread(500, 10, &[1])], ..Folded::default() };
    assert!(merge_segments(&[segment(&[1]), other]).is_err());
}

proptest! {
    /// Against the sorted samples themselves, in integers.
    #[test]
    fn quantiles_hold_the_true_one(mut samples in prop::collection::vec(0u64..300_000, 1..200), thousandths in 0u64..=1000, width in 1u64..5000, bins in 1usize..100) {
        let text = format!("{}.{:03}", thousandths / 1000, thousandths % 1000);
        let found = summarise(&thread(width, bins, &samples)).distribution.quantile(&p(&text)).unwrap();
        samples.sort_unstable();
        // Smallest k with k/n ≥ thousandths/1000.
        let k = (1..=samples.len()).find(|k| *k as u64 * 1000 >= thousandths * samples.len() as u64).unwrap();
        let truth = samples[k - 1];
        let upper = found.at_most_ns.unwrap();
        prop_assert!(found.at_least_ns <= truth || truth < 256);
        prop_assert!(truth <= upper);
        prop_assert!(upper <= *samples.last().unwrap());
        let enough = samples.iter().filter(|s| **s <= upper).count() as u64 * 1000;
        prop_assert!(enough >= thousandths * samples.len() as u64);
    }

    #[test]
    fn shares_hold_the_true_one(samples in prop::collection::vec(0u64..300_000, 1..200), limit in 256u64..300_000, width in 1u64..5000, bins in 1usize..100) {
        let share = summarise(&thread(width, bins, &samples)).distribution.above(limit);
        let truth = samples.iter().filter(|s| **s > limit).count() as u64;
        prop_assert!(share.at_least <= truth && truth <= share.at_most && share.total == samples.len() as u64);
    }

    /// A simulated loop that skips what it missed, as the probe does, against the lateness of each period.
    #[test]
    fn periods_are_never_better_than_the_truth(latencies in prop::collection::vec(0u64..60_000, 1..60), interval in 1_000u64..20_000, width in 1u64..3000) {
        let (mut periods, mut missed) = (Vec::new(), 0);
        for latency in &latencies {
            periods.push(*latency);
            for step in 1..=latency / interval {
                periods.push(latency - step * interval);
                missed += 1;
            }
        }
        let found = per_period(&filled(width, 40, &latencies), interval, missed);
        prop_assert_eq!(found.total(), periods.len() as u64);
        periods.sort_unstable();
        for q in ["0.1", "0.5", "0.9", "0.99", "1"] {
            let truth = periods[usize::try_from(p(q).rank(periods.len() as u64)).unwrap() - 1];
            let value = found.quantile(&p(q)).unwrap();
            prop_assert!(value.at_most_ns.is_none_or(|at_most| truth <= at_most), "{} {:?} {}", q, value, truth);
        }
    }
}
