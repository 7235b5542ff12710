//! Wake-ups of threads that do not sample.
#![expect(clippy::cast_precision_loss, reason = "wake-ups of a few seconds")]

use super::process;
use super::rig::{Instrument, Rig, Shape, effort};
use crate::bench::{Depth, table::Row};
use anyhow::{Context, Result};
use latprobe::cpulist::CpuList;

/// Wake-ups per second, and those of threads that may run on the measured CPU.
type Rates = (f64, f64);

pub(in crate::bench) fn run(depth: Depth) -> Result<Vec<Row>> {
    let rig = Rig::new()?;
    let (turn, _) = effort(depth, (20, 1), (11, 1));
    let shape = Shape::new(1000, 1);
    let rates = |instrument| -> Result<Rates> {
        let running = rig.start(instrument, &shape, turn * 3)?;
        let (_, helping) = running.tasks()?;
        std::thread::sleep(std::time::Duration::from_millis(500));
        let before = helping.iter().map(process::Task::used).collect::<Result<Vec<_>>>()?;
        std::thread::sleep(turn);
        let (mut all, mut beside) = (0, 0);
        for (task, before) in helping.iter().zip(before) {
            let woken = task.used()?.sleeps - before.sleeps;
            all += woken;
            let allowed = CpuList::parse(&task.allowed).ok().context("the kernel lists CPUs")?;
            if allowed.contains(shape.cpus[0]) {
                beside += woken;
            }
        }
        Ok((all as f64 / turn.as_secs_f64(), beside as f64 / turn.as_secs_f64()))
    };
    let (ours, theirs) = (rates(Instrument::Probe)?, rates(Instrument::Cyclictest)?);
    let row = |figure: &str, (ours, theirs): (f64, f64), goal: f64| Row {
        figure: figure.to_owned(),
        ours: format!("{ours:.2} /s"),
        reference: format!("cyclictest {theirs:.1} /s"),
        ratio: String::new(),
        goal: format!("≤ {goal}"),
        reached: Some(ours <= goal),
    };
    Ok(vec![
        row("wake-ups of helper threads, checkpoints every 10 s", (ours.0, theirs.0), 1.0),
        row("… of those that may run on the measured CPU", (ours.1, theirs.1), 0.0),
    ])
}
