//! Nights of one cell.

use super::{Along, Axis, Figure, Layer, Panel, Point, Rule, Shape, Symbol};
use crate::plain::plain;
use crate::trend::Change;

/// One night.
#[derive(Debug, Clone, PartialEq)]
pub struct TrendPoint {
    /// Its name on the axis: its date.
    pub name: String,
    /// Figures in ns, one for each line; absent: it counts for nothing.
    pub figures: Vec<Option<f64>>,
    /// What else is known of it.
    pub label: String,
}

/// A figure that is followed.
#[derive(Debug, Clone, PartialEq)]
pub struct Followed {
    /// `max`, `p99.99`.
    pub name: String,
    /// The level rose; [`Change::first`] counts in the nights.
    pub rise: Option<Change>,
    /// The last night stands out.
    pub suspicious: bool,
}

/// The nights of a cell, oldest first.
pub fn trend(title: &str, nights: &[TrendPoint], followed: &[Followed]) -> Figure {
    let us = |ns: f64| (ns / 10.0).round() / 100.0;
    let mut layers = Vec::new();
    let mut rules = Vec::new();
    let mut summary = Vec::new();
    for (number, line) in followed.iter().enumerate() {
        let dash = u8::try_from(number % 4).unwrap_or(0);
        let value =
            |(at, night): (usize, &TrendPoint)| (at as f64, night.figures.get(number).copied().flatten().map(us));
        let points: Vec<_> = nights.iter().enumerate().map(value).collect();
        if let Some(rise) = &line.rise {
            let name = nights.get(rise.first).map_or("", |night| &night.name);
            rules.push(Rule::mark(Along::X, rise.first as f64, format!("{} rose", line.name)));
            summary.push(format!(
                "{} rose from {:.1} to {:.1} us at {} (p = {:.1e}).",
                line.name,
                rise.before / 1000.0,
                rise.after / 1000.0,
                plain(name),
                rise.test.p
            ));
        }
        if let Some((at, night)) = nights.iter().enumerate().next_back().filter(|_| line.suspicious)
            && let Some(ns) = night.figures.get(number).copied().flatten()
        {
            let points = vec![Point { x: at as f64, y: us(ns), label: format!("{} is suspicious", line.name) }];
            layers.push(Layer::new(4, "suspicious", Shape::Points { symbol: Symbol::Diamond, points }));
            summary.push(format!("{} of the last night is suspicious.", line.name));
        }
        layers.push(Layer::new(number, &line.name, Shape::Line(points)).dashed(dash));
    }
    if summary.is_empty() {
        summary.push("No change of level, and the last night is as usual or cannot be told.".to_owned());
    }
    let left_out = nights.iter().filter(|night| night.figures.iter().all(Option::is_none)).count();
    let figures = nights.iter().flat_map(|night| night.figures.iter().flatten());
    let highest = figures.fold(0.0, |high: f64, ns| high.max(us(*ns)));
    let notes = match left_out {
        0 => Vec::new(),
        n => vec![format!("{n} of {} nights are left out: INVALID, or without these figures.", nights.len())],
    };
    Figure {
        id: "trend".to_owned(),
        title: plain(title).into_owned(),
        summary: summary.join(" "),
        x: Axis::names("", nights.iter().map(|night| plain(&night.name).into_owned()).collect()),
        panels: vec![Panel { y: Axis::linear("latency [us]", 0.0, highest * 1.1), height: 1, layers, rules }],
        notes,
    }
}
