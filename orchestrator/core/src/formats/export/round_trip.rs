//! What is exported, this crate's own importer reads back with the same counts.

use super::*;
use crate::formats::{Measurement, Options, import};
use crate::judgement::{Validity, Verdict};
use crate::result::{Identity, RunResult};
use crate::testing::{Stored, good};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn result(stored: &Stored) -> RunResult {
    let identity = Identity {
        execution: "2026-01-01-nightly".to_owned(),
        run: "native-board, \"1\"".to_owned(),
        campaign: "nightly <rt>".to_owned(),
        started_at: Some("2026-01-01T00:00:00Z".to_owned()),
        ..Identity::default()
    };
    RunResult::new(identity, &stored.evidence(), stored.judge())
}

fn read(export: &Export) -> Measurement {
    let mut measurements = import(export.text.as_bytes(), Options::default()).unwrap();
    assert_eq!(measurements.len(), 1, "{}", export.text);
    measurements.remove(0)
}

/// Two threads with these samples.
fn measured(samples: [&[u64]; 2]) -> Stored {
    let mut stored = good();
    let thread = stored.segments[0].threads[0].clone();
    stored.segments[0].threads = vec![thread; 2];
    for (thread, samples) in stored.segments[0].threads.iter_mut().zip(samples) {
        thread.histogram = latprobe::histogram::Histogram::new(1000, 200);
        samples.iter().for_each(|ns| thread.histogram.record(i64::try_from(*ns).unwrap()));
        (thread.blocks, thread.worst) = (Vec::new(), Vec::new());
    }
    stored
}

/// Samples by µs, as every format of 1 µs rows counts them.
fn by_us(samples: &[u64]) -> (Vec<(u64, u64)>, u64) {
    let mut rows = BTreeMap::new();
    for ns in samples.iter().filter(|ns| **ns < 200_000) {
        *rows.entry(ns / 1000 * 1000).or_insert(0) += 1;
    }
    (rows.into_iter().collect(), samples.iter().filter(|ns| **ns >= 200_000).count() as u64)
}

proptest! {
    #[test]
    fn counts_survive(
        a in prop::collection::vec(1u64..400_000, 1..80),
        b in prop::collection::vec(1u64..400_000, 1..80),
    ) {
        let stored = measured([&a, &b]);
        let result = result(&stored);
        let source = Source { result: &result, segments: &stored.segments };
        for (name, export) in [("dense", cyclictest(&source)), ("sparse", cyclictest_sparse(&source))] {
            let read = read(&export.unwrap());
            prop_assert!(read.complete, "{name}: {:?}", read.warnings);
            for (thread, samples) in read.threads.iter().zip([&a, &b]) {
                let (bins, overflow) = by_us(samples);
                prop_assert_eq!(&thread.bins, &bins, "{}", name);
                prop_assert_eq!(thread.overflow, Some(overflow));
            }
        }
        let read = read(&rt_dataset(&source).unwrap());
        prop_assert_eq!(read.threads.len(), 2);
        for (thread, samples) in read.threads.iter().zip([&a, &b]) {
            prop_assert_eq!(&thread.bins, &by_us(samples).0);
        }
    }
}

#[test]
fn figures_survive_in_lava_lines() {
    let stored = good();
    let result = result(&stored);
    let source = Source { result: &result, segments: &stored.segments };
    let read = read(&lava(&source));
    let figures = &result.threads[0].figures;
    assert_eq!(read.threads[0].max_ns.map(i64::unsigned_abs), figures.max.map(|max| max.ns));
    assert_eq!(read.threads[0].min_ns.map(i64::unsigned_abs), figures.min.map(|min| min.ns));
}

#[test]
fn a_broken_or_invalid_run_does_not_pass() {
    let stored = good();
    let mut result = result(&stored);
    result.validity = Validity::Valid;
    result.verdict = Verdict::Fail;
    result.limits = vec![crate::judgement::LimitOutcome {
        limit: "max".to_owned(),
        allowed: "≤ 120 us".to_owned(),
        measured: "1 ms".to_owned(),
        holds: false,
    }];
    let text = |result: &RunResult| {
        let source = Source { result, segments: &stored.segments };
        (lava(&source).text, junit(&source).text, prometheus(&source).unwrap().text)
    };
    let (lines, junit, metrics) = text(&result);
    assert!(lines.contains("t0-max-latency fail ") && lines.contains("latlab fail\n"), "{lines}");
    assert!(junit.contains("failures=\"1\" errors=\"0\"") && junit.contains("<failure message=\"max: 1 ms"), "{junit}");
    assert!(metrics.contains("latlab_run_pass{") && metrics.contains("} 0\n"), "{metrics}");
    result.validity = Validity::Invalid;
    result.verdict = Verdict::NotJudged;
    let (lines, junit, metrics) = text(&result);
    assert!(!lines.contains(" pass") && lines.contains("latlab unknown\n"), "{lines}");
    assert!(junit.contains("failures=\"0\" errors=\"1\" skipped=\"1\""), "{junit}");
    assert!(!metrics.contains("latlab_run_pass"), "{metrics}");
}

#[test]
fn a_lower_bound_is_no_figure_in_a_column_of_numbers() {
    let stored = good();
    let mut result = result(&stored);
    for (bound, stands) in [(Bound::AtMost, true), (Bound::Above, false)] {
        for quantile in result.total.quantiles.iter_mut().filter(|quantile| quantile.q == "0.9999") {
            quantile.figure = Figure { ns: 200_000, bound, ..quantile.figure };
        }
        let source = Source { result: &result, segments: &stored.segments };
        let rows = csv_run(&source).text;
        let (names, values) = rows.trim_end().split_once('\n').unwrap();
        let at = names.split(',').rev().position(|name| name == "q0.9999_ns").unwrap();
        let value = values.rsplit(',').nth(at).unwrap();
        assert_eq!(value, if stands { "200000" } else { "" }, "{rows}");
        let points = influx(&source).text;
        assert_eq!(points.lines().next().unwrap().contains(",q0.9999_ns=200000i"), stands, "{points}");
        assert_eq!(points.lines().next().unwrap().contains("q0.9999_ns"), stands, "{points}");
    }
}

#[test]
fn names_cannot_break_the_syntax() {
    let stored = good();
    let mut result = result(&stored);
    result.identity.cell = "a,b=c d\n\"<\u{1}>\\".to_owned();
    let source = Source { result: &result, segments: &stored.segments };
    let points = influx(&source).text;
    assert_eq!(points.lines().count(), 1 + result.threads.len(), "{points}");
    assert!(points.contains("cell=a\\,b\\=c\\ d_\"<_>\\_,"), "{points}");
    assert!(points.ends_with(" 1767225600000000000\n"), "{points}");
    let rows = csv_run(&source).text;
    assert!(rows.contains("\"native-board, \"\"1\"\"\""), "{rows}");
    let metrics = prometheus(&source).unwrap().text;
    assert!(metrics.contains("run=\"native-board, \\\"1\\\"\""), "{metrics}");
    let buckets: Vec<u64> = metrics
        .lines()
        .filter(|line| line.starts_with("latlab_latency_seconds_bucket"))
        .map(|line| line.rsplit(' ').next().unwrap().parse().unwrap())
        .collect();
    assert!(buckets.is_sorted() && buckets.last() == Some(&result.total.cycles), "{metrics}");
    let text = junit(&source).text;
    let mut xml = quick_xml::Reader::from_str(&text);
    loop {
        match xml.read_event() {
            Ok(quick_xml::events::Event::Eof) => break,
            Ok(_) => {}
            Err(error) => panic!("{error}: {text}"),
        }
    }
}
