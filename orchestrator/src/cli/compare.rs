//! `latlab compare`: two set-ups against each other.

use super::diagnostics::print_json;
use super::run::ResultsArgs;
use super::show::{print, store_failed};
use super::{Common, Format};
use crate::exit::Exit;
use crate::report::sides::{self, Located, Named, NoSide, NotApart};
use crate::report::{comparison, text};
use latlab_core::compare::{self, Layer, Refused, Side};
use std::io::Write;

/// Compares two sides: what else differs first, then what may be said of each metric (docs/statistics.md).
///
/// Better or worse is said only from three boots a side on. INVALID runs are refused with exit code 6.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Sides A and B: RUN, EXECUTION/RUN, EXECUTION/CELL, EXECUTION, a file of another tool, published:NAME. With --by or
    /// --with: one or more.
    #[arg(value_name = "SIDE", required = true)]
    sides: Vec<String>,
    /// Compare runs that differ in this setting: isolcpus, kernel, load, cell, target, an axis of the campaign …
    #[arg(long, value_name = "SETTING")]
    by: Option<String>,
    /// Compare with every published result for the same target.
    #[arg(long, value_name = "WHAT", conflicts_with = "by")]
    with: Option<With>,
    /// Compare INVALID runs all the same, and mark it.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    results: ResultsArgs,
}

/// `--with`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum With {
    /// The published reference results that latlab carries.
    Published,
}

/// Why there is no comparison.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    NoSide(#[from] NoSide),
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error(transparent)]
    NotApart(#[from] NotApart),
    #[error("{0} sides: two are needed, or --by SETTING to part one, or --with published")]
    Sides(usize),
    #[error("--by parts stored runs; `{0}` is none")]
    NotStored(String),
    #[error("nothing is published for {target}; known: {}", known.join(", "))]
    NothingPublished { target: String, known: Vec<String> },
}

/// Runs the verb.
pub(super) fn run(common: &Common, args: &Args) -> Exit {
    let error = match compare_all(common, args) {
        Ok(()) => return Exit::Success,
        Err(Error::NoSide(error)) => return no_side(error),
        Err(error) => error,
    };
    let _ = writeln!(std::io::stderr(), "error: {error}");
    match error {
        Error::Refused(_) => Exit::Invalid,
        _ => Exit::Usage,
    }
}

/// Says why a name is no side, and whose fault that is.
pub(super) fn no_side(error: NoSide) -> Exit {
    let exit = match &error {
        NoSide::Store(error) => return store_failed(error),
        NoSide::NotPublished { .. } => Exit::Usage,
        NoSide::File { .. } | NoSide::NoLatency { .. } => Exit::InputFile,
    };
    let _ = writeln!(std::io::stderr(), "error: {error}");
    exit
}

fn compare_all(common: &Common, args: &Args) -> Result<(), Error> {
    let results = args.results.path();
    let named = args.sides.iter().map(|name| sides::resolve(&results, name)).collect::<Result<Vec<_>, _>>()?;
    if args.with.is_some() {
        return named.iter().try_for_each(|measured| with_published(common, args, measured));
    }
    let Some(key) = &args.by else {
        let [a, b] = &named[..] else { return Err(Error::Sides(named.len())) };
        return one(common, args, &a.side()?, &b.side()?, &sides::asked(a, b));
    };
    let mut runs: Vec<Located> = Vec::new();
    for named in named {
        match named {
            Named::Stored(group) => runs.extend(group.runs),
            Named::Ready(side) => return Err(Error::NotStored(side.name)),
        }
    }
    for (a, b) in sides::by(&runs, key)? {
        one(common, args, &Named::Stored(a).side()?, &Named::Stored(b).side()?, std::slice::from_ref(key))?;
    }
    Ok(())
}

fn with_published(common: &Common, args: &Args, measured: &Named) -> Result<(), Error> {
    let side = measured.side()?;
    let targets = measured.targets();
    let all = compare::published();
    let fitting: Vec<_> =
        all.iter().filter(|published| targets.contains(&published.target) && published.layer == Layer::User).collect();
    if fitting.is_empty() {
        let known = all.iter().map(|published| format!("published:{}", published.name)).collect();
        return Err(Error::NothingPublished { target: targets.join(", "), known });
    }
    fitting.iter().try_for_each(|published| one(common, args, &published.side(), &side, &[]))
}

fn one(common: &Common, args: &Args, a: &Side, b: &Side, asked: &[String]) -> Result<(), Error> {
    let comparison = compare::compare(a, b, asked, args.force)?;
    match common.format {
        Format::Json => print_json(&comparison),
        Format::Text => print(&format!("{}\n", comparison::render(&comparison, text::WIDTH))),
    }
    Ok(())
}
