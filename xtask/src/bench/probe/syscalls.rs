//! System calls per sample of the sampling thread, by strace.

use super::rig::{Instrument, Rig, Shape, effort};
use crate::bench::{Depth, table::Row};
use crate::{shell, tools};
use anyhow::{Context, Result, bail};
use std::process::Command;

pub(in crate::bench) fn run(depth: Depth) -> Result<Vec<Row>> {
    let rig = Rig::new()?;
    let (turn, _) = effort(depth, (10, 1), (3, 1));
    let shape = Shape::new(1000, 1);
    let counted = |instrument| -> Result<(f64, String)> {
        let running = rig.start(instrument, &shape, turn * 3)?;
        let (sampling, _) = running.tasks()?;
        let thread = sampling.first().context("a thread samples")?.tid;
        let file = rig.folder().join("strace");
        // strace answers the signal with its table; its exit code is then that of the signal.
        let mut command = Command::new("timeout");
        command.args(["--signal=INT", &turn.as_secs().to_string()]).arg(tools::program("strace")?);
        command.args(["--summary-only", "--output"]).arg(&file).args(["--attach", &thread.to_string()]);
        shell::try_output(&mut command)?;
        calls(&crate::paths::read(&file)?)
    };
    let ((ours, our_calls), (theirs, their_calls)) = (counted(Instrument::Probe)?, counted(Instrument::Cyclictest)?);
    Ok(vec![Row {
        figure: "system calls per sample".to_owned(),
        ours: format!("{ours:.3} ({our_calls})"),
        reference: format!("cyclictest {theirs:.3} ({their_calls})"),
        ratio: format!("{:.2}", ours / theirs),
        goal: "1 sleep (the clock is read by the vDSO here)".to_owned(),
        // One getrusage per block of a second.
        reached: Some(ours <= 1.01),
    }])
}

/// Calls per `clock_nanosleep`, and how many of which.
fn calls(table: &str) -> Result<(f64, String)> {
    let rows = table.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let count = words.get(3)?.parse::<u32>().ok()?;
        words.first()?.parse::<f64>().ok()?;
        Some((*words.last()?, count)).filter(|(name, _)| *name != "total")
    });
    let rows: Vec<(&str, u32)> = rows.collect();
    let Some((_, sleeps)) = rows.iter().find(|(name, _)| *name == "clock_nanosleep") else {
        bail!("strace saw no sleep: {table}")
    };
    let all: u32 = rows.iter().map(|(_, count)| count).sum();
    let words: Vec<String> = rows.iter().map(|(name, count)| format!("{count} {name}")).collect();
    Ok((f64::from(all) / f64::from(*sleeps), words.join(", ")))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_table_of_strace() {
        let table = "% time     seconds  usecs/call     calls    errors syscall\n------ ----------- ----------- --------- --------- ----------------\n \
                     99.98    0.117640          58      2000           clock_nanosleep\n  0.02    0.000027           9        20         1 getrusage\n\
                     ------ ----------- ----------- --------- --------- ----------------\n100.00    0.117667          58      2020         1 total\n";
        let (ratio, words) = super::calls(table).unwrap();
        assert!((ratio - 1.01).abs() < 1e-9);
        assert_eq!(words, "2000 clock_nanosleep, 20 getrusage");
    }
}
