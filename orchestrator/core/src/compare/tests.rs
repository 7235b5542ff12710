use super::*;
use crate::latency::blocks::testing::series;

const US: u64 = 1000;

/// R1: Cyclone V, Cobalt, 12 h at 1 ms.
fn r1(isolated: &str, max_us: u64) -> Side {
    let provenance = Provenance::new()
        .with(Group::Kernel, "release", Some("4.19.33".to_owned()))
        .with(Group::Cpus, "isolated", Some(isolated.to_owned()))
        .with(Group::Clock, "clocksource", None);
    let run = Run::of_maximum(&format!("cobalt isolated={isolated}"), max_us * US, Some(43_200_000), provenance);
    Side { name: run.name.clone(), runs: vec![run] }
}

/// R5: i.MX93, three runs, worst of eight threads, from `imx93-cyclictest.tsv`; cycles are those of all threads.
fn r5(kernel: &str, runs: [(u64, u64); 3]) -> Side {
    let one = |(max_us, cycles)| {
        let provenance = Provenance::new().with(Group::Kernel, "preemption", Some(kernel.to_owned()));
        Run::of_maximum(kernel, max_us * US, Some(cycles), provenance)
    };
    Side { name: kernel.to_owned(), runs: runs.map(one).to_vec() }
}

fn metric<'a>(comparison: &'a Comparison, name: &str) -> &'a Compared {
    comparison.metrics.iter().find(|m| m.metric == name).unwrap()
}

#[test]
fn r1_is_observed_one_run_each() {
    let found = compare(&r1("1", 50), &r1("none", 83), &["isolcpus".to_owned()], false).unwrap();
    let max = metric(&found, "max");
    assert_eq!((max.outcome, max.words.as_str()), (Outcome::Observed, "observed, one run each"));
    assert_eq!(
        (max.a.as_slice(), max.b.as_slice(), max.difference),
        (&[50_000.0][..], &[83_000.0][..], Some(33_000.0))
    );
    assert_eq!(max.at_cycles, Some(43_200_000));
    assert_eq!(found.headline, "The sides differ in isolcpus alone, as far as is known; 1 thing is unknown.");
    assert_eq!(metric(&found, "0.9999").outcome, Outcome::NotComparable);
}

#[test]
fn r5_cannot_be_told() {
    let standard = r5("standard", [(126, 68_800), (113, 68_786), (65, 68_786)]);
    let rt = r5("preempt-rt", [(67, 68_795), (71, 68_795), (89, 68_795)]);
    let max = metric(&compare(&standard, &rt, &["kernel".to_owned()], false).unwrap(), "max").clone();
    assert_eq!(max.outcome, Outcome::CannotTell, "{max:?}");
    assert!(max.boots_needed.is_some_and(|boots| boots > 3), "{max:?}");
    assert!(max.words.starts_with("cannot tell (run at least "), "{}", max.words);
}

/// A run of blocks of a second with these maxima.
fn run(boot: &str, maxima: impl IntoIterator<Item = u64>) -> Run {
    let series = series(maxima);
    let max = series.entries().map(|e| e.max_ns).max().unwrap();
    Run {
        boot: Some(boot.to_owned()),
        validity: Some(Validity::Valid),
        measured_ns: Some(series.covered_ns()),
        series: series.clone(),
        ..Run::of_maximum(boot, max, Some(series.cycles()), Provenance::new())
    }
}

fn side(name: &str, runs: Vec<Run>) -> Side {
    Side { name: name.to_owned(), runs }
}

#[test]
fn maxima_are_compared_at_equal_cycles() {
    // The long run has one peak in ten hours: a run of an hour typically does not show it.
    let short = side("short", vec![run("1", vec![50 * US; 3600])]);
    let long = side("long", vec![run("2", (0..36_000).map(|i| if i == 20_000 { 90 * US } else { 50 * US }))]);
    let max = metric(&compare(&short, &long, &[], false).unwrap(), "max").clone();
    assert_eq!((max.at_cycles, max.difference), (Some(3_600_000), Some(0.0)));
    // Without blocks the two lengths cannot be made equal.
    let mut bare = long;
    bare.runs[0].series = Default::default();
    let max = metric(&compare(&short, &bare, &[], false).unwrap(), "max").clone();
    assert_eq!(max.outcome, Outcome::NotComparable);
    // … nor where the number of cycles is unknown.
    bare.runs[0].cycles = None;
    assert_eq!(metric(&compare(&short, &bare, &[], false).unwrap(), "max").outcome, Outcome::NotComparable);
}

#[test]
fn runs_of_one_boot_are_one_witness() {
    let runs = |boots: [&str; 3], max: u64| {
        boots.iter().enumerate().map(|(i, b)| run(b, vec![(max + i as u64) * US; 60])).collect()
    };
    let same = side("a", runs(["x", "x", "x"], 50));
    let other = side("b", runs(["p", "q", "r"], 80));
    let found = compare(&same, &other, &[], false).unwrap();
    assert_eq!((found.a.boots, found.b.boots), (1, 3));
    assert_eq!(metric(&found, "max").words, "observed, 3 runs in one boot against 3 boots");
    assert_eq!(metric(&found, "max").outcome, Outcome::Observed);
    let apart = side("a", runs(["x", "y", "z"], 50));
    assert_eq!(metric(&compare(&apart, &other, &[], false).unwrap(), "max").outcome, Outcome::Worse);
    assert_eq!(metric(&compare(&other, &apart, &[], false).unwrap(), "max").outcome, Outcome::Better);
}

#[test]
fn invalid_runs_are_refused_or_marked() {
    let good = side("good", vec![run("1", [50 * US])]);
    let mut bad = side("bad", vec![run("2", [40 * US])]);
    bad.runs[0].validity = Some(Validity::Invalid);
    let refused = compare(&good, &bad, &[], false).unwrap_err();
    assert!(refused.to_string().starts_with("INVALID: 2;"), "{refused}");
    let forced = compare(&good, &bad, &[], true).unwrap();
    assert!(forced.forced && forced.headline.starts_with("INVALID runs are compared"), "{}", forced.headline);
    assert!(matches!(compare(&good, &side("none", Vec::new()), &[], true), Err(Refused::Empty { .. })));
}

fn with_counts(mut run: Run, bins: &[(u64, u64)], range_us: u64) -> Run {
    let samples = bins.iter().map(|(us, n)| (us * US + 999, *n)).collect();
    run.counts = Some(Counts { bin_width_ns: US, range_ns: range_us * US, samples });
    run
}

#[test]
fn quantiles_need_bins_that_hold_them() {
    let three = |shift: u64, range| {
        (0..3u64)
            .map(|i| with_counts(run(&format!("{shift}{i}"), [99 * US]), &[(10 + shift + i, 9_990), (90, 10)], range))
            .collect()
    };
    let (a, b) = (side("a", three(0, 100)), side("b", three(20, 100)));
    let found = compare(&a, &b, &[], false).unwrap();
    assert_eq!(
        (metric(&found, "0.99").outcome, metric(&found, "0.9999").outcome),
        (Outcome::Worse, Outcome::NoDifferenceSeen)
    );
    let clipped = side("clipped", three(0, 50));
    let found = compare(&clipped, &b, &[], false).unwrap();
    assert_eq!(metric(&found, "0.9999").words, "not comparable: it lies beyond the histogram on side A");
    assert_eq!(metric(&found, "0.99").outcome, Outcome::Worse);
}
