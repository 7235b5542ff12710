//! `latlab diff`: why is my number different?

use super::diagnostics::print_json;
use super::run::ResultsArgs;
use super::show::{print, store_failed};
use super::{Common, Format};
use crate::exit::Exit;
use crate::report::{comparison, sides, text};
use crate::store::{Store, StoreError};
use latlab_core::compare::{Differences, Extent, differences_of};
use serde::Serialize;
use std::io::Write;

/// Shows everything in which two sides differ, the likeliest to matter first: why is my number different?
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// RUN, EXECUTION/RUN, EXECUTION/CELL or EXECUTION.
    a: String,
    /// The other side.
    b: String,
    #[command(flatten)]
    results: ResultsArgs,
}

/// `--format json`.
#[derive(Debug, Serialize)]
struct Report {
    format: u32,
    a: Extent,
    b: Extent,
    differences: Differences,
}

/// Runs the verb.
pub(super) fn run(common: &Common, args: &Args) -> Exit {
    let report = match report(args) {
        Ok(report) => report,
        Err(error) => return store_failed(&error),
    };
    if let Some(side) = [&report.a, &report.b].into_iter().find(|side| side.runs.is_empty()) {
        let _ = writeln!(std::io::stderr(), "error: `{}` has no measured run", side.name);
        return Exit::Invalid;
    }
    match common.format {
        Format::Json => print_json(&report),
        Format::Text => {
            print(&comparison::render_differences(&report.a, &report.b, &report.differences, text::WIDTH));
        }
    }
    Exit::Success
}

fn report(args: &Args) -> Result<Report, StoreError> {
    let store = Store::open(args.results.path())?;
    let (a, _) = sides::side(&args.a, &sides::find(&store, &args.a)?)?;
    let (b, _) = sides::side(&args.b, &sides::find(&store, &args.b)?)?;
    let differences = differences_of(&a, &b, &[]);
    Ok(Report { format: latlab_core::compare::COMPARISON_FORMAT, a: a.extent(), b: b.extent(), differences })
}
