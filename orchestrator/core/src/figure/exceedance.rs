//! How often a latency is exceeded, and what the fit of extreme values says beyond what was seen.

use super::histogram::limit_rules;
use super::scale::{end_ns, latency_axis};
use super::{Along, Axis, Figure, Layer, Material, Panel, Point, Shape, Symbol, us};
use crate::latency::Stated;
use crate::latency::blocks::Series;
use crate::latency::extremes::{BLOCK_SIZES_NS, MaximumExpected, ReturnLevel};
use crate::quantity::{count, duration, latency};
use crate::result::Bin;

/// Most points of an observed curve.
const MOST_POINTS: usize = 600;
/// Points of the fitted curve.
const FITTED: u32 = 60;

pub(super) fn of_run(material: &Material) -> Figure {
    let result = material.result;
    let highest_seen = result.histogram.last().map_or(1, end_ns);
    let mut rules = limit_rules(material.gate, Along::X);
    rules.retain(|rule| rule.limit && rule.at < us(highest_seen) * 20.0);
    let expected = &material.assessment.maximum_expected;
    let (maxima, reach) = maxima(material.series, expected);
    let highest = [us(highest_seen), reach].into_iter().chain(rules.iter().map(|rule| rule.at)).fold(0.0, f64::max);
    let lowest = result.histogram.first().map_or(1, |bin| if bin.from_ns == 0 { end_ns(bin) / 2 } else { bin.from_ns });
    let mut x = latency_axis("latency [us]", true, lowest.max(1), highest_seen);
    x.to = x.to.max(highest * 1.1);
    let total = result.total.cycles.max(1) as f64;
    let observed = Panel {
        y: Axis::log("share of cycles above", 0.5 / total, 1.0),
        height: 3,
        layers: vec![Layer::new(0, "all threads", Shape::Steps(shares_above(&result.histogram)))],
        rules,
    };
    let mut panels = vec![observed];
    panels.extend(maxima);
    Figure {
        id: "exceedance".to_owned(),
        title: "How often a latency is exceeded".to_owned(),
        summary: format!(
            "Share of the cycles above each latency. {}",
            match &expected.stated {
                Stated::Figure(level) => stated(expected.horizon_ns, level),
                Stated::NotApplicable(reason) =>
                    format!("What a run of {} would show cannot be said: {reason}.", duration(expected.horizon_ns)),
            }
        ),
        x,
        panels,
        notes: vec!["An observed maximum is no bound: it grows with the number of cycles.".to_owned()],
    }
}

/// As `latlab show` says it.
fn stated(horizon_ns: u64, level: &ReturnLevel) -> String {
    let [level, low, high] = [level.level_ns, level.interval_ns.low, level.interval_ns.high].map(whole_ns).map(latency);
    format!("Maximum expected in {}: {level}, 95 % {low} to {high}.", duration(horizon_ns))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
fn whole_ns(ns: f64) -> u64 {
    ns.max(0.0).round() as u64
}

/// Share of samples that lie above each bin's end; 1 below the first one.
pub(super) fn shares_above(bins: &[Bin]) -> Vec<(f64, f64)> {
    let total = bins.iter().fold(0u64, |sum, bin| sum.saturating_add(bin.count)).max(1);
    let mut left = total;
    let mut points: Vec<(f64, f64)> = bins.first().map(|bin| (us(bin.from_ns.max(1)), 1.0)).into_iter().collect();
    for bin in bins {
        left = left.saturating_sub(bin.count);
        points.push((us(end_ns(bin)), left as f64 / total as f64));
    }
    // The end of the tail is what matters: only the dense beginning is thinned.
    let tail = points.len().saturating_sub(MOST_POINTS / 2);
    let step = tail.div_ceil(MOST_POINTS / 2).max(1);
    let thinned = points.iter().enumerate().filter(|(i, _)| *i >= tail || i % step == 0);
    thinned.map(|(_, point)| *point).collect()
}

/// Block maxima and their fit, and how far to the right that reaches, in us; none without two blocks.
pub(super) fn maxima(series: &Series, expected: &MaximumExpected) -> (Option<Panel>, f64) {
    let chosen = expected.stated.figure();
    let fitted = expected.sizes.iter().find(|size| chosen.is_some() && size.level.figure() == chosen);
    let smallest = BLOCK_SIZES_NS[0].max(series.block_ns);
    let mut block_ns = fitted.map_or(smallest, |size| size.block_ns);
    let mut values: Vec<u64> = series.grouped(block_ns).iter().map(|block| block.max_ns).collect();
    if values.len() < 10 {
        block_ns = series.block_ns;
        values = series.entries().map(|entry| entry.max_ns).collect();
    }
    if values.len() < 2 {
        return (None, 0.0);
    }
    values.sort_unstable();
    let n = values.len() as f64;
    let survival = |i: usize| 1.0 - (i as f64 + 0.5) / n;
    let step = values.len().div_ceil(MOST_POINTS).max(1);
    let shown = values.iter().enumerate().filter(|(i, _)| i % step == 0 || i + 30 >= values.len());
    let points = shown.map(|(i, ns)| Point {
        x: us(*ns),
        y: survival(i),
        label: format!(
            "{} of {} blocks are above {}",
            count((values.len() - 1 - i) as u64),
            count(values.len() as u64),
            latency(*ns)
        ),
    });
    let observed = Shape::Points { symbol: Symbol::Circle, points: points.collect() };
    let mut layers = vec![Layer::new(3, &format!("maxima of blocks of {}", duration(block_ns)), observed)];
    let mut least = 0.4 / n;
    let mut reach = values.last().map_or(0.0, |ns| us(*ns));
    if let Some(level) = chosen {
        let p = block_ns as f64 / expected.horizon_ns.max(1) as f64;
        least = least.min(p / 3.0);
        reach = reach.max(level.interval_ns.high / 1000.0);
        layers.extend(fit_layers(level, p, expected.horizon_ns));
    }
    let y = Axis::log("share of blocks above", least, 1.0);
    (Some(Panel { y, height: 2, layers, rules: Vec::new() }), reach)
}

fn fit_layers(level: &ReturnLevel, p: f64, horizon_ns: u64) -> [Layer; 3] {
    let x = |ns: f64| (ns / 10.0).round() / 100.0;
    let lowest = (p / 2.0).ln();
    let at = |i: u32| (lowest * f64::from(i) / f64::from(FITTED)).exp().min(0.999);
    let curve = (1..=FITTED).map(|i| (x(level.gev.exceeded_with(at(i))), Some(at(i)))).filter(|(x, _)| *x > 0.0);
    let interval = [level.interval_ns.low, level.interval_ns.high].map(|ns| (x(ns), Some(p)));
    let horizon = duration(horizon_ns);
    let point = Point { x: x(level.level_ns), y: p, label: stated(horizon_ns, level) };
    [
        Layer::new(2, "fit (GEV)", Shape::Line(curve.collect())),
        Layer::new(4, &format!("95 % of the maximum in {horizon}"), Shape::Line(interval.to_vec())).dashed(1),
        Layer::new(
            4,
            &format!("maximum expected in {horizon}"),
            Shape::Points { symbol: Symbol::Diamond, points: vec![point] },
        ),
    ]
}
