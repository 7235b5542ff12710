//! Figures: what a picture shows, apart from how it is drawn.
//!
//! A [`Figure`] holds words, axes and values; a page, a static picture and a table are made from the same one. Latencies
//! are in us, times in the unit that the axis names. Text in it is [`plain`](crate::plain): nothing in it can pretend
//! to be something else.

mod by_thread;
mod events;
mod exceedance;
mod heat_map;
mod histogram;
mod over_time;
mod scale;
mod sides;
mod trend;

#[cfg(test)]
mod tests;

use crate::campaign::model::Gate;
use crate::latency::assessment::Assessment;
use crate::latency::blocks::Series;
use crate::latency::timeline::Timeline;
use crate::plain::plain;
use crate::result::RunResult;
use latprobe::stream::Folded;
use serde::Serialize;

pub use sides::{Overlaid, exceedance_of, histograms_of, maxima_of};
pub use trend::{Followed, TrendPoint, trend};

/// Hues that a drawer must tell apart, in light and in dark.
pub const HUES: u8 = 8;
/// Patterns of a line, so that nothing is told by its hue alone.
pub const DASHES: u8 = 4;

/// A figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// Its name in file names and addresses: `histogram`, `over-time` …
    pub id: String,
    /// Title.
    pub title: String,
    /// What there is to see, in words.
    pub summary: String,
    /// The axis that all panels share.
    pub x: Axis,
    /// From top to bottom; at least one.
    pub panels: Vec<Panel>,
    /// What a reader must know to read it rightly.
    pub notes: Vec<String>,
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Axis {
    /// What it measures, with the unit.
    pub label: String,
    /// How.
    pub scale: Scale,
    /// Lower end; above 0 on a logarithmic scale.
    pub from: f64,
    /// Upper end, above `from`.
    pub to: f64,
}

/// How an axis measures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// In equal steps.
    Linear,
    /// By the logarithm.
    Log,
    /// It does not: position `i` has the i-th name.
    Names(Vec<String>),
}

/// One of the pictures above each other that share a horizontal axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Panel {
    /// Its vertical axis.
    pub y: Axis,
    /// Share of the height, 1 and up.
    pub height: u8,
    /// What it shows, the last on top.
    pub layers: Vec<Layer>,
    /// Lines across it.
    pub rules: Vec<Rule>,
}

/// Values of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Layer {
    /// Its name in the legend; layers of one name are shown and hidden together.
    pub name: String,
    /// Hue, below [`HUES`].
    pub hue: u8,
    /// Pattern of lines, below [`DASHES`]; 0: solid.
    pub dash: u8,
    /// The values.
    pub shape: Shape,
}

/// Values and how they are meant.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// y holds from x to the next x.
    Steps(Vec<(f64, f64)>),
    /// A line through the points; absent: a gap.
    Line(Vec<(f64, Option<f64>)>),
    /// From (second) to (third) at each x; absent: a gap.
    Band(Vec<(f64, Option<(f64, f64)>)>),
    /// Single values.
    Points {
        /// How a point looks.
        symbol: Symbol,
        /// The points.
        points: Vec<Point>,
    },
    /// Counts over a grid.
    Cells {
        /// From and to of each column.
        columns: Vec<(f64, f64)>,
        /// From and to of each row.
        rows: Vec<(f64, f64)>,
        /// Column, row and count (≥ 1) of each cell that has one.
        counts: Vec<(u32, u32, u64)>,
    },
}

/// How a point looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Symbol {
    /// ●
    Circle,
    /// ▲
    Triangle,
    /// ■
    Square,
    /// ◆
    Diamond,
    /// A short upright line.
    Tick,
}

/// A single value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// Where.
    pub x: f64,
    /// How much.
    pub y: f64,
    /// What else is known of it.
    pub label: String,
}

/// A line across a panel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rule {
    /// The axis that it is a value of.
    pub along: Along,
    /// The value.
    pub at: f64,
    /// Its name, short.
    pub label: String,
    /// A limit that must hold; else a mark.
    pub limit: bool,
}

/// An axis of a panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Along {
    /// The horizontal one: the line stands upright.
    X,
    /// The vertical one.
    Y,
}

/// What the figures of a run are made of.
#[derive(Debug, Clone, Copy)]
pub struct Material<'a> {
    /// The run.
    pub result: &'a RunResult,
    /// Its segments.
    pub segments: &'a [Folded],
    /// Its counts over time.
    pub timeline: &'a Timeline,
    /// Its block maxima.
    pub series: &'a Series,
    /// Its statistics.
    pub assessment: &'a Assessment,
    /// Its limits.
    pub gate: &'a Gate,
    /// Times in which the host talked to the board: number of the segment in `segments`, from and to on its `CLOCK_MONOTONIC` in ns.
    pub contacts: &'a [(usize, u64, u64)],
}

/// Every figure of a run that has samples; none for one without.
pub fn of_run(material: &Material) -> Vec<Figure> {
    if material.result.histogram.is_empty() {
        return Vec::new();
    }
    let mut figures = vec![
        histogram::of_run(material),
        over_time::of_run(material),
        heat_map::of_run(material),
        exceedance::of_run(material),
    ];
    figures.extend(by_thread::of_run(material));
    figures
}

impl Axis {
    fn linear(label: &str, from: f64, to: f64) -> Self {
        let to = if to > from { to } else { from + 1.0 };
        Self { label: label.to_owned(), scale: Scale::Linear, from, to }
    }

    /// `from` and `to` above 0.
    fn log(label: &str, from: f64, to: f64) -> Self {
        let to = if to > from { to } else { from * 10.0 };
        Self { label: label.to_owned(), scale: Scale::Log, from, to }
    }

    fn names(label: &str, names: Vec<String>) -> Self {
        let to = names.len().max(1) as f64 - 0.5;
        Self { label: label.to_owned(), scale: Scale::Names(names), from: -0.5, to }
    }
}

impl Layer {
    /// The `number`-th of its panel: each has another look.
    fn new(number: usize, name: &str, shape: Shape) -> Self {
        let hue = u8::try_from(number % usize::from(HUES)).unwrap_or(0);
        let dash = u8::try_from(number / usize::from(HUES) % usize::from(DASHES)).unwrap_or(0);
        Self { name: plain(name).into_owned(), hue, dash, shape }
    }

    fn dashed(self, dash: u8) -> Self {
        Self { dash, ..self }
    }
}

impl Rule {
    fn limit(along: Along, at: f64, label: String) -> Self {
        Self { along, at, label, limit: true }
    }

    fn mark(along: Along, at: f64, label: impl Into<String>) -> Self {
        Self { along, at, label: label.into(), limit: false }
    }
}

/// ns as us.
fn us(ns: u64) -> f64 {
    ns as f64 / 1000.0
}

/// The unit that suits times up to `length_ns`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TimeUnit {
    name: &'static str,
    ns: u64,
}

impl TimeUnit {
    fn of(length_ns: u64) -> Self {
        use crate::units::{HOUR, MINUTE, SECOND};
        let (name, ns) = match length_ns {
            0..=180_000_000_000 => ("s", SECOND),
            180_000_000_001..=10_800_000_000_000 => ("min", MINUTE),
            _ => ("h", HOUR),
        };
        Self { name, ns }
    }

    /// `ns` in this unit, to a ten-thousandth.
    fn value(self, ns: u64) -> f64 {
        (ns as f64 / self.ns as f64 * 10_000.0).round() / 10_000.0
    }

    fn axis(self, length_ns: u64) -> Axis {
        Axis::linear(&format!("measuring time [{}]", self.name), 0.0, self.value(length_ns))
    }
}
