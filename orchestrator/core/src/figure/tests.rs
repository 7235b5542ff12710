//! Figures of the run that went well.

use super::*;
use crate::latency::Stated;
use crate::testing::{S, Stored, event, good};
use latprobe::stream::{Checkpoint, EventKind, Header, LoadDelta, Phase, PhaseKind, Record, ThreadDelta, wire};

/// The run's stream as it would be: one checkpoint.
fn stream(stored: &Stored) -> Vec<u8> {
    let segment = &stored.segments[0];
    let header: Header = segment.header.clone().unwrap();
    let sparse = |counts: &[u64]| {
        let occupied = (0u32..).zip(counts).filter(|(_, n)| **n > 0);
        occupied.map(|(bin, n)| (bin, u32::try_from(*n).unwrap())).collect::<Vec<_>>()
    };
    let threads = (0u32..).zip(&segment.threads).map(|(thread, result)| ThreadDelta {
        thread,
        bins: sparse(&result.histogram.bins),
        tail: sparse(&result.histogram.tail),
        ..ThreadDelta::default()
    });
    wire::encode_all(&[
        Record::Header(header),
        Record::Phase(Phase { kind: PhaseKind::Measuring, mono_ns: 2 * S }),
        Record::Checkpoint(Checkpoint {
            mono_ns: 12 * S,
            threads: threads.collect(),
            loads: vec![LoadDelta { load: 0, active_ns: 9 * S, pause_ns: S, starts: 3, failures: 0 }],
            ..Checkpoint::default()
        }),
    ])
}

fn figures(stored: &Stored, contacts: &[(usize, u64, u64)]) -> Vec<Figure> {
    let evidence = stored.evidence();
    let result = RunResult::new(crate::result::Identity::default(), &evidence, stored.judge());
    let series = Series::new(&stored.segments, S);
    let assessment = Assessment::new(&series, &result.worst, &[]);
    let timeline = Timeline::new([stream(stored).as_slice()]);
    of_run(&Material {
        result: &result,
        segments: &stored.segments,
        timeline: &timeline,
        series: &series,
        assessment: &assessment,
        gate: &stored.settings.gate,
        contacts,
    })
}

fn find<'a>(figures: &'a [Figure], id: &str) -> &'a Figure {
    figures.iter().find(|figure| figure.id == id).unwrap_or_else(|| panic!("no {id}"))
}

fn layer<'a>(figure: &'a Figure, name: &str) -> &'a Layer {
    let mut layers = figure.panels.iter().flat_map(|panel| &panel.layers);
    layers.find(|layer| layer.name == name).unwrap_or_else(|| panic!("{}: no layer {name}", figure.id))
}

#[test]
fn a_histogram_holds_every_cycle_with_quantiles_and_limits() {
    let mut stored = good();
    stored.settings.gate.max_ns = Some(120_000);
    stored.settings.gate.exceed = vec![(80_000, 1e-6)];
    let all = figures(&stored, &[]);
    let histogram = find(&all, "histogram");
    let Shape::Steps(steps) = &layer(histogram, "all threads").shape else { panic!() };
    assert_eq!(steps.iter().map(|(_, n)| n).sum::<f64>(), 9_999.0, "{steps:?}");
    assert_eq!(steps.last().unwrap().1, 0.0, "it ends at nothing");
    let rules = &histogram.panels[0].rules;
    let at = |label: &str| rules.iter().find(|rule| rule.label == label).map(|rule| (rule.at, rule.limit));
    assert_eq!(at("p99, p99.9"), Some((10.999, false)), "{rules:?}");
    assert_eq!((at("max"), at("limit 120 us")), (Some((1000.5, false)), Some((120.0, true))), "{rules:?}");
    assert_eq!(at("at most 1e-6 above"), Some((80.0, true)));
    assert!(histogram.notes.iter().any(|note| note.starts_with("1 cycles lie beyond")), "{:?}", histogram.notes);
    // A lone wake-up far away needs an axis that shows it and the others.
    assert_eq!(histogram.x.scale, Scale::Log);
    assert!(histogram.x.from > 0.0 && histogram.x.to > 1000.5);
}

