//! `latlab gate`: did the night pass?

use super::diagnostics::print_json;
use super::history::metric_names;
use super::run::ResultsArgs;
use super::show::{print, store_failed};
use super::{Common, Format};
use crate::exit::Exit;
use crate::report::index::{self, Entry, Metric};
use crate::report::text::{WIDTH, plain_table, table_text, wrapped};
use crate::store::{Baseline, ExecutionDir, Store, StoreError};
use latlab_core::judgement::{Validity, Verdict};
use latlab_core::quantity::micros;
use latlab_core::trend::{FEWEST_NIGHTS, Night, Standings, relative};
use serde::Serialize;
use std::collections::BTreeSet;
use std::io::Write;

/// Judges a night, cell by cell: limits of the campaign, and the baseline of each cell (docs/statistics.md).
///
/// A broken limit fails (exit code 3) whatever re-runs say. Worse than the baseline fails only when confirmed by re-runs: name
/// their executions as well. Until then, and for INVALID or missing runs, the exit code is 6.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Executions that belong together: a night, and re-runs of suspicious cells; default: the newest.
    #[arg(value_name = "EXECUTION")]
    executions: Vec<String>,
    /// Figures held against the baseline.
    #[arg(long, value_delimiter = ',', default_value = "max,p99.99", value_parser = metric_names())]
    metrics: Vec<Metric>,
    /// Further suspicious runs of a cell before worse than the baseline is a failure.
    #[arg(long, default_value_t = 2, value_name = "N")]
    confirm: u8,
    #[command(flatten)]
    results: ResultsArgs,
}

/// `--format json`.
#[derive(Debug, Serialize)]
struct Report {
    format: u32,
    executions: Vec<String>,
    cells: Vec<Cell>,
}

#[derive(Debug, Serialize)]
struct Cell {
    campaign: String,
    cell: String,
    target: String,
    runs: usize,
    /// Planned, but not measured to the end.
    missing: usize,
    /// The worst; absent: nothing was measured.
    validity: Option<Validity>,
    /// Of the limits: FAIL if any run failed.
    verdict: Verdict,
    baseline: Vec<Against>,
    outcome: Outcome,
    /// Why, in plain words.
    reason: String,
}

#[derive(Debug, Serialize)]
struct Against {
    metric: &'static str,
    standing: Standings,
    /// Runs of the baseline that have the figure.
    baseline_runs: usize,
    runs: Vec<Option<Night>>,
}

/// Outcome of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Outcome {
    Pass,
    NotJudged,
    CannotTell,
    Suspicious,
    Invalid,
    Fail,
}

impl Outcome {
    fn name(self) -> &'static str {
        match self {
            Outcome::Pass => "PASS",
            Outcome::NotJudged => "NOT JUDGED",
            Outcome::CannotTell => "CANNOT TELL",
            Outcome::Suspicious => "SUSPICIOUS",
            Outcome::Invalid => "INVALID",
            Outcome::Fail => "FAIL",
        }
    }

    fn exit(self) -> Exit {
        match self {
            Outcome::Pass | Outcome::NotJudged => Exit::Success,
            Outcome::CannotTell | Outcome::Suspicious | Outcome::Invalid => Exit::Invalid,
            Outcome::Fail => Exit::GateFailed,
        }
    }
}

/// Runs the verb.
pub(super) fn run(common: &Common, args: &Args) -> Exit {
    let report = match report(args) {
        Ok(Some(report)) => report,
        Ok(None) => {
            let _ = writeln!(std::io::stderr(), "error: no execution in {}", args.results.path().display());
            return Exit::Usage;
        }
        Err(error) => return store_failed(&error),
    };
    match common.format {
        Format::Json => print_json(&report),
        Format::Text => print(&text(&report)),
    }
    Exit::combine(report.cells.iter().map(|cell| cell.outcome.exit()))
}

