//! `latlab list`: what the results directory holds.

use super::diagnostics::print_json;
use super::run::ResultsArgs;
use super::show::{print, store_failed};
use super::{Common, Format};
use crate::exit::Exit;
use crate::report::stored::{self, Stored};
use crate::report::text::{self, figure_text};
use crate::store::{ExecutionDir, Store};
use latlab_core::judgement::{Validity, Verdict};
use latlab_core::quantity::count;
use latlab_core::result::Figure;
use serde::Serialize;

/// Lists stored executions and their runs, oldest first.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    results: ResultsArgs,
}

/// `--format json`.
#[derive(Debug, Serialize)]
struct List {
    format: u32,
    executions: Vec<Execution>,
}

/// Version of `list --format json`.
const LIST_FORMAT: u32 = 1;

#[derive(Debug, Serialize)]
struct Execution {
    execution: String,
    campaign: String,
    created: String,
    /// A latlab process is at it now.
    running: bool,
    runs: Vec<Run>,
}

#[derive(Debug, Serialize)]
struct Run {
    run: String,
    cell: String,
    target: String,
    repetition: u32,
    /// It is not over.
    in_progress: bool,
    /// Absent, like all below it: the run was not measured.
    validity: Option<Validity>,
    verdict: Option<Verdict>,
    cycles: Option<u64>,
    missed: Option<u64>,
    max: Option<Figure>,
    /// Why it was not measured, or cannot be read.
    reason: Option<String>,
}

/// Runs the verb. What cannot be read is named, and does not hide the rest.
pub(super) fn run(common: &Common, args: &Args) -> Exit {
    let executions = match Store::open(args.results.path()).and_then(|store| store.executions()) {
        Ok(executions) => executions,
        Err(error) => return store_failed(&error),
    };
    let mut exit = Exit::Success;
    let mut listed = Vec::new();
    for execution in executions {
        match execution {
            Ok(execution) => listed.push(list(&execution)),
            Err(error) => exit = Exit::combine([exit, store_failed(&error)]),
        }
    }
    match common.format {
        Format::Json => print_json(&List { format: LIST_FORMAT, executions: listed }),
        Format::Text => print(&table(&listed)),
    }
    exit
}

fn list(execution: &ExecutionDir) -> Execution {
    let plan = execution.plan();
    let row = |planned: &crate::store::PlannedRun| {
        let mut run = Run {
            run: planned.name.clone(),
            cell: planned.cell.clone(),
            target: planned.target.clone(),
            repetition: planned.repetition,
            in_progress: false,
            validity: None,
            verdict: None,
            cycles: None,
            missed: None,
            max: None,
            reason: None,
        };
        match stored::read(execution, planned) {
            Ok(Stored::Measured(result, _)) => {
                run.in_progress = result.in_progress;
                (run.validity, run.verdict) = (Some(result.validity), Some(result.verdict));
                (run.cycles, run.missed) = (Some(result.total.cycles), Some(result.total.missed));
                run.max = result.total.max;
            }
            Ok(Stored::NotStarted(_, reason)) => run.reason = reason,
            Err(error) => run.reason = Some(error.to_string()),
        }
        run
    };
    Execution {
        execution: plan.execution.clone(),
        campaign: plan.campaign.name.clone(),
        created: plan.created.clone(),
        running: execution.is_running(),
        runs: plan.runs.iter().map(row).collect(),
    }
}

fn table(executions: &[Execution]) -> String {
    if executions.is_empty() {
        return "no executions here yet\n".to_owned();
    }
    let mut out = String::new();
    for execution in executions {
        let running = if execution.running { ", running" } else { "" };
        out.push_str(&format!("{}  {}{running}\n", execution.execution, execution.created));
        let mut table = text::plain_table(text::WIDTH - 2);
        table.set_header(["run", "cycles", "missed", "max [us]", "validity", "verdict"]);
        for run in &execution.runs {
            let number = |n: Option<u64>| n.map_or("-".to_owned(), count);
            let (state, verdict) = match run.in_progress {
                true => ("not over".to_owned(), String::new()),
                false => (
                    run.validity.map_or("not measured".to_owned(), |validity| validity.to_string()),
                    run.verdict.map_or(String::new(), |verdict| verdict.to_string()),
                ),
            };
            table.add_row([
                run.run.clone(),
                number(run.cycles),
                number(run.missed),
                figure_text(run.max),
                state,
                verdict,
            ]);
        }
        text::align_right(&mut table, 1..4);
        for line in text::table_text(&table).lines() {
            out.push_str(&format!("  {line}\n"));
        }
        for run in &execution.runs {
            if let Some(reason) = &run.reason {
                out.push_str(&text::wrapped(&format!("{}: {reason}", run.run), 2, text::WIDTH));
            }
        }
    }
    out
}
