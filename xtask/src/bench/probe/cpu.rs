//! CPU time per sample.
#![expect(clippy::cast_precision_loss, reason = "a few seconds in ns")]

use super::process::{self, Used};
use super::rig::{Instrument, Rig, Running, Shape, effort};
use super::statistics::{median, ratio};
use crate::bench::{Depth, table::Row};
use anyhow::Result;
use std::time::Duration;

/// CPU time of the whole instrument and of its sampling threads, per sample, in us.
#[derive(Debug, Clone, Copy)]
struct Cost {
    all_us: f64,
    sampling_us: f64,
}

pub(in crate::bench) fn run(depth: Depth) -> Result<Vec<Row>> {
    let rig = Rig::new()?;
    let (turn, rounds) = effort(depth, (3, 7), (2, 2));
    let mut rows = Vec::new();
    for (interval_us, threads) in [(1000, 1), (100, 1), (1000, 4), (100, 4)] {
        let shape = Shape::new(interval_us, threads);
        let mut costs: [Vec<Cost>; 3] = Default::default();
        for _ in 0..rounds {
            for (instrument, costs) in
                [Instrument::Probe, Instrument::Cyclictest, Instrument::Bare].into_iter().zip(&mut costs)
            {
                costs.push(cost(&rig.start(instrument, &shape, turn * 3)?, turn)?);
            }
        }
        let [ours, theirs, bare] = &costs;
        let figure = format!("{} kHz, {threads} thread{}", 1000 / interval_us, if threads == 1 { "" } else { "s" });
        let all = |costs: &[Cost]| costs.iter().map(|cost| cost.all_us).collect::<Vec<_>>();
        let sampling = |costs: &[Cost]| costs.iter().map(|cost| cost.sampling_us).collect::<Vec<_>>();
        let name = format!("CPU time per sample, {figure}");
        rows.push(row(name, "cyclictest", &all(ours), &all(theirs), 1.0));
        let name = format!("CPU time per sample of the sampling thread, {figure}");
        rows.push(row(name, "bare loop", &sampling(ours), &sampling(bare), 1.03));
    }
    Ok(rows)
}

fn row(figure: String, against: &str, ours: &[f64], reference: &[f64], goal: f64) -> Row {
    let pairs: Vec<(f64, f64)> = ours.iter().copied().zip(reference.iter().copied()).collect();
    let found = ratio(&pairs);
    Row {
        figure,
        ours: format!("{:.2} us", median(ours)),
        reference: format!("{against} {:.2} us", median(reference)),
        ratio: found.to_string(),
        goal: format!("≤ {goal:.2}{}", found.doubt(goal)),
        reached: found.at_most(goal),
    }
}

fn cost(running: &Running, turn: Duration) -> Result<Cost> {
    let (sampling, helping) = running.tasks()?;
    // Setting up is over.
    std::thread::sleep(Duration::from_millis(500));
    let read = || -> Result<(Used, Used)> { Ok((process::used(&sampling)?, process::used(&helping)?)) };
    let before = read()?;
    std::thread::sleep(turn);
    let after = read()?;
    let us = |now: u64, before: u64| (now - before) as f64 / 1000.0;
    let samples = (after.0.sleeps - before.0.sleeps).max(1) as f64;
    let sampling_us = us(after.0.run_ns, before.0.run_ns) / samples;
    Ok(Cost { all_us: sampling_us + us(after.1.run_ns, before.1.run_ns) / samples, sampling_us })
}
