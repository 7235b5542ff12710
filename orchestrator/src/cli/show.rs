//! `latlab show`: stored runs, judged anew from their files.

use super::diagnostics::print_json;
use super::run::ResultsArgs;
use super::{Common, Format};
use crate::exit::Exit;
use crate::report::stored::{self, Stored};
use crate::report::text::{self, sparkline};
use crate::report::{published, statistics};
use crate::store::{Store, StoreError};
use latlab_core::compare::published_for;
use latlab_core::latency::blocks::Series;
use std::io::Write;

/// Shows stored runs: what was measured, the figures, and what they are worth.
///
/// Nothing is contacted; the judgement is made anew from the stored files. Exit code 0 when the runs could be shown,
/// whatever they say.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// RUN, EXECUTION/RUN, an execution (all its runs), or the path of a run's directory; default: the newest execution.
    #[arg(value_name = "RUN")]
    run: Option<String>,
    #[command(flatten)]
    results: ResultsArgs,
}

/// Runs the verb.
pub(super) fn run(common: &Common, args: &Args) -> Exit {
    match show(common, args) {
        Ok(()) => Exit::Success,
        Err(error) => store_failed(&error),
    }
}

fn show(common: &Common, args: &Args) -> Result<(), StoreError> {
    let store = Store::open(args.results.path())?;
    let runs = stored::find(&store, args.run.as_deref())?;
    for (number, (execution, planned)) in runs.iter().enumerate() {
        let stored = stored::read(execution, planned)?;
        let cell = execution.plan().cell(planned);
        let statistics = match &stored {
            Stored::Measured(result, segments) => cell.map(|c| statistics::assess(result, segments, &c.settings)),
            Stored::NotStarted(..) => None,
        };
        match (common.format, &stored) {
            (Format::Json, Stored::Measured(result, _)) => {
                let published = published_for(&result.identity.campaign, &result.identity.cell);
                print_json(&statistics::Shown { result, statistics, published });
            }
            (Format::Json, Stored::NotStarted(identity, reason)) => {
                print_json(&stored::NotMeasured::new(identity, reason.as_deref()));
            }
            (Format::Text, stored) => {
                let separator = if number > 0 { "\n" } else { "" };
                let picture = match (stored, cell) {
                    (Stored::Measured(_, segments), Some(cell)) => {
                        sparkline::over_time(&Series::new(segments, cell.settings.measure.block_ns), text::WIDTH)
                    }
                    _ => String::new(),
                };
                let statistics = statistics.map(|s| format!("\n{}", statistics::render(&s, text::WIDTH)));
                print(&format!("{separator}{}{picture}{}", text_of(stored), statistics.unwrap_or_default()));
            }
        }
    }
    Ok(())
}

fn text_of(stored: &Stored) -> String {
    match stored {
        Stored::Measured(result, _) => {
            let all = published_for(&result.identity.campaign, &result.identity.cell);
            text::for_stdout(result) + &published::render(result, &all, text::WIDTH)
        }
        Stored::NotStarted(identity, reason) => {
            let reason = reason.as_deref().unwrap_or("it has not begun, or was interrupted before it began");
            format!("{}/{}: not measured: {reason}\n", identity.execution, identity.run)
        }
    }
}

/// On stdout; nothing can be done where that is closed.
pub(super) fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Says what is wrong with the store; a name that is not there is the command line's fault.
pub(super) fn store_failed(error: &StoreError) -> Exit {
    let _ = writeln!(std::io::stderr(), "error: {error}");
    match error {
        StoreError::NoSuchRun { .. } | StoreError::NoSuchExecution { .. } | StoreError::Ambiguous { .. } => Exit::Usage,
        _ => Exit::Store,
    }
}
