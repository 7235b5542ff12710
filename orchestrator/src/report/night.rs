//! A night: the runs of one or several executions, cell by cell, against the limits of the campaign and the baselines.

use super::index::{self, Entry};
use super::stored::{self, Stored};
use super::text::{WIDTH, plain_table, table_text, wrapped};
use crate::exit::Exit;
use crate::store::{Baseline, ExecutionDir, PlannedRun, Store, StoreError};
use latlab_core::campaign::model::Relative;
use latlab_core::formats::export::{NightCase, NightOutcome, junit_night};
use latlab_core::judgement::{Validity, Verdict};
use latlab_core::quantity::micros;
use latlab_core::result::RunResult;
use latlab_core::trend::{FEWEST_NIGHTS, Metric, Night as Run, Rule, Standing, Standings, relative, stands};
use serde::Serialize;
use std::collections::BTreeSet;

/// What is asked in place of what the campaigns say.
#[derive(Debug, Default)]
pub struct Asked {
    /// Figures held against the baseline.
    pub metrics: Option<Vec<Metric>>,
    /// Further suspicious runs before worse than the baseline is a failure.
    pub confirm: Option<u8>,
}

/// A judged night, `--format json`.
#[derive(Debug, Serialize)]
pub struct Night {
    format: u32,
    /// Executions that belong together.
    pub executions: Vec<String>,
    /// Every cell on every target.
    pub cells: Vec<Cell>,
}

/// A cell on a target.
#[derive(Debug, Serialize)]
pub struct Cell {
    /// Campaign.
    pub campaign: String,
    /// Cell.
    pub cell: String,
    /// Target.
    pub target: String,
    runs: usize,
    /// Planned, but not measured to the end.
    missing: usize,
    /// The worst; absent: nothing was measured.
    validity: Option<Validity>,
    /// Of the limits: FAIL if any run failed.
    verdict: Verdict,
    baseline: Vec<Against>,
    /// How it ended.
    pub outcome: Outcome,
    /// Why, in plain words.
    pub reason: String,
    /// The campaign asks for further runs of a suspicious cell.
    #[serde(skip)]
    pub confirms: bool,
}

#[derive(Debug, Serialize)]
struct Against {
    metric: &'static str,
    standing: Standings,
    /// Runs of the baseline that have the figure.
    baseline_runs: usize,
    runs: Vec<Option<Run>>,
}

/// Outcome of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Measured as asked, no limit broken, nothing worse than the baseline.
    Pass,
    /// There is neither a limit nor a baseline.
    NotJudged,
    /// A baseline is asked for, but it or a run does not tell.
    CannotTell,
    /// Worse than the baseline, but not confirmed.
    Suspicious,
    /// Not measured as asked.
    Invalid,
    /// A limit is broken, or worse than the baseline and confirmed.
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

    /// The exit code that says so.
    pub fn exit(self) -> Exit {
        match self {
            Outcome::Pass | Outcome::NotJudged => Exit::Success,
            Outcome::CannotTell | Outcome::Suspicious | Outcome::Invalid => Exit::Invalid,
            Outcome::Fail => Exit::GateFailed,
        }
    }
}

/// Judges executions together; also says what could not be read.
pub fn judge(store: &Store, executions: &[ExecutionDir], asked: &Asked) -> Result<(Night, Vec<String>), StoreError> {
    let baselines = store.baselines()?;
    let mut needed: BTreeSet<String> = executions.iter().map(|execution| execution.name().to_owned()).collect();
    needed.extend(baselines.iter().flat_map(|baseline| &baseline.runs).map(|run| run.execution.clone()));
    let (entries, unreadable) = index::finished(store, &needed)?;
    let cells = gather(executions, &entries).into_iter().map(|planned| {
        let of_cell =
            |b: &&Baseline| b.campaign == planned.campaign && b.cell == planned.cell && b.target == planned.target;
        let own = baselines.iter().find(of_cell);
        judge_cell(asked, planned, own, &entries)
    });
    let cells = cells.collect();
    let executions = executions.iter().map(|execution| execution.name().to_owned()).collect();
    Ok((Night { format: 1, executions, cells }, unreadable))
}

/// A cell on a target with its planned runs, and their figures where they were measured to the end.
struct Planned<'a> {
    campaign: &'a str,
    cell: &'a str,
    target: &'a str,
    /// What the campaign asks.
    relative: Option<Relative>,
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
                None => {
                    let relative = execution.plan().cell(planned).and_then(|cell| cell.settings.gate.baseline.clone());
                    cells.push(Planned { campaign, cell, target, relative, runs: vec![entry] });
                }
            }
        }
    }
    cells
}

fn judge_cell(asked: &Asked, planned: Planned, own: Option<&Baseline>, entries: &[Entry]) -> Cell {
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
    let confirms = planned.relative.is_some();
    let relative = planned.relative.unwrap_or_default();
    let named = relative.metrics.iter().filter_map(|name| Metric::named(name)).collect();
    let metrics: Vec<Metric> = asked.metrics.clone().unwrap_or(named);
    let confirm = usize::from(asked.confirm.unwrap_or(relative.confirm));
    let held = |metric: &Metric| held(*metric, (relative.rule, confirm), own, &valid, entries);
    let against: Vec<Against> = if own.is_some() || confirms { metrics.iter().map(held).collect() } else { Vec::new() };
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
        confirms,
    }
}