fn report(args: &Args) -> Result<Option<Report>, StoreError> {
    let store = Store::open(args.results.path())?;
    let executions = match args.executions.is_empty() {
        true => store.executions()?.into_iter().next_back().transpose()?.into_iter().collect(),
        false => args.executions.iter().map(|name| store.execution(name)).collect::<Result<Vec<_>, _>>()?,
    };
    if executions.is_empty() {
        return Ok(None);
    }
    let baselines = store.baselines()?;
    let mut needed: BTreeSet<String> = executions.iter().map(|execution| execution.name().to_owned()).collect();
    needed.extend(baselines.iter().flat_map(|baseline| &baseline.runs).map(|run| run.execution.clone()));
    let (entries, unreadable) = index::finished(&store, &needed)?;
    for what in &unreadable {
        let _ = writeln!(std::io::stderr(), "warning: {what}");
    }
    let mut cells = Vec::new();
    for planned in gather(&executions, &entries) {
        let own = baselines
            .iter()
            .find(|b| b.campaign == planned.campaign && b.cell == planned.cell && b.target == planned.target);
        cells.push(judge(args, planned, own, &entries));
    }
    let executions = executions.iter().map(|execution| execution.name().to_owned()).collect();
    Ok(Some(Report { format: 1, executions, cells }))
}

/// A cell on a target with its planned runs, and their figures where they were measured to the end.
struct Planned<'a> {
    campaign: &'a str,
    cell: &'a str,
    target: &'a str,
    runs: Vec<Option<&'a Entry>>,
}

fn gather<'a>(executions: &'a [ExecutionDir], entries: &'a [Entry]) -> Vec<Planned<'a>> {
    let mut cells: Vec<Planned> = Vec::new();
    for execution in executions {
        let campaign = execution.plan().campaign.name.as_str();
        for planned in &execution.plan().runs {
            let (cell, target) = (planned.cell.as_str(), planned.target.as_str());
            let entry = entries.iter().find(|entry| entry.is(execution.name(), &planned.name));
            let same = |c: &&mut Planned| (c.campaign, c.cell, c.target) == (campaign, cell, target);
            match cells.iter_mut().find(same) {
                Some(known) => known.runs.push(entry),
                None => cells.push(Planned { campaign, cell, target, runs: vec![entry] }),
            }
        }
    }
    cells
}

fn judge(args: &Args, planned: Planned, own: Option<&Baseline>, entries: &[Entry]) -> Cell {
    let measured: Vec<&Entry> = planned.runs.iter().copied().flatten().collect();
    let validity = measured.iter().map(|entry| entry.validity).max();
    let verdict = if measured.iter().any(|entry| entry.verdict == Verdict::Fail) {
        Verdict::Fail
    } else if measured.iter().any(|entry| entry.verdict == Verdict::Pass) {
        Verdict::Pass
    } else {
        Verdict::NotJudged
    };
    let valid: Vec<&Entry> = measured.iter().copied().filter(|entry| entry.validity != Validity::Invalid).collect();
    let against = own.map(|own| args.metrics.iter().map(|metric| held(args, *metric, own, &valid, entries)).collect());
    let against: Vec<Against> = against.unwrap_or_default();
    let missing = planned.runs.len() - measured.len();
    let (outcome, reason) = outcome(missing, validity, verdict, &against, own.is_some());
    Cell {
        campaign: planned.campaign.to_owned(),
        cell: planned.cell.to_owned(),
        target: planned.target.to_owned(),
        runs: planned.runs.len(),
        missing,
        validity,
        verdict,
        baseline: against,
        outcome,
        reason,
    }
}

