//! `latlab compare`: two set-ups against each other.

use super::diagnostics::print_json;
use super::run::ResultsArgs;
use super::show::{print, store_failed};
use super::{Common, Format};
use crate::exit::Exit;
use crate::report::sides::{self, Located, NotApart};
use crate::report::{comparison, text};
use crate::store::{Store, StoreError};
use latlab_core::compare::{self, Refused};
use std::io::Write;

/// Compares two sides: what else differs first, then what may be said of each metric (docs/statistics.md).
///
/// Better or worse is said only from three boots a side on. INVALID runs are refused with exit code 6.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Sides A and B: RUN, EXECUTION/RUN, EXECUTION/CELL, EXECUTION. With --by: one or more, parted by the setting.
    #[arg(value_name = "SIDE", required = true)]
    sides: Vec<String>,
    /// Compare runs that differ in this setting: isolcpus, kernel, load, cell, target, an axis of the campaign …
    #[arg(long, value_name = "SETTING")]
    by: Option<String>,
    /// Compare INVALID runs all the same, and mark it.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    results: ResultsArgs,
}

/// Why there is no comparison.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error(transparent)]
    NotApart(#[from] NotApart),
    #[error("{0} sides: two are needed, or --by SETTING to part one")]
    Sides(usize),
}

/// Runs the verb.
pub(super) fn run(common: &Common, args: &Args) -> Exit {
    let error = match compare_all(common, args) {
        Ok(()) => return Exit::Success,
        Err(Error::Store(error)) => return store_failed(&error),
        Err(error) => error,
    };
    let _ = writeln!(std::io::stderr(), "error: {error}");
    match error {
        Error::Refused(_) => Exit::Invalid,
        _ => Exit::Usage,
    }
}

fn compare_all(common: &Common, args: &Args) -> Result<(), Error> {
    let store = Store::open(args.results.path())?;
    let found = args.sides.iter().map(|name| sides::find(&store, name)).collect::<Result<Vec<_>, _>>()?;
    let Some(key) = &args.by else {
        let ([a, b], [a_name, b_name]) = (&found[..], &args.sides[..]) else {
            return Err(Error::Sides(args.sides.len()));
        };
        return one(common, args, (a_name, a), (b_name, b), &sides::asked(a, b));
    };
    let runs: Vec<Located> = found.into_iter().flatten().collect();
    for (number, (a, b)) in sides::by(&runs, key)?.iter().enumerate() {
        if number > 0 && common.format == Format::Text {
            print("\n");
        }
        one(common, args, (&a.name, &a.runs), (&b.name, &b.runs), std::slice::from_ref(key))?;
    }
    Ok(())
}

fn one(
    common: &Common,
    args: &Args,
    (a_name, a): (&str, &[Located]),
    (b_name, b): (&str, &[Located]),
    asked: &[String],
) -> Result<(), Error> {
    let (a, a_left_out) = sides::side(a_name, a)?;
    let (b, b_left_out) = sides::side(b_name, b)?;
    for name in a_left_out.iter().chain(&b_left_out) {
        let _ = writeln!(std::io::stderr(), "warning: {name} was not measured and is left out");
    }
    let comparison = compare::compare(&a, &b, asked, args.force)?;
    match common.format {
        Format::Json => print_json(&comparison),
        Format::Text => print(&comparison::render(&comparison, text::WIDTH)),
    }
    Ok(())
}
