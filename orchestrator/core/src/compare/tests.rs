use super::*;
use crate::latency::blocks::testing::series;

const US: u64 = 1000;

fn reference(name: &str) -> Side {
    published().iter().find(|published| published.name == name).unwrap().side()
}

fn metric<'a>(comparison: &'a Comparison, name: &str) -> &'a Compared {
    comparison.metrics.iter().find(|m| m.metric == name).unwrap()
}

#[test]
fn r1_is_observed_one_run_each() {
    let found = compare(
        &reference("cyclone-v-cobalt-isolated"),
        &reference("cyclone-v-cobalt-shared"),
        &["isolcpus".to_owned()],
        false,
    )
    .unwrap();
    let max = metric(&found, "max");
    assert_eq!((max.outcome, max.words.as_str()), (Outcome::Observed, "observed, one run each"));
    assert_eq!(
        (max.a.as_slice(), max.b.as_slice(), max.difference),
        (&[50_000.0][..], &[83_000.0][..], Some(33_000.0))
    );
    assert_eq!(max.at_cycles, Some(43_200_000));
    assert_eq!(found.headline, "The sides differ in isolcpus alone, as far as is known.");
    assert_eq!(metric(&found, "0.9999").outcome, Outcome::NotComparable);
}

#[test]
fn r5_cannot_be_told() {
    let (standard, rt) = (reference("imx93-standard"), reference("imx93-preempt-rt"));
    let max = metric(&compare(&standard, &rt, &["kernel".to_owned()], false).unwrap(), "max").clone();
    assert_eq!(max.a, [126_000.0, 113_000.0, 65_000.0]);
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
    let compared = compare(&short, &long, &[], false).unwrap();
    let max = metric(&compared, "max").clone();
    assert_eq!((max.at_cycles, max.difference), (Some(3_600_000), Some(0.0)));
    // It is not hidden.
    assert_eq!((compared.a.max_ns, compared.b.max_ns), (Some(50 * US), Some(90 * US)));
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

#[test]
fn a_foreign_file_is_a_side() {
    let text = "# /dev/cpu_dma_latency set to 0us\nT: 0 ( 1234) P:80 I:1000 C: 100000 Min:      5 Act:    7 Avg:    8 Max:      42\n";
    let options = crate::formats::Options { name: "results.lat", only: None, without_bins: false };
    let read = crate::formats::import(text.as_bytes(), options).unwrap();
    let run = Run::imported("results.lat", &read[0]).unwrap();
    assert_eq!((run.max_ns, run.cycles, run.mean_ns), (Some(42_000), Some(100_000), Some(8_000.0)));
    let key = |group, name: &str| Key { group, name: name.to_owned() };
    assert_eq!(run.provenance.get(&key(Group::Measurement, "priority")), Known::Value("80".to_owned()));
    assert_eq!(run.provenance.get(&key(Group::Kernel, "release")), Known::Unknown);
    let found = compare(&side("file", vec![run.clone()]), &side("same", vec![run]), &[], false).unwrap();
    assert_eq!(metric(&found, "max").words, "observed, one run each");
    assert!(!found.a.boots_known);
}

#[test]
fn hunts_and_noise_are_no_measurements() {
    let by = |instrument: &str| {
        let provenance = Provenance::new().with(Group::Measurement, "instrument", Some(instrument.to_owned()));
        side(instrument, vec![Run { provenance, ..run(instrument, [10 * US, 20 * US]) }])
    };
    let refused = |a: &str, b: &str| match compare(&by(a), &by(b), &[], true) {
        Err(Refused::NoMeasurement { runs }) => runs,
        other => panic!("{a} and {b}: {other:?}"),
    };
    assert_eq!(refused("latprobe", "latprobe-noise"), ["latprobe-noise"]);
    assert_eq!(refused("latprobe-hunt", "latprobe"), ["latprobe-hunt"]);
    assert_eq!(refused("latprobe-hunt", "latprobe-hunt").len(), 2);
    assert!(compare(&by("latprobe-noise"), &by("latprobe-noise"), &[], false).is_ok());
    assert!(compare(&by("latprobe"), &by("latprobe"), &[], false).is_ok());
}
