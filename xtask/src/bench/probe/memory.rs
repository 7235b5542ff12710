//! Memory, resident and locked.
#![expect(clippy::cast_precision_loss, reason = "megabytes")]

use super::process;
use super::rig::{Instrument, Rig, Shape, effort};
use super::statistics::median;
use crate::bench::{Depth, table::Row};
use anyhow::Result;
use std::time::Duration;

pub(in crate::bench) fn run(depth: Depth) -> Result<Vec<Row>> {
    let rig = Rig::new()?;
    let (_, rounds) = effort(depth, (1, 5), (1, 1));
    let mut rows = Vec::new();
    for (threads, bins) in [(1, 1000), (128, 10_000)] {
        let shape = Shape { bins, ..Shape::new(10_000, threads) };
        let mut found: [Vec<(u64, u64)>; 3] = Default::default();
        for _ in 0..rounds {
            for (instrument, found) in
                [Instrument::Probe, Instrument::Cyclictest, Instrument::Bare].into_iter().zip(&mut found)
            {
                let running = rig.start(instrument, &shape, Duration::from_secs(30))?;
                running.tasks()?;
                std::thread::sleep(Duration::from_millis(1500));
                found.push(process::memory_kb(running.pids())?);
            }
        }
        type Part = fn(&(u64, u64)) -> u64;
        let parts: [(&str, Part); 2] = [("resident at its peak", |kb| kb.0), ("locked", |kb| kb.1)];
        for (name, part) in parts {
            let [ours, theirs, bare] =
                found.each_ref().map(|all| median(&all.iter().map(|kb| part(kb) as f64).collect::<Vec<_>>()));
            rows.push(Row {
                figure: format!("memory {name}, {threads} thread{} × {bins} bins", if threads == 1 { "" } else { "s" }),
                ours: format!("{:.2} MB", ours / 1000.0),
                reference: format!("cyclictest {:.2} MB (bare loop {:.2} MB)", theirs / 1000.0, bare / 1000.0),
                ratio: format!("{:.2}", ours / theirs),
                goal: "≤ 0.65".to_owned(),
                reached: Some(ours <= 0.65 * theirs),
            });
        }
    }
    Ok(rows)
}
