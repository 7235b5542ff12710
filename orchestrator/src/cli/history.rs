//! `latlab history`: the nights of a target.

use super::diagnostics::print_json;
use super::run::ResultsArgs;
use super::show::{print, store_failed};
use super::{Common, Format};
use crate::exit::Exit;
use crate::report::index::{self, Entry, Metric};
use crate::report::statistics::rounded;
use crate::report::text::sparkline::sparkline;
use crate::report::text::{WIDTH, plain_table, table_text, wrapped};
use crate::store::{Store, StoreError};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use latlab_core::judgement::{Validity, Verdict};
use latlab_core::quantity::micros;
use latlab_core::trend::{Change, Night, Rule, Standing, rise, stands};
use serde::Serialize;
use std::collections::BTreeSet;
use std::io::Write;

/// Shows a target's runs over time, by cell: a sparkline, how the last run stands against those before, and when the level rose.
///
/// INVALID runs have no part in figures. Rules: docs/statistics.md.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Target.
    target: String,
    /// Figure to follow.
    #[arg(long, default_value = "max", value_parser = metric_names())]
    metric: Metric,
    /// Newest runs that count, per cell.
    #[arg(long, default_value_t = 90, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    last: u16,
    /// Only this cell, run by run.
    #[arg(long)]
    cell: Option<String>,
    #[command(flatten)]
    results: ResultsArgs,
}

pub(super) fn metric_names() -> impl TypedValueParser<Value = Metric> {
    PossibleValuesParser::new(Metric::ALL.map(|(name, _)| name))
        .try_map(|name| Metric::named(&name).ok_or_else(|| format!("unknown metric {name}")))
}

/// `--format json`.
#[derive(Debug, Serialize)]
struct History<'a> {
    format: u32,
    target: &'a str,
    metric: &'static str,
    /// `ns`, or `periods`.
    unit: &'static str,
    cells: Vec<Cell<'a>>,
}

#[derive(Debug, Serialize)]
struct Cell<'a> {
    campaign: &'a str,
    cell: &'a str,
    runs: Vec<Run<'a>>,
    /// INVALID runs and runs without the figure, which count for nothing.
    left_out: usize,
    /// The last run against those before it.
    last: Option<Night>,
    /// A rise of the level.
    rise: Option<Rise<'a>>,
}

#[derive(Debug, Serialize)]
struct Run<'a> {
    execution: &'a str,
    run: &'a str,
    started_at: Option<&'a str>,
    validity: Validity,
    verdict: Verdict,
    cycles: u64,
    /// Absent: it counts for nothing.
    figure: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Rise<'a> {
    /// First execution of the new level.
    from: &'a str,
    #[serde(flatten)]
    change: Change,
}

/// Runs the verb.
pub(super) fn run(common: &Common, args: &Args) -> Exit {
    let read = || -> Result<_, StoreError> {
        let store = Store::open(args.results.path())?;
        let newest = index::newest(&store, &args.target, args.last.into())?;
        Ok((store, newest))
    };
    let (store, (entries, unreadable)) = match read() {
        Ok(read) => read,
        Err(error) => return store_failed(&error),
    };
    for what in &unreadable {
        let _ = writeln!(std::io::stderr(), "warning: left out: {what}");
    }
    let cells = cells(&entries, args);
    if cells.is_empty() {
        return nothing(&store, &entries, args);
    }
    let metric = args.metric.name();
    let unit = if args.metric == Metric::Missed { "periods" } else { "ns" };
    let history = History { format: 1, target: &args.target, metric, unit, cells };
    match common.format {
        Format::Json => print_json(&history),
        Format::Text => print(&text(&history, args.cell.is_some())),
    }
    Exit::Success
}

fn nothing(store: &Store, entries: &[Entry], args: &Args) -> Exit {
    let listed = |names: BTreeSet<String>| match names.is_empty() {
        true => "none".to_owned(),
        false => names.into_iter().collect::<Vec<_>>().join(", "),
    };
    let message = match &args.cell {
        Some(cell) if !entries.is_empty() => {
            let known = listed(entries.iter().map(|entry| entry.cell.clone()).collect());
            format!("no finished run of cell `{cell}` on {}; cells: {known}", args.target)
        }
        _ => {
            let known = listed(index::targets(store));
            format!("no finished run on target `{}`; targets: {known}", args.target)
        }
    };
    let _ = writeln!(std::io::stderr(), "error: {message}");
    Exit::Usage
}