/// Runs held against a baseline. A run of it that is gone, or lacks the figure, is left out.
fn held(
    metric: Metric,
    (rule, confirm): (Rule, usize),
    own: Option<&Baseline>,
    valid: &[&Entry],
    entries: &[Entry],
) -> Against {
    let runs = own.map(|own| own.runs.as_slice()).unwrap_or_default();
    let of_baseline = runs.iter().filter_map(|run| entries.iter().find(|entry| entry.is(&run.execution, &run.run)));
    let usable = of_baseline.filter(|entry| entry.validity != Validity::Invalid);
    let figures: Vec<f64> = usable.filter_map(|entry| entry.figure(metric)).collect();
    // A figure beyond the histogram is not known, but may be known to be worse than usual.
    let surely_worse = |low: &f64| stands(rule, &figures, *low).standing == Standing::Suspicious;
    let figure =
        |entry: &&Entry| entry.figure(metric).or_else(|| entry.lower_bound(metric).filter(|low| surely_worse(low)));
    let nights: Vec<Option<f64>> = valid.iter().map(figure).collect();
    let (standing, runs) = relative(rule, &figures, &nights, confirm);
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
        let why = match few {
            _ if !has_baseline => {
                "the campaign asks for a baseline, and none is set (`latlab baseline set`)".to_owned()
            }
            Some(runs) => format!("the baseline has {runs} usable runs, {FEWEST_NIGHTS} are needed"),
            None => "a run does not tell".to_owned(),
        };
        (Outcome::CannotTell, format!("{names}: {why}"))
    } else if verdict == Verdict::NotJudged && !has_baseline {
        (Outcome::NotJudged, "no limits and no baseline".to_owned())
    } else {
        (Outcome::Pass, if has_baseline { String::new() } else { "limits only: no baseline is set".to_owned() })
    }
}

impl Night {
    /// The exit code of the worst cell.
    pub fn exit(&self) -> Exit {
        Exit::combine(self.cells.iter().map(|cell| cell.outcome.exit()))
    }

    /// As text.
    pub fn text(&self) -> String {
        let mut table = plain_table(WIDTH);
        table.set_header(["target", "cell", "runs", "validity", "limits", "against baseline", ""]);
        let mut notes = String::new();
        for cell in &self.cells {
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
        format!("gate of {}\n\n{}\n{notes}", self.executions.join(", "), table_text(&table))
    }

    /// As JUnit XML: a test case for each cell on each target, with the histograms of its runs.
    pub fn junit(&self, executions: &[ExecutionDir]) -> Result<String, StoreError> {
        let results: Vec<(&str, RunResult)> = executions
            .iter()
            .flat_map(|execution| execution.plan().runs.iter().map(move |run| (execution, run)))
            .filter_map(|(execution, run)| measured(execution, run).transpose())
            .collect::<Result<_, _>>()?;
        let cases: Vec<NightCase> = self
            .cells
            .iter()
            .map(|cell| {
                let of_cell = |(campaign, run): &&(&str, RunResult)| {
                    let id = &run.identity;
                    (*campaign, id.cell.as_str(), id.target.as_str())
                        == (cell.campaign.as_str(), cell.cell.as_str(), cell.target.as_str())
                };
                NightCase {
                    campaign: &cell.campaign,
                    cell: &cell.cell,
                    target: &cell.target,
                    outcome: match cell.outcome {
                        Outcome::Pass => NightOutcome::Pass,
                        Outcome::NotJudged => NightOutcome::Skipped,
                        Outcome::Fail => NightOutcome::Failure,
                        Outcome::CannotTell | Outcome::Suspicious | Outcome::Invalid => NightOutcome::Error,
                    },
                    message: format!("{}: {}", cell.outcome.name(), cell.reason),
                    runs: results.iter().filter(of_cell).map(|(_, run)| run).collect(),
                }
            })
            .collect();
        Ok(junit_night(&self.executions.join(", "), &cases))
    }
}

fn measured<'a>(execution: &'a ExecutionDir, run: &PlannedRun) -> Result<Option<(&'a str, RunResult)>, StoreError> {
    Ok(match stored::read(execution, run)? {
        Stored::Measured(result, _) => Some((execution.plan().campaign.name.as_str(), *result)),
        Stored::NotStarted(..) => None,
    })
}

fn against_text(against: &Against) -> String {
    let worst = against.runs.iter().flatten().max_by(|a, b| a.figure.total_cmp(&b.figure));
    let figure = |value: f64| match against.metric {
        "missed" => format!("{value:.0}"),
        _ => micros(super::statistics::rounded(value)),
    };
    match worst {
        None => format!("{} -", against.metric),
        Some(night) => {
            let usual = night.usual.map_or("-".to_owned(), figure);
            format!("{} {}, usual {usual}", against.metric, figure(night.figure))
        }
    }
}
