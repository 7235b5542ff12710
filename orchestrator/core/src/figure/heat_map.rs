//! Counts over time and latency.

use super::scale::{Groups, latency_axis};
use super::{Figure, Layer, Material, Panel, Shape, TimeUnit, us};
use crate::quantity::{count, duration};
use crate::result::Bin;

/// Rows are at least so much of their latency wide.
const ROW: u64 = 14;
/// Most rows below the first logarithmic ones: bins of a ns would make thousands.
const LEAST_OF_ALL: u64 = 400;

pub(super) fn of_run(material: &Material) -> Figure {
    let columns = &material.timeline.columns;
    let unit = TimeUnit::of(material.result.measured_ns);
    let all: Vec<&Bin> = columns.iter().flat_map(|column| &column.bins).collect();
    let highest = all.iter().map(|bin| super::scale::end_ns(bin)).max().unwrap_or(1);
    let rows = Groups::new(all.iter().copied(), |from| (from / ROW).max(highest / LEAST_OF_ALL / 10));
    let mut counts = Vec::new();
    for (number, column) in (0u32..).zip(columns) {
        let by_row = rows.counts(&column.bins);
        counts.extend((0u32..).zip(by_row).filter(|(_, n)| *n > 0).map(|(row, n)| (number, row, n)));
    }
    let lowest = rows.spans.first().map_or(1, |(from, to)| if *from == 0 { to / 2 } else { *from });
    let y = latency_axis("latency [us]", true, lowest.max(1), highest);
    let from = y.from;
    let shape = Shape::Cells {
        columns: columns.iter().map(|column| (unit.value(column.from_ns), unit.value(column.to_ns))).collect(),
        rows: rows.spans.iter().map(|(low, high)| (us(*low).max(from), us(*high))).collect(),
        counts,
    };
    let longest = columns.iter().map(|column| column.to_ns - column.from_ns).max().unwrap_or(0);
    Figure {
        id: "heat-map".to_owned(),
        title: "Time and latency".to_owned(),
        summary: format!(
            "How many cycles fell into which latency in each of {} stretches of up to {}: the stronger the colour, the more, by the logarithm.",
            count(columns.len() as u64),
            duration(longest),
        ),
        x: unit.axis(material.result.measured_ns),
        panels: vec![Panel { y, height: 1, layers: vec![Layer::new(0, "cycles", shape)], rules: Vec::new() }],
        notes: Vec::new(),
    }
}
