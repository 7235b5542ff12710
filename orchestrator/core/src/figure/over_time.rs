//! Latency over time, and what else happened, on one time axis.

use super::events::events;
use super::histogram::limit_rules;
use super::scale::{is_wide, latency_axis};
use super::{Along, Axis, Figure, Layer, Material, Panel, Point, Shape, Symbol, TimeUnit, us};
use crate::latency::Probability;
use crate::latency::blocks::Series;
use crate::latency::timeline::{Column, Timeline};
use crate::quantity::{count, duration, latency};
use crate::result::WorstSample;
use latprobe::stream::Folded;

/// Most points of a line of block maxima: the largest of neighbours are shown where there are more blocks.
const MOST_MAXIMA: usize = 1200;
/// Most lines in a panel of frequencies or temperatures; of more, the lowest and the highest are shown.
const MOST_LINES: usize = 4;

pub(super) fn of_run(material: &Material) -> Figure {
    let length_ns = material.result.measured_ns;
    let unit = TimeUnit::of(length_ns);
    let (latencies, mut notes) = latencies(material, unit);
    let mut panels = vec![latencies];
    let (events, more) = events(material, unit);
    panels.extend(events);
    notes.extend(more);
    panels.extend(duty(material.timeline, unit));
    panels.extend(frequencies(material.timeline, unit));
    panels.extend(temperatures(material.timeline, unit));
    let segments = material.segments.iter().map(Folded::measured_ns).filter(|ns| *ns > 0).count();
    if segments > 1 {
        notes.push(format!("{segments} segments follow each other; the time between them is left out."));
    }
    Figure {
        id: "over-time".to_owned(),
        title: "Latency over time".to_owned(),
        summary: summary(material),
        x: unit.axis(length_ns),
        panels,
        notes,
    }
}

fn summary(material: &Material) -> String {
    let worst = material.result.worst.first().map_or(String::new(), |worst| {
        format!(" The worst sample, {}, came after {}.", latency(worst.latency_ns), duration(worst.since_start_ns))
    });
    format!(
        "Largest latency of each of {} blocks of {} over {}, with quantiles of each stretch between checkpoints.{worst}",
        count(material.series.len() as u64),
        duration(material.series.block_ns),
        duration(material.result.measured_ns),
    )
}

fn latencies(material: &Material, unit: TimeUnit) -> (Panel, Vec<String>) {
    let (maxima, per_point) = block_maxima(material.series, unit);
    let mut notes = Vec::new();
    if per_point > 1 {
        notes.push(format!("Each point is the largest of up to {per_point} neighbouring blocks; none is left out."));
    }
    let quantiles = ["0.5", "0.99", "0.999"].map(|q| quantile_line(&material.timeline.columns, q, unit));
    let mut layers = Vec::new();
    if let [Shape::Line(low), _, Shape::Line(high)] = &quantiles {
        let both = low.iter().zip(high).map(|((x, low), (_, high))| (*x, low.zip(*high))).collect();
        layers.push(Layer::new(6, "p50 to p99.9", Shape::Band(both)));
    }
    let looks = [("p50", 1, 2), ("p99", 2, 1), ("p99.9", 3, 3)];
    for ((name, hue, dash), line) in looks.into_iter().zip(quantiles) {
        layers.push(Layer::new(hue, name, line).dashed(dash));
    }
    layers.push(Layer::new(0, "block maximum", maxima));
    layers.push(Layer::new(4, "worst samples", worst(&material.result.worst, unit)));
    let (typical, highest) = typical_and_highest(material);
    let rules = limit_rules(material.gate, Along::Y);
    let far = rules.iter().map(|rule| rule.at).fold(0.0, f64::max);
    let wide = is_wide(typical, highest);
    let mut y = latency_axis("latency [us]", wide, typical / 4, highest);
    if far < us(highest) * 3.0 || wide {
        y.to = y.to.max(far * 1.1);
    }
    (Panel { y, height: 4, layers, rules }, notes)
}

/// A typical latency (the median) and the largest one, in ns.
fn typical_and_highest(material: &Material) -> (u64, u64) {
    let result = material.result;
    let typical = result.quantile("0.5").map_or(1, |median| median.ns);
    (typical.max(1), result.total.max.map_or(1, |max| max.at_most_ns.unwrap_or(max.ns)).max(1))
}

/// A gap parts segments, and windows in which nothing was recorded.
pub(super) fn block_maxima(series: &Series, unit: impl Into<Option<TimeUnit>>) -> (Shape, usize) {
    let unit = unit.into().unwrap_or_else(|| TimeUnit::of(series.covered_ns()));
    let per_point = series.len().div_ceil(MOST_MAXIMA).max(1);
    let mut line: Vec<(f64, Option<f64>)> = Vec::new();
    for segment in &series.segments {
        let mut before = None;
        for members in segment.chunk_by(|a, b| a.window / per_point as u64 == b.window / per_point as u64) {
            let Some(first) = members.first() else { continue };
            let largest = members.iter().fold(first, |most, m| if m.max_ns > most.max_ns { m } else { most });
            let group = first.window / per_point as u64;
            if before.is_some_and(|before| group > before + 1) {
                line.push((unit.value(first.at_ns), None));
            }
            before = Some(group);
            line.push((unit.value(largest.at_ns), Some(us(largest.max_ns))));
        }
        if let Some(last) = segment.last() {
            line.push((unit.value(last.at_ns), None));
        }
    }
    line.pop();
    (Shape::Line(line), per_point)
}

