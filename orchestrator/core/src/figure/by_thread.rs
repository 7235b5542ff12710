//! Figures by thread, for runs of many CPUs.

use super::histogram::{limit_rules, thread_name};
use super::scale::{is_wide, latency_axis};
use super::{Along, Axis, Figure, Layer, Material, Panel, Point, Shape, Symbol, us};
use crate::quantity::latency;
use crate::result::{Bound, Figure as Latency, ThreadRow};

/// Fewer threads are told well enough by their lines in the histogram.
const FEWEST: usize = 5;

/// None of a run with few threads.
pub(super) fn of_run(material: &Material) -> Option<Figure> {
    let threads = &material.result.threads;
    if threads.len() < FEWEST {
        return None;
    }
    let names: Vec<String> = (0..threads.len()).map(|index| thread_name(material.result, index)).collect();
    let quantile = |thread: &ThreadRow, q: &str| thread.figures.quantiles.iter().find(|f| f.q == q).map(|f| f.figure);
    let kinds: [(&str, Symbol, Vec<Option<Latency>>); 3] = [
        ("p99", Symbol::Circle, threads.iter().map(|thread| quantile(thread, "0.99")).collect()),
        ("p99.99", Symbol::Square, threads.iter().map(|thread| quantile(thread, "0.9999")).collect()),
        ("max", Symbol::Triangle, threads.iter().map(|thread| thread.figures.max).collect()),
    ];
    let known = |kind: usize| kinds[kind].2.iter().flatten().map(|figure| figure.ns);
    let (lowest, highest) = (known(0).min().unwrap_or(1), known(2).max().unwrap_or(1));
    let wide = is_wide(lowest, highest);
    let mut layers = Vec::new();
    for (number, (kind, symbol, figures)) in kinds.iter().enumerate() {
        let point = |(i, figure): (usize, &Option<Latency>)| {
            let figure = (*figure)?;
            let sign = if figure.bound == Bound::Above { "> " } else { "" };
            let label = format!("{kind} of {}: {sign}{}", names[i], latency(figure.ns));
            Some(Point { x: i as f64, y: us(figure.ns), label })
        };
        let points = figures.iter().enumerate().filter_map(point).collect();
        layers.push(Layer::new(number, kind, Shape::Points { symbol: *symbol, points }));
    }
    let worst = threads.iter().enumerate().max_by_key(|(_, thread)| thread.figures.max.map(|max| max.ns));
    let summary = match worst.and_then(|(index, thread)| Some((index, thread.figures.max?))) {
        Some((index, max)) => {
            format!("The largest latency of {} threads is {}, of {}.", threads.len(), latency(max.ns), names[index])
        }
        None => format!("{} threads, none with a sample.", threads.len()),
    };
    let y = latency_axis("latency [us]", wide, lowest / 2, highest);
    let rules = limit_rules(material.gate, Along::Y).into_iter().filter(|rule| rule.at < y.to).collect();
    Some(Figure {
        id: "by-cpu".to_owned(),
        title: "By CPU".to_owned(),
        summary,
        x: Axis::names("", names.clone()),
        panels: vec![Panel { y, height: 1, layers, rules }],
        notes: Vec::new(),
    })
}
