//! The page of one run.

use super::{Command, Grid, Page, Reason, State, Tile, validity, verdict};
use crate::report::figures::Pictured;
use crate::report::recipe;
use crate::report::statistics::{EVENT_HEAD, event_rows, rateless, statements};
use crate::report::text::{
    EMULATED, duty_text, figure_text, isolated_text, observed_maximum, place, quantile_texts, setup_text, verdict_text,
};
use askama::Template;
use latlab_core::judgement::{Finding, Outcome, Validity, Verdict};
use latlab_core::quantity::{count, duration, latency, percent};
use latlab_core::resolve::preemption_name;
use latlab_core::result::{Row, RunResult, ThreadRow};

#[derive(Debug, Template)]
#[template(path = "run.html")]
struct RunPage {
    page: Page,
    campaign: String,
    execution: String,
    repetition: u32,
    cell: String,
    target: String,
    validity: State,
    verdict: State,
    warnings: Vec<String>,
    in_words: String,
    reasons: Vec<Reason>,
    verdict_in_words: String,
    limits: Grid,
    tiles: Vec<Tile>,
    closing: String,
    figures: Grid,
    more_threads: Grid,
    worst: Grid,
    statements: Vec<String>,
    checks: Vec<Grid>,
    held: Vec<Grid>,
    provenance: Grid,
    commands: Vec<Command>,
    settings: String,
}

/// The page of a run.
pub fn run(pictured: Pictured) -> Result<String, askama::Error> {
    let Pictured { result, settings, assessment, figures: list, .. } = pictured;
    let id = &result.identity;
    let unjudged = State::none("NOT JUDGED YET");
    let page = RunPage {
        campaign: id.campaign.clone(),
        execution: id.execution.clone(),
        repetition: id.repetition,
        cell: id.cell.clone(),
        target: target_text(&result),
        validity: if result.in_progress { unjudged.clone() } else { validity(result.validity) },
        verdict: if result.in_progress { unjudged } else { verdict(result.verdict) },
        warnings: warnings(&result),
        in_words: validity_in_words(&result),
        reasons: reasons(&result),
        verdict_in_words: verdict_in_words(&result),
        limits: limits(&result),
        tiles: tiles(&result),
        closing: closing(&result),
        figures: figures(&result),
        more_threads: more_threads(&result),
        worst: worst(&result),
        statements: statements(&assessment).into_iter().chain(rateless(&assessment.exceedances)).collect(),
        checks: checks(&result, event_rows(&assessment.exceedances)),
        held: held(&result),
        provenance: provenance(&result),
        commands: commands(&result),
        settings: serde_json::to_string_pretty(&settings).unwrap_or_default(),
        page: Page::new(format!("{} on {}: {} {}", id.cell, id.target, result.validity, result.verdict), list),
    };
    page.render()
}

/// The target, with the model of the board where it is known.
fn target_text(result: &RunResult) -> String {
    match &result.board.model {
        Some(model) => format!("{} ({model})", result.identity.target),
        None => result.identity.target.clone(),
    }
}

/// What must be known before any figure is read.
pub(super) fn warnings(result: &RunResult) -> Vec<String> {
    let mut warnings = Vec::new();
    if result.emulated {
        warnings.push(EMULATED.to_owned());
    }
    if result.in_progress {
        warnings.push("The run is not over: these are the figures so far.".to_owned());
    }
    if let Some(before) = result.judged_before {
        warnings.push(format!(
            "It was judged {}, {} when it was stored; this latlab judges otherwise.",
            before.validity, before.verdict
        ));
    }
    if !result.altered.is_empty() {
        warnings
            .push(format!("Stored files are not as they were when the run was closed: {}.", result.altered.join("; ")));
    }
    warnings
}

fn found(result: &RunResult, outcome: Outcome) -> impl Iterator<Item = &Finding> {
    result.findings.iter().filter(move |finding| finding.outcome == outcome)
}