fn quantile_line(columns: &[Column], q: &str, unit: TimeUnit) -> Shape {
    let Ok(p) = Probability::parse(q) else { return Shape::Line(Vec::new()) };
    by_column(columns, unit, |column| column.quantile(&p).map(us))
}

/// A value held over each column; a gap parts segments.
fn by_column(columns: &[Column], unit: TimeUnit, value: impl Fn(&Column) -> Option<f64>) -> Shape {
    let mut line: Vec<(f64, Option<f64>)> = Vec::new();
    for segment in columns.chunk_by(|a, b| a.segment == b.segment) {
        for column in segment {
            line.push((unit.value(column.from_ns + (column.to_ns - column.from_ns) / 2), value(column)));
        }
        if let Some(last) = segment.last() {
            line.push((unit.value(last.to_ns), None));
        }
    }
    line.pop();
    Shape::Line(line)
}

fn worst(samples: &[WorstSample], unit: TimeUnit) -> Shape {
    let point = |sample: &WorstSample| Point {
        x: unit.value(sample.since_start_ns),
        y: us(sample.latency_ns),
        label: format!(
            "{} on {} after {}, cycle {}{}",
            latency(sample.latency_ns),
            sample.cpu.map_or_else(|| format!("thread {}", sample.thread), |cpu| format!("CPU {cpu}")),
            duration(sample.since_start_ns),
            count(sample.cycle),
            if sample.during_contact { ", while the host talked to the board" } else { "" }
        ),
    };
    Shape::Points { symbol: Symbol::Triangle, points: samples.iter().map(point).collect() }
}

fn duty(timeline: &Timeline, unit: TimeUnit) -> Option<Panel> {
    let line = |(index, name): (u32, &String)| {
        let shape = by_column(&timeline.columns, unit, |column| {
            let load = column.loads.get(&index)?;
            let should = (column.to_ns - column.from_ns).saturating_sub(load.pause_ns);
            (should > 0).then(|| (load.active_ns as f64 / should as f64 * 1000.0).round().min(1000.0) / 10.0)
        });
        let number = index as usize + 1;
        let dash = u8::try_from(number % 4).unwrap_or(0);
        Layer::new(number, &format!("{name}: duty"), shape).dashed(dash)
    };
    let layers: Vec<Layer> = (0..).zip(&timeline.loads).map(line).collect();
    (!layers.is_empty()).then(|| Panel {
        y: Axis::linear("duty [%]", 0.0, 105.0),
        height: 1,
        layers,
        rules: Vec::new(),
    })
}

fn frequencies(timeline: &Timeline, unit: TimeUnit) -> Option<Panel> {
    let of = |column: &Column, cpu: u32| column.frequencies_khz.get(&cpu).map(|khz| *khz as f64 / 1000.0);
    let keys = timeline.columns.iter().flat_map(|column| column.frequencies_khz.keys().copied());
    panel("frequency [MHz]", "frequency of CPU", keys, &timeline.columns, unit, of)
}

fn temperatures(timeline: &Timeline, unit: TimeUnit) -> Option<Panel> {
    let of = |column: &Column, zone: u32| column.temperatures_mc.get(&zone).map(|mc| *mc as f64 / 1000.0);
    let keys = timeline.columns.iter().flat_map(|column| column.temperatures_mc.keys().copied());
    panel("temperature [°C]", "temperature of zone", keys, &timeline.columns, unit, of)
}

/// A line for each key, or the lowest and the highest of many.
fn panel(
    label: &str,
    name: &str,
    keys: impl Iterator<Item = u32>,
    columns: &[Column],
    unit: TimeUnit,
    of: impl Fn(&Column, u32) -> Option<f64>,
) -> Option<Panel> {
    let keys: Vec<u32> = keys.collect::<std::collections::BTreeSet<_>>().into_iter().collect();
    let values = || columns.iter().flat_map(|column| keys.iter().filter_map(|key| of(column, *key)));
    let (low, high) = values().fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)));
    if low > high {
        return None;
    }
    let mut layers: Vec<Layer> = Vec::new();
    if keys.len() <= MOST_LINES {
        for (number, key) in keys.iter().enumerate() {
            let dash = u8::try_from(number % 4).unwrap_or(0);
            let line = by_column(columns, unit, |column| of(column, *key));
            layers.push(Layer::new(number + 1, &format!("{name} {key}"), line).dashed(dash));
        }
    } else {
        let most = |pick: fn(f64, f64) -> f64| {
            by_column(columns, unit, |column| keys.iter().filter_map(|key| of(column, *key)).reduce(pick))
        };
        layers.push(Layer::new(1, &format!("highest {name}s"), most(f64::max)));
        layers.push(Layer::new(2, &format!("lowest {name}s"), most(f64::min)).dashed(1));
    }
    let room = ((high - low) * 0.15).max(high.abs() * 0.05).max(0.5);
    Some(Panel {
        y: Axis::linear(label, (low - room).max(0.0).min(low), high + room),
        height: 1,
        layers,
        rules: Vec::new(),
    })
}
