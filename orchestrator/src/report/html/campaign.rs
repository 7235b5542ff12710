//! The page of an execution: all its runs.

use super::run::warnings;
use super::{Command, Grid, Page, Reason, State, validity, verdict};
use crate::report::figures::{Found, Pictured};
use crate::report::text::{duty_text, figure_text};
use askama::Template;
use latlab_core::figure::{Overlaid, exceedance_of, histograms_of, maxima_of};
use latlab_core::judgement::{Outcome, Validity, Verdict};
use latlab_core::quantity::count;

/// Most runs that one figure can overlay and still be read.
const MOST_OVERLAID: usize = 16;

#[derive(Debug, Template)]
#[template(path = "campaign.html")]
struct CampaignPage {
    page: Page,
    campaign: String,
    execution: String,
    validity: State,
    verdict: State,
    warnings: Vec<String>,
    in_words: String,
    runs: Grid,
    reasons: Vec<Reason>,
    commands: Vec<Command>,
}

/// The page of an execution with these runs, in order.
pub fn campaign(campaign: &str, execution: &str, found: &[Found]) -> Result<String, askama::Error> {
    let measured = || {
        found.iter().filter_map(|found| match found {
            Found::Measured(pictured) => Some(pictured.as_ref()),
            Found::NotMeasured(..) => None,
        })
    };
    let over = || measured().filter(|pictured| !pictured.result.in_progress);
    let missing = found.len() - over().count();
    let worst = over().map(|pictured| pictured.result.validity).max();
    let failed = over().filter(|pictured| pictured.result.verdict == Verdict::Fail).count();
    let passed = over().filter(|pictured| pictured.result.verdict == Verdict::Pass).count();
    let mut shared: Vec<String> = measured().flat_map(|pictured| warnings(&pictured.result)).collect();
    shared.sort();
    shared.dedup();
    let overlaid = overlaid(measured());
    if overlaid.len() < measured().count() {
        shared.push(format!("The figures overlay the first {MOST_OVERLAID} of {} runs.", measured().count()));
    }
    let figures = [histograms_of(&overlaid), maxima_of(&overlaid), exceedance_of(&overlaid)];
    let page = CampaignPage {
        campaign: campaign.to_owned(),
        execution: execution.to_owned(),
        validity: worst.filter(|_| missing == 0).map_or_else(|| State::poor("INCOMPLETE"), validity),
        verdict: verdict(match (failed, passed) {
            (0, 0) => Verdict::NotJudged,
            (0, _) => Verdict::Pass,
            _ => Verdict::Fail,
        }),
        warnings: shared,
        in_words: in_words(found.len(), missing, over()),
        runs: runs(found),
        reasons: reasons(measured()),
        commands: vec![
            Command::new(&["latlab", "show", execution], "all runs as text"),
            Command::new(&["latlab", "compare", execution, "--by", "cell"], "which cell is better, and what differs"),
        ],
        page: Page::new(format!("{campaign}: {execution}"), figures.into_iter().flatten().collect()),
    };
    page.render()
}

fn in_words<'a>(planned: usize, missing: usize, over: impl Iterator<Item = &'a Pictured> + Clone) -> String {
    let of = |wanted: Validity| over.clone().filter(|pictured| pictured.result.validity == wanted).count();
    let judged = |wanted: Verdict| over.clone().filter(|pictured| pictured.result.verdict == wanted).count();
    let mut text = format!(
        "{planned} runs: {} VALID, {} DEGRADED, {} INVALID",
        of(Validity::Valid),
        of(Validity::Degraded),
        of(Validity::Invalid)
    );
    if missing > 0 {
        text += &format!(", {missing} not measured to the end");
    }
    text + &format!(
        ". {} PASS, {} FAIL, {} not judged.",
        judged(Verdict::Pass),
        judged(Verdict::Fail),
        judged(Verdict::NotJudged)
    )
}

fn overlaid<'a>(measured: impl Iterator<Item = &'a Pictured>) -> Vec<Overlaid> {
    let one = |(number, pictured): (usize, &Pictured)| {
        Overlaid::run(number, &pictured.result.identity.run, &pictured.result, pictured.series.clone())
    };
    measured.take(MOST_OVERLAID).enumerate().map(one).collect()
}

fn runs(found: &[Found]) -> Grid {
    let head =
        ["cell", "target", "run", "validity", "verdict", "cycles", "missed", "p99.99 [us]", "max [us]", "load duty"];
    let mut grid = Grid::new("Runs", head);
    for found in found {
        match found {
            Found::Measured(pictured) => {
                let result = &pictured.result;
                let id = &result.identity;
                let bad = result.validity == Validity::Invalid || result.verdict == Verdict::Fail;
                let so_far = if result.in_progress { " so far" } else { "" };
                grid.marked(
                    bad,
                    [
                        id.cell.clone(),
                        id.target.clone(),
                        id.repetition.to_string(),
                        format!("{}{so_far}", result.validity),
                        format!("{}{so_far}", result.verdict),
                        count(result.total.cycles),
                        count(result.total.missed),
                        figure_text(result.quantile("0.9999")),
                        figure_text(result.total.max),
                        duty_text(result),
                    ],
                );
            }
            Found::NotMeasured(id, reason) => {
                let why = reason.as_deref().unwrap_or("it has not begun");
                let mut cells =
                    vec![id.cell.clone(), id.target.clone(), id.repetition.to_string(), format!("not measured: {why}")];
                cells.resize(10, String::new());
                grid.marked(true, cells);
            }
        }
    }
    grid
}

fn reasons<'a>(measured: impl Iterator<Item = &'a Pictured>) -> Vec<Reason> {
    let mut reasons = Vec::new();
    for pictured in measured {
        let result = &pictured.result;
        let bad = result.findings.iter().filter(|f| matches!(f.outcome, Outcome::Invalidates | Outcome::Degrades));
        reasons.extend(bad.map(|finding| Reason {
            rule: format!("{}: {}", result.identity.run, finding.rule),
            detail: finding.detail.clone(),
        }));
        let broken = result.limits.iter().filter(|limit| !limit.holds);
        reasons.extend(broken.map(|limit| Reason {
            rule: format!("{}: {}", result.identity.run, limit.limit),
            detail: format!("{}, allowed {}", limit.measured, limit.allowed),
        }));
    }
    reasons
}
