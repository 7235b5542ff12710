//! A year of nights, twelve runs each: how long `history`, `compare` and `gate` take on it.

use super::{Depth, fastest, table::Row};
use crate::{build, paths, shell};
use anyhow::{Result, bail};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(1);

pub(super) fn run(depth: Depth) -> Result<Vec<Row>> {
    let latlab = build::latlab_release()?;
    let results = build::target_directory().join("bench-nights");
    paths::remove(&results)?;
    let nights = if depth == Depth::Quick { 20 } else { 365 };
    // The tests know how to write a night; they write these.
    let test = ["test", "--quiet", "--locked", "--package", "latlab", "--test", "it", "nights::many_nights"];
    shell::run(build::cargo().args(test).env("LATLAB_NIGHTS", nights.to_string()).env("LATLAB_NIGHTS_IN", &results))?;
    let rows = rows(&latlab, &results, nights);
    paths::remove(&results)?;
    rows
}

fn rows(latlab: &Path, results: &Path, nights: u32) -> Result<Vec<Row>> {
    let command = |arguments: &[&str]| {
        let mut command = Command::new(latlab);
        command.args(arguments).env("LATLAB_RESULTS", results);
        command
    };
    let mut rows = Vec::new();
    let begun = Instant::now();
    shell::run(command(&["history", "board"]).stdout(std::process::Stdio::null()))?;
    rows.push(row(
        format!("`latlab history` of {nights} nights × 12 runs, the index made anew"),
        begun.elapsed(),
        false,
    ));
    let names = names(results)?;
    let Some((newest, before)) = names.split_last() else { bail!("no night was written") };
    let baseline = &before[..before.len().min(30)];
    let mut set = command(&["baseline", "set", "--reason", "the first month"]);
    shell::run(set.args(baseline).stdout(std::process::Stdio::null()))?;
    for (name, arguments) in [
        ("history", vec!["history", "board"]),
        ("compare --by isolcpus", vec!["compare", newest, "--by", "isolcpus"]),
        ("gate", vec!["gate", newest]),
    ] {
        let time = fastest(3, || Ok(command(&arguments)))?;
        rows.push(row(format!("`latlab {name}` in {nights} nights × 12 runs"), time, true));
    }
    Ok(rows)
}

fn names(results: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(results)? {
        let entry = entry?;
        if entry.path().join("plan.json").is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

fn row(figure: String, time: Duration, limited: bool) -> Row {
    Row {
        figure,
        ours: format!("{:.2} s", time.as_secs_f64()),
        reference: String::new(),
        ratio: String::new(),
        goal: if limited { "≤ 1 s".into() } else { String::new() },
        reached: limited.then_some(time <= LIMIT),
    }
}