#[test]
fn what_happened_shares_the_time_axis() {
    let mut stored = good();
    stored.segments[0].events = vec![
        event(EventKind::LoadFailed, "dd<script>", "exit 1\u{1b}[31m\u{202e}"),
        event(EventKind::SettingApplied, "governor", "performance"),
    ];
    let all = figures(&stored, &[(0, 4 * S, 5 * S), (0, 100 * S, 101 * S)]);
    let figure = find(&all, "over-time");
    let points = |name: &str| match &layer(figure, name).shape {
        Shape::Points { points, .. } => points.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(points("worst samples").iter().map(|p| (p.x, p.y)).collect::<Vec<_>>(), [(7.0, 1000.5), (0.1, 50.25)]);
    assert_eq!(points("host contact").iter().map(|p| p.x).collect::<Vec<_>>(), [3.0], "none after the end");
    assert_eq!(points("dd: start").len(), 1);
    assert_eq!(points("load failed")[0].label, "dd<script> exit 1\\u{1b}[31m\\u{202e} after 1 s");
    let Shape::Line(duty) = &layer(figure, "dd: duty").shape else { panic!() };
    assert_eq!(duty, &[(5.0, Some(100.0))]);
    let Shape::Line(maxima) = &layer(figure, "block maximum").shape else { panic!() };
    assert_eq!(maxima, &[(10.0, Some(1000.5))]);
    assert!(figure.panels.iter().all(|panel| panel.y.to > panel.y.from));
}

#[test]
fn the_heat_map_and_the_curve_lose_nothing() {
    let all = figures(&good(), &[]);
    let Shape::Cells { counts, columns, rows } = &find(&all, "heat-map").panels[0].layers[0].shape else { panic!() };
    assert_eq!(counts.iter().map(|(.., n)| n).sum::<u64>(), 9_999);
    assert_eq!((columns.as_slice(), rows.len()), (&[(0.0, 10.0)][..], 3));
    let curve = find(&all, "exceedance");
    let Shape::Steps(steps) = &layer(curve, "all threads").shape else { panic!() };
    assert_eq!((steps.first().unwrap().1, steps.last().unwrap().1), (1.0, 0.0));
    assert!((steps[steps.len() - 2].1 - 1.0 / 9_999.0).abs() < 1e-12, "{steps:?}");
    assert!(curve.summary.contains("cannot be said: 1 h is more than 10 times the observed"), "{}", curve.summary);
}

#[test]
fn many_threads_are_told_by_their_spread_and_by_cpu() {
    let mut stored = good();
    let thread = stored.segments[0].threads[0].clone();
    stored.segments[0].threads = vec![thread; 128];
    stored.segments[0].threads[77].histogram.record(3_000_000);
    let setup = stored.spec.measure.threads[0].clone();
    stored.spec.measure.threads =
        (0..128).map(|cpu| latprobe::spec::Thread { cpu: Some(cpu), ..setup.clone() }).collect();
    let all = figures(&stored, &[]);
    let histogram = find(&all, "histogram");
    let names: Vec<&str> = histogram.panels[0].layers.iter().map(|layer| layer.name.as_str()).collect();
    assert_eq!(names.len(), 6, "{names:?}");
    assert_eq!(&names[1..3], ["all threads", "CPU 77"], "the worst first");
    let by_cpu = find(&all, "by-cpu");
    let Scale::Names(cpus) = &by_cpu.x.scale else { panic!() };
    assert_eq!((cpus.len(), cpus[127].as_str()), (128, "CPU 127"));
    assert!(by_cpu.summary.contains("of CPU 77"), "{}", by_cpu.summary);
    // Lines that share a hue have different patterns.
    let looks = histogram.panels[0]
        .layers
        .iter()
        .map(|layer| (layer.hue, layer.dash))
        .collect::<std::collections::BTreeSet<_>>();
    assert_eq!(looks.len(), 6);
}

#[test]
fn a_fit_is_drawn_where_it_is_stated() {
    use crate::latency::extremes::maximum_expected;
    use crate::latency::random::Random;
    use crate::units::{HOUR, MINUTE};
    let mut random = Random::new(4);
    let gev = crate::latency::extremes::Gev { location: 40_000.0, scale: 3_000.0, shape: 0.1 };
    let entry = |(window, max): (u64, f64)| crate::latency::blocks::Entry {
        window,
        at_ns: (window + 1) * MINUTE,
        max_ns: format!("{max:.0}").parse().unwrap(),
        cycles: 60_000,
    };
    let maxima: Vec<f64> = (0..240).map(|_| gev.exceeded_with(random.unit())).collect();
    let series = Series { block_ns: MINUTE, segments: vec![(0..).zip(maxima).map(entry).collect()] };
    let expected = maximum_expected(&series, 24 * HOUR);
    let Stated::Figure(level) = &expected.stated else { panic!("{:?}", expected.stated) };
    let (panel, reach) = exceedance::maxima(&series, &expected);
    let panel = panel.unwrap();
    let names: Vec<&str> = panel.layers.iter().map(|layer| layer.name.as_str()).collect();
    let all = ["maxima of blocks of 1 min", "fit (GEV)", "95 % of the maximum in 1 d", "maximum expected in 1 d"];
    assert_eq!(names, all);
    assert!(reach >= level.interval_ns.high / 1000.0);
    assert!(panel.y.from < 1.0 / 1440.0, "the horizon lies in the picture");
}

#[test]
fn nights_show_gaps_and_rises() {
    let change = crate::trend::Change {
        first: 2,
        before: 50_000.0,
        after: 60_000.0,
        test: crate::latency::Test { statistic: 1.0, p: 1e-4 },
    };
    let night =
        |name: &str, max: Option<f64>| TrendPoint { name: name.into(), figures: vec![max], label: String::new() };
    let nights = [night("1", Some(50_000.0)), night("2", None), night("3", Some(60_000.0))];
    let followed = [Followed { name: "max".into(), rise: Some(change), suspicious: true }];
    let figure = trend("a / b\u{202e}", &nights, &followed);
    assert_eq!(figure.title, "a / b\\u{202e}");
    let Shape::Line(line) = &layer(&figure, "max").shape else { panic!() };
    assert_eq!(line, &[(0.0, Some(50.0)), (1.0, None), (2.0, Some(60.0))]);
    assert_eq!((figure.panels[0].rules[0].at, figure.panels[0].rules[0].label.as_str()), (2.0, "max rose"));
    assert!(figure.summary.contains("rose from 50.0 to 60.0 us at 3") && figure.summary.contains("suspicious"));
    assert_eq!(figure.notes, ["1 of 3 nights are left out: INVALID, or without these figures."]);
}
