//! What is measured, side by side: an instrument must not disturb what it measures.

use super::rig::{Instrument, Rig, Shape, effort};
use super::statistics::{distance, mean_us, median, quantile_us, ratio};
use crate::bench::{Depth, table::Row};
use anyhow::Result;

pub(in crate::bench) fn run(depth: Depth) -> Result<Vec<Row>> {
    let rig = Rig::new()?;
    let (turn, rounds) = effort(depth, (4, 24), (2, 3));
    let shape = Shape::new(1000, 1);
    let mut pairs = Vec::new();
    for round in 0..rounds {
        // Which of the two comes first changes: a machine that drifts favours neither.
        let order = [Instrument::Probe, Instrument::Cyclictest];
        let order = if round % 2 == 0 { order } else { [order[1], order[0]] };
        let first = rig.start(order[0], &shape, turn)?.histogram()?;
        let second = rig.start(order[1], &shape, turn)?.histogram()?;
        pairs.push(if round % 2 == 0 { (first, second) } else { (second, first) });
    }
    type Figure = fn(&[u64]) -> f64;
    let figures: [(&str, Figure); 2] = [("mean", mean_us), ("p99.9", |counts| quantile_us(counts, 0.999))];
    let mut rows: Vec<Row> = figures.into_iter().map(|(name, figure)| compared(name, &pairs, figure)).collect();
    rows.push(same_shape(&pairs));
    Ok(rows)
}

fn compared(name: &str, pairs: &[(Vec<u64>, Vec<u64>)], figure: fn(&[u64]) -> f64) -> Row {
    let values: Vec<(f64, f64)> = pairs.iter().map(|(ours, theirs)| (figure(ours), figure(theirs))).collect();
    let (ours, theirs): (Vec<f64>, Vec<f64>) = values.iter().copied().unzip();
    let found = ratio(&values);
    Row {
        figure: format!("latency, {name}, 1 kHz, {} pairs", pairs.len()),
        ours: format!("{:.1} us", median(&ours)),
        reference: format!("cyclictest {:.1} us", median(&theirs)),
        ratio: found.to_string(),
        goal: "lower end of the 95 % interval ≤ 1".to_owned(),
        reached: Some(found.low <= 1.0),
    }
}

/// Histograms of both differ no more than two runs of cyclictest do.
fn same_shape(pairs: &[(Vec<u64>, Vec<u64>)]) -> Row {
    let between: Vec<f64> = pairs.iter().map(|(ours, theirs)| distance(ours, theirs)).collect();
    let within: Vec<f64> = pairs.windows(2).map(|two| distance(&two[0].1, &two[1].1)).collect();
    let largest = within.iter().copied().fold(0.0, f64::max);
    Row {
        figure: "largest difference of the cumulative histograms".to_owned(),
        ours: format!("{:.3} to cyclictest", median(&between)),
        reference: format!("cyclictest to its next run {:.3} (up to {largest:.3})", median(&within)),
        ratio: String::new(),
        goal: "within cyclictest's own spread".to_owned(),
        reached: Some(median(&between) <= largest),
    }
}