fn validity_in_words(result: &RunResult) -> String {
    let good = found(result, Outcome::Ok).count();
    let of = format!("{good} of {} validity rules hold", result.findings.len());
    let unknown = match found(result, Outcome::Unknown).count() {
        0 => String::new(),
        n => format!("; {n} could not be seen"),
    };
    match result.validity {
        _ if result.in_progress => {
            format!("Whether this is the experiment that was asked for is judged at its end. So far {of}.")
        }
        Validity::Valid => format!("This is the experiment that was asked for: {of}{unknown}."),
        Validity::Degraded => {
            format!("Usable, but not in every respect the experiment that was asked for: {of}{unknown}. Because:")
        }
        Validity::Invalid => {
            format!("Not the experiment that was asked for; its figures must not be used: {of}{unknown}. Because:")
        }
    }
}

/// Rules that do not hold, the worst first, then what could not be seen.
fn reasons(result: &RunResult) -> Vec<Reason> {
    let outcomes = [(Outcome::Invalidates, ""), (Outcome::Degrades, ""), (Outcome::Unknown, " (could not be seen)")];
    let all = outcomes.into_iter().flat_map(|(outcome, more)| found(result, outcome).map(move |f| (f, more)));
    all.map(|(finding, more)| Reason { rule: format!("{}{more}", finding.rule), detail: finding.detail.clone() })
        .collect()
}

fn verdict_in_words(result: &RunResult) -> String {
    let broken = result.limits.iter().filter(|limit| !limit.holds);
    match result.verdict {
        _ if result.in_progress => "Whether it is fast enough is judged at its end.".to_owned(),
        Verdict::Pass => format!("Fast enough: {} of {0} limits hold.", result.limits.len()),
        Verdict::Fail => {
            let broken: Vec<String> = broken
                .map(|limit| format!("{} is {}, allowed {}", limit.limit, limit.measured, limit.allowed))
                .collect();
            format!("Not fast enough: {}.", broken.join("; "))
        }
        Verdict::NotJudged => {
            format!("Whether it is fast enough is {}.", verdict_text(result).replace("NOT JUDGED", "not judged"))
        }
    }
}

fn limits(result: &RunResult) -> Grid {
    let mut grid = Grid::prose("Limits of the campaign", ["limit", "allowed", "measured", "outcome"]);
    for limit in &result.limits {
        let outcome = if limit.holds { "holds" } else { "BROKEN" };
        grid.marked(!limit.holds, [limit.limit.as_str(), &limit.allowed, &limit.measured, outcome]);
    }
    grid
}

fn tiles(result: &RunResult) -> Vec<Tile> {
    let total = &result.total;
    let in_us = |text: String| match text.strip_prefix('>') {
        Some(bound) => format!("more than {bound} us"),
        None if text == "-" => text,
        None => format!("{text} us"),
    };
    vec![
        Tile { name: "observed maximum", value: in_us(figure_text(total.max)) },
        Tile { name: "99.99 % within", value: in_us(figure_text(result.quantile("0.9999"))) },
        Tile { name: "half within", value: in_us(figure_text(result.quantile("0.5"))) },
        Tile { name: "cycles", value: count(total.cycles) },
        Tile { name: "missed periods", value: count(total.missed) },
        Tile { name: "measured", value: duration(result.measured_ns) },
        Tile { name: "load duty", value: duty_text(result) },
    ]
}

fn closing(result: &RunResult) -> String {
    let max = result.total.max.map(|max| observed_maximum(result, max));
    max.map_or("No cycle was measured.".to_owned(), |text| {
        format!("{text} A longer run may show more: a sampled maximum is no bound.")
    })
}

/// Most threads whose figures are in sight; those of more unfold.
const MOST_THREADS: usize = 12;
const FIGURE_HEAD: [&str; 9] = ["latency [us]", "cycles", "missed", "min", "mean", "p99", "p99.9", "p99.99", "max"];