/// Runs held against a baseline. A run of it that is gone, or lacks the figure, is left out.
fn held(args: &Args, metric: Metric, own: &Baseline, valid: &[&Entry], entries: &[Entry]) -> Against {
    let of_baseline = own.runs.iter().filter_map(|run| entries.iter().find(|entry| entry.is(&run.execution, &run.run)));
    let usable = of_baseline.filter(|entry| entry.validity != Validity::Invalid);
    let figures: Vec<f64> = usable.filter_map(|entry| entry.figure(metric)).collect();
    let nights: Vec<Option<f64>> = valid.iter().map(|entry| entry.figure(metric)).collect();
    let (standing, runs) = relative(&figures, &nights, args.confirm.into());
    Against { metric: metric.name(), standing, baseline_runs: figures.len(), runs }
}

/// The worst comes first: a broken limit, what was not measured as asked, what is worse than usual.
fn outcome(
    missing: usize,
    validity: Option<Validity>,
    verdict: Verdict,
    against: &[Against],
    has_baseline: bool,
) -> (Outcome, String) {
    let metrics = |standing: Standings| {
        let names: Vec<&str> = against.iter().filter(|a| a.standing == standing).map(|a| a.metric).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    if verdict == Verdict::Fail {
        (Outcome::Fail, "a limit is broken; `latlab show` says which".to_owned())
    } else if let Some(names) = metrics(Standings::Regressed) {
        (Outcome::Fail, format!("worse than the baseline, confirmed: {names}"))
    } else if missing > 0 {
        (Outcome::Invalid, format!("{missing} planned runs were not measured to the end"))
    } else if !matches!(validity, Some(Validity::Valid | Validity::Degraded)) {
        (Outcome::Invalid, "a run is INVALID; `latlab show` says why".to_owned())
    } else if let Some(names) = metrics(Standings::Suspicious) {
        (Outcome::Suspicious, format!("worse than the baseline: {names}; measure again to confirm"))
    } else if let Some(names) = metrics(Standings::CannotTell) {
        let few = against.iter().map(|a| a.baseline_runs).min().filter(|runs| *runs < FEWEST_NIGHTS);
        let why = few.map_or("a run does not tell".to_owned(), |runs| {
            format!("the baseline has {runs} usable runs, {FEWEST_NIGHTS} are needed")
        });
        (Outcome::CannotTell, format!("{names}: {why}"))
    } else if verdict == Verdict::NotJudged && !has_baseline {
        (Outcome::NotJudged, "no limits and no baseline".to_owned())
    } else {
        (Outcome::Pass, if has_baseline { String::new() } else { "limits only: no baseline is set".to_owned() })
    }
}

fn text(report: &Report) -> String {
    let mut table = plain_table(WIDTH);
    table.set_header(["target", "cell", "runs", "validity", "limits", "against baseline", ""]);
    let mut notes = String::new();
    for cell in &report.cells {
        let against: Vec<String> = cell.baseline.iter().map(against_text).collect();
        table.add_row([
            cell.target.clone(),
            cell.cell.clone(),
            format!("{}/{}", cell.runs - cell.missing, cell.runs),
            cell.validity.map_or("-".to_owned(), |validity| validity.to_string()),
            cell.verdict.to_string(),
            if against.is_empty() { "-".to_owned() } else { against.join("; ") },
            cell.outcome.name().to_owned(),
        ]);
        if !cell.reason.is_empty() {
            notes += &wrapped(&format!("{} on {}: {}", cell.cell, cell.target, cell.reason), 0, WIDTH);
        }
    }
    format!("gate of {}\n\n{}\n{notes}", report.executions.join(", "), table_text(&table))
}

fn against_text(against: &Against) -> String {
    let worst = against.runs.iter().flatten().max_by(|a, b| a.figure.total_cmp(&b.figure));
    let figure = |value: f64| match against.metric {
        "missed" => format!("{value:.0}"),
        _ => micros(crate::report::statistics::rounded(value)),
    };
    match worst {
        None => format!("{} -", against.metric),
        Some(night) => {
            let usual = night.usual.map_or("-".to_owned(), figure);
            format!("{} {}, usual {usual}", against.metric, figure(night.figure))
        }
    }
}