/// By campaign and cell, in the order of their first run.
fn cells<'a>(entries: &'a [Entry], args: &Args) -> Vec<Cell<'a>> {
    let mut groups: Vec<Vec<&'a Entry>> = Vec::new();
    for entry in entries.iter().filter(|entry| args.cell.as_ref().is_none_or(|cell| entry.cell == *cell)) {
        let same = |group: &&mut Vec<&Entry>| group[0].campaign == entry.campaign && group[0].cell == entry.cell;
        match groups.iter_mut().find(same) {
            Some(group) => group.push(entry),
            None => groups.push(vec![entry]),
        }
    }
    groups.into_iter().map(|group| cell(&group, args.metric)).collect()
}

fn cell<'a>(entries: &[&'a Entry], metric: Metric) -> Cell<'a> {
    let run = |entry: &&'a Entry| Run {
        execution: &entry.execution,
        run: &entry.run,
        started_at: entry.started_at.as_deref(),
        validity: entry.validity,
        verdict: entry.verdict,
        cycles: entry.cycles,
        figure: if entry.validity == Validity::Invalid { None } else { entry.figure(metric) },
    };
    let runs: Vec<Run> = entries.iter().map(run).collect();
    let counted: Vec<(&'a str, f64)> = runs.iter().filter_map(|run| Some((run.execution, run.figure?))).collect();
    let figures: Vec<f64> = counted.iter().map(|(_, figure)| *figure).collect();
    let last = figures.split_last().map(|(last, before)| stands(Rule::default(), before, *last));
    let rise = rise(&figures).and_then(|change| Some(Rise { from: counted.get(change.first)?.0, change }));
    let (campaign, cell) = entries.first().map_or(("", ""), |first| (&first.campaign, &first.cell));
    Cell { campaign, cell, left_out: runs.len() - counted.len(), runs, last, rise }
}

fn text(history: &History, each_run: bool) -> String {
    let latency = history.unit == "ns";
    let unit = if latency { "us" } else { history.unit };
    let figure = |value: f64| if latency { micros(rounded(value)) } else { format!("{value:.0}") };
    let mut out = format!("{}: {} [{unit}]\n\n", history.target, history.metric);
    let mut table = plain_table(WIDTH);
    table.set_header(["campaign", "cell", "runs", "low", "median", "high", "last", ""]);
    let mut notes = String::new();
    for cell in &history.cells {
        let mut figures: Vec<f64> = cell.runs.iter().filter_map(|run| run.figure).collect();
        let last = figures.last().copied();
        figures.sort_unstable_by(f64::total_cmp);
        let at = |index: usize| figures.get(index).map_or("-".to_owned(), |value| figure(*value));
        let standing = match cell.last.map(|night| night.standing) {
            Some(Standing::Suspicious) => "SUSPICIOUS",
            Some(Standing::Ordinary) => "ordinary",
            _ => "too few to tell",
        };
        table.add_row([
            cell.campaign.to_owned(),
            cell.cell.to_owned(),
            figures.len().to_string(),
            at(0),
            at(figures.len().saturating_sub(1) / 2),
            at(figures.len().saturating_sub(1)),
            last.map_or("-".to_owned(), figure),
            standing.to_owned(),
        ]);
        notes += &format!("{} / {}\n  {}\n", cell.campaign, cell.cell, sparkline(&newest(&cell.runs, WIDTH - 2)));
        if let Some(rise) = &cell.rise {
            let (before, after) = (figure(rise.change.before), figure(rise.change.after));
            let text =
                format!("RISE from {before} to {after} {unit} at {} (p = {:.1e})", rise.from, rise.change.test.p);
            notes += &wrapped(&text, 2, WIDTH);
        }
        if cell.left_out > 0 {
            notes +=
                &format!("  {} of {} runs left out: INVALID, or without this figure\n", cell.left_out, cell.runs.len());
        }
    }
    out += &table_text(&table);
    out += &format!("\n{notes}");
    if each_run {
        out += &format!("\n{}", runs(history, &figure));
    }
    out
}

/// Figures of the newest `count` runs, newest last; none for a run that counts for nothing.
fn newest(runs: &[Run], count: usize) -> Vec<Option<f64>> {
    runs[runs.len().saturating_sub(count)..].iter().map(|run| run.figure).collect()
}

fn runs(history: &History, figure: &dyn Fn(f64) -> String) -> String {
    let mut table = plain_table(WIDTH);
    table.set_header(["execution", "run", "cycles", history.metric, "validity", "verdict"]);
    for run in history.cells.iter().flat_map(|cell| &cell.runs) {
        table.add_row([
            run.execution.to_owned(),
            run.run.to_owned(),
            run.cycles.to_string(),
            run.figure.map_or("-".to_owned(), figure),
            run.validity.to_string(),
            run.verdict.to_string(),
        ]);
    }
    table_text(&table)
}