fn figure_row(name: String, row: &Row) -> Vec<String> {
    let mean = row.mean_ns.map_or("-".to_owned(), |mean| format!("{:.1}", mean / 1000.0));
    let mut cells = vec![name, count(row.cycles), count(row.missed), figure_text(row.min), mean];
    cells.extend(quantile_texts(&row.quantiles));
    cells.push(figure_text(row.max));
    cells
}

fn thread_row(thread: &ThreadRow) -> Vec<String> {
    let name = thread.cpu.map_or_else(|| format!("thread {}", thread.thread), |cpu| format!("CPU {cpu}"));
    figure_row(name, &thread.figures)
}

fn more_threads(result: &RunResult) -> Grid {
    let mut grid = Grid::new(&format!("Latency in us of each of {} threads", result.threads.len()), FIGURE_HEAD);
    if result.threads.len() > MOST_THREADS {
        result.threads.iter().for_each(|thread| grid.row(thread_row(thread)));
    }
    grid
}

fn figures(result: &RunResult) -> Grid {
    let mut grid = Grid::new("Latency in us", FIGURE_HEAD);
    grid.row(figure_row("all threads".to_owned(), &result.total));
    if (2..=MOST_THREADS).contains(&result.threads.len()) {
        result.threads.iter().for_each(|thread| grid.row(thread_row(thread)));
    }
    if let Some(quantiles) = &result.per_period {
        let mut cells = vec!["by period: a missed one counts as late".to_owned()];
        cells.extend(std::iter::repeat_n(String::new(), 4));
        cells.extend(quantile_texts(quantiles));
        cells.push(figure_text(result.total.max));
        grid.row(cells);
    }
    grid
}

fn worst(result: &RunResult) -> Grid {
    let mut grid = Grid::new("Worst samples", ["latency", "where", "after", "cycle", "during a host contact"]);
    for sample in result.worst.iter().take(10) {
        grid.row([
            latency(sample.latency_ns),
            place(sample),
            duration(sample.since_start_ns),
            count(sample.cycle),
            if sample.during_contact { "yes" } else { "no" }.to_owned(),
        ]);
    }
    grid
}

/// What is not as the recipe or a rule has it; the loads; and the events above limits.
fn checks(result: &RunResult, events: Vec<[String; 4]>) -> Vec<Grid> {
    let mut loads = Grid::new("Loads", ["load", "duty", "asked for", "starts", "ends with an error"]);
    for load in &result.loads {
        let duty = load.duty.map_or("-".to_owned(), percent);
        let (starts, failures) = (count(load.starts.into()), count(load.failures.into()));
        loads.row([load.name.clone(), duty, percent(load.min_duty), starts, failures]);
    }
    let mut above = Grid::new("Events above limits", EVENT_HEAD);
    events.into_iter().for_each(|row| above.row(row));
    let caption = format!("Recipe: {}", recipe::counts(&result.recipe));
    let odd = recipe_grid(&caption, &result.recipe, |outcome| outcome != recipe::Outcome::Pass);
    let broken = rules("Validity rules that do not hold", result, |outcome| outcome != Outcome::Ok);
    [odd, broken, loads, above].into_iter().filter(|grid| !grid.rows.is_empty()).collect()
}

/// What is as it should be: to look up, not to read.
fn held(result: &RunResult) -> Vec<Grid> {
    let passed = result.recipe.count(recipe::Outcome::Pass);
    let good = found(result, Outcome::Ok).count();
    vec![
        recipe_grid(&format!("{passed} conditions of the recipe hold"), &result.recipe, |o| o == recipe::Outcome::Pass),
        rules(&format!("{good} validity rules hold"), result, |outcome| outcome == Outcome::Ok),
    ]
}

