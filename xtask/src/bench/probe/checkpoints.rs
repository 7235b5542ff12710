//! Whether checkpoints disturb the measurement.

use super::rig::{Instrument, Rig, Shape, effort};
use super::statistics::{median, quantile_us, ratio};
use crate::bench::{Depth, table::Row};
use anyhow::Result;
use std::time::Duration;

pub(in crate::bench) fn run(depth: Depth) -> Result<Vec<Row>> {
    let rig = Rig::new()?;
    let (turn, rounds) = effort(depth, (8, 12), (3, 2));
    let with = Shape { checkpoint: Duration::from_secs(1), ..Shape::new(100, 1) };
    let without = Shape { checkpoint: Duration::from_secs(3600), ..with.clone() };
    let mut pairs = Vec::new();
    for round in 0..rounds {
        let figure = |shape| -> Result<f64> {
            Ok(quantile_us(&rig.start(Instrument::Probe, shape, turn)?.histogram()?, 0.9999))
        };
        if round % 2 == 0 {
            let first = figure(&with)?;
            pairs.push((first, figure(&without)?));
        } else {
            let first = figure(&without)?;
            pairs.push((figure(&with)?, first));
        }
    }
    let (ours, theirs): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let found = ratio(&pairs);
    Ok(vec![Row {
        figure: format!("p99.99 at 10 kHz with checkpoints every second, {rounds} pairs"),
        ours: format!("{:.0} us", median(&ours)),
        reference: format!("without any {:.0} us", median(&theirs)),
        ratio: found.to_string(),
        goal: "no difference beyond the spread".to_owned(),
        reached: Some(found.low <= 1.0),
    }])
}
