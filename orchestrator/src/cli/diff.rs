//! `latlab diff`: why is my number different?

use super::compare::no_side;
use super::diagnostics::print_json;
use super::run::ResultsArgs;
use super::show::print;
use super::{Common, Format};
use crate::exit::Exit;
use crate::report::sides::{self, NoSide};
use crate::report::{comparison, text};
use latlab_core::compare::{COMPARISON_FORMAT, Differences, Extent, differences_of};
use serde::Serialize;
use std::io::Write;

/// Shows everything in which two sides differ, the likeliest to matter first: why is my number different?
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// As in `latlab compare`.
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
        Err(error) => return no_side(error),
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

fn report(args: &Args) -> Result<Report, NoSide> {
    let side = |name: &str| sides::resolve(&args.results.path(), name)?.side();
    let (a, b) = (side(&args.a)?, side(&args.b)?);
    let differences = differences_of(&a, &b, &[]);
    Ok(Report { format: COMPARISON_FORMAT, a: a.extent(), b: b.extent(), differences })
}