fn rules(caption: &str, result: &RunResult, wanted: impl Fn(Outcome) -> bool) -> Grid {
    let mut grid = Grid::prose(caption, ["rule", "outcome", "what was expected and found"]);
    for finding in result.findings.iter().filter(|finding| wanted(finding.outcome)) {
        let (word, bad) = match finding.outcome {
            Outcome::Ok => ("holds", false),
            Outcome::Degrades => ("DEGRADES", true),
            Outcome::Invalidates => ("INVALIDATES", true),
            Outcome::Unknown => ("unknown", false),
        };
        grid.marked(bad, [finding.rule.as_str(), word, &finding.detail]);
    }
    grid
}

/// The recipe's checks of the board, the worst first.
fn recipe_grid(caption: &str, recipe: &recipe::Recipe, wanted: impl Fn(recipe::Outcome) -> bool) -> Grid {
    let head = ["condition", "outcome", "found", "remedy", "why, and where that is known from"];
    let mut grid = Grid::prose(caption, head);
    for check in recipe::by_outcome(recipe).into_iter().filter(|check| wanted(check.outcome)) {
        let fix = check.fix.clone().unwrap_or_default();
        let why = format!("{} ({})", check.reason, check.source);
        let bad = check.outcome == recipe::Outcome::Fail;
        grid.marked(bad, [check.rule.clone(), recipe::word(check.outcome).to_owned(), check.found.clone(), fix, why]);
    }
    grid
}

fn provenance(result: &RunResult) -> Grid {
    let (id, board, setup) = (&result.identity, &result.board, &result.setup);
    let unknown = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
    let work_dir =
        board.work_dir.as_ref().map(|dir| format!("{} ({})", dir.path, dir.kind.as_deref().unwrap_or("unknown")));
    let axes: Vec<String> = id.axes.iter().map(|(axis, value)| format!("{axis} = {value}")).collect();
    let mut grid = Grid::prose("Board and set-up", ["what", "value"]);
    let rows = [
        ("target", target_text(result)),
        ("machine", unknown(&board.machine)),
        ("kernel release", unknown(&board.kernel_release)),
        ("kernel version", unknown(&board.kernel_version)),
        ("preemption model", board.preemption.map_or("unknown".to_owned(), |model| preemption_name(model).to_owned())),
        ("command line", unknown(&board.cmdline)),
        ("CPUs online", unknown(&board.online_cpus)),
        ("CPUs isolated", isolated_text(result).to_owned()),
        ("governor", unknown(&board.governor)),
        ("clock source", unknown(&board.clocksource)),
        ("work directory on the board", unknown(&work_dir)),
        ("measured", setup_text(result)),
        ("warm-up, not counted", duration(setup.warmup_ns)),
        ("histogram", format!("{} bins of {}", count(setup.bins.into()), latency(setup.bin_width_ns))),
        ("campaign", id.campaign.clone()),
        ("matrix", if axes.is_empty() { "none".to_owned() } else { axes.join(", ") }),
        ("execution and run", format!("{}/{}", id.execution, id.run)),
        ("submitted", unknown(&id.started_at)),
        ("stored in", id.stored_in.clone()),
    ];
    rows.into_iter().for_each(|(what, value)| grid.row([what.to_owned(), value]));
    grid
}

fn commands(result: &RunResult) -> Vec<Command> {
    let id = &result.identity;
    let run = format!("{}/{}", id.execution, id.run);
    let cell = format!("cell={}", id.cell);
    vec![
        Command::new(
            &["latlab", "run", &id.campaign, "--target", &id.target, "--only", &cell],
            "measures the cell again, by the campaign file as it is now; the settings below are those of this run",
        ),
        Command::new(&["latlab", "show", &run], "the run as text"),
        Command::new(&["latlab", "report", &run, "-o", "report.html"], "this page again"),
        Command::new(&["latlab", "plot", &run, "histogram", "-o", "histogram.svg"], "one figure as a picture"),
        Command::new(&["latlab", "export", &run, "--as", "json"], "everything, for programs"),
    ]
}
