//! `latlab baseline`: what a cell on a target is held against.

use super::compare::no_side;
use super::diagnostics::print_json;
use super::run::{ResultsArgs, holder};
use super::show::{print, store_failed};
use super::{Common, Format};
use crate::exit::Exit;
use crate::report::index::{self, Entry};
use crate::report::sides::{self, Named, NoSide};
use crate::report::text::{WIDTH, plain_table, table_text, wrapped};
use crate::store::{Baseline, RunName, Store, StoreError};
use latlab_core::judgement::Validity;
use latlab_core::trend::FEWEST_NIGHTS;
use std::collections::BTreeMap;
use std::io::Write;

/// Sets, lists, shows and drops baselines: the runs that `latlab gate` holds a cell on a target against.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    what: What,
    #[command(flatten)]
    results: ResultsArgs,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Takes runs as the baseline of their cell and target, in place of the one before. Five runs or more are needed for
    /// a judgement; INVALID ones are refused.
    Set {
        /// Runs as in `latlab compare`: RUN, EXECUTION/RUN, EXECUTION/CELL, EXECUTION.
        #[arg(required = true, value_name = "RUNS")]
        runs: Vec<String>,
        /// Why these; kept with the baseline.
        #[arg(long)]
        reason: String,
    },
    /// Lists all baselines.
    List,
    /// Shows a target's baselines with their runs.
    Show {
        /// Target.
        target: String,
        /// Only this cell.
        cell: Option<String>,
    },
    /// Drops a target's baselines; the runs stay.
    Drop {
        /// Target.
        target: String,
        /// Only this cell.
        cell: Option<String>,
    },
}

/// Why nothing was done.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    NoSide(#[from] NoSide),
    #[error("a baseline needs a reason: --reason TEXT")]
    NoReason,
    #[error("`{0}` is no stored run: a baseline is made of those")]
    NotStored(String),
    #[error("not finished, or not measured: {}", .0.join(", "))]
    NotFinished(Vec<String>),
    #[error("INVALID: {}; `latlab show` says why", .0.join(", "))]
    Invalid(Vec<String>),
    #[error("no baseline of {0}; `latlab baseline list` shows those there are")]
    None(String),
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::NoSide(error.into())
    }
}

/// Runs the verb.
pub(super) fn run(common: &Common, args: &Args) -> Exit {
    let results = args.results.path();
    let done = match &args.what {
        What::Set { runs, reason } => set(common, &results, runs, reason),
        What::List => {
            Store::open(&results).and_then(|store| store.baselines()).map_err(Error::from).map(|all| list(common, &all))
        }
        What::Show { target, cell } => of(&results, target, cell.as_deref()).map(|(_, all)| show(common, &all)),
        What::Drop { target, cell } => of(&results, target, cell.as_deref())
            .and_then(|(store, all)| Ok(all.iter().try_for_each(|baseline| store.drop_baseline(baseline))?)),
    };
    let error = match done {
        Ok(()) => return Exit::Success,
        Err(Error::NoSide(NoSide::Store(error))) => return store_failed(&error),
        Err(Error::NoSide(error)) => return no_side(error),
        Err(error) => error,
    };
    let _ = writeln!(std::io::stderr(), "error: {error}");
    if matches!(error, Error::Invalid(_) | Error::NotFinished(_)) { Exit::Invalid } else { Exit::Usage }
}

fn of(results: &std::path::Path, target: &str, cell: Option<&str>) -> Result<(Store, Vec<Baseline>), Error> {
    let store = Store::open(results)?;
    let mut all = store.baselines()?;
    all.retain(|baseline| baseline.target == target && cell.is_none_or(|cell| baseline.cell == cell));
    match all.is_empty() {
        true => Err(Error::None(cell.map_or(target.to_owned(), |cell| format!("{cell} on {target}")))),
        false => Ok((store, all)),
    }
}

fn set(common: &Common, results: &std::path::Path, names: &[String], reason: &str) -> Result<(), Error> {
    if reason.trim().is_empty() {
        return Err(Error::NoReason);
    }
    let store = Store::open(results)?;
    let mut located = Vec::new();
    for name in names {
        let Named::Stored(group) = sides::resolve(results, name)? else { return Err(Error::NotStored(name.clone())) };
        located.extend(group.runs);
    }
    let executions = located.iter().map(|(execution, _)| execution.name().to_owned()).collect();
    let (finished, _) = index::finished(&store, &executions)?;
    let found = |execution: &str, run: &str| finished.iter().find(|entry| entry.is(execution, run));
    let (mut entries, mut missing): (Vec<&Entry>, Vec<String>) = Default::default();
    for (execution, planned) in &located {
        match found(execution.name(), &planned.name) {
            Some(entry) => entries.push(entry),
            None => missing.push(format!("{}/{}", execution.name(), planned.name)),
        }
    }
    if !missing.is_empty() {
        return Err(Error::NotFinished(missing));
    }
    let invalid = entries.iter().filter(|entry| entry.validity == Validity::Invalid);
    let invalid: Vec<String> = invalid.map(|entry| format!("{}/{}", entry.execution, entry.run)).collect();
    if !invalid.is_empty() {
        return Err(Error::Invalid(invalid));
    }
    let mut groups: BTreeMap<_, Vec<RunName>> = BTreeMap::new();
    for entry in &entries {
        let runs = groups.entry((&*entry.campaign, &*entry.cell, &*entry.target)).or_default();
        let run = RunName { execution: entry.execution.clone(), run: entry.run.clone() };
        if !runs.contains(&run) {
            runs.push(run);
        }
    }
    let set_by = holder();
    let made: Vec<Baseline> =
        groups.into_iter().map(|(key, runs)| Baseline::new(key, runs, reason.trim(), &set_by)).collect();
    made.iter().try_for_each(|baseline| store.set_baseline(baseline))?;
    list(common, &made);
    Ok(())
}

fn list(common: &Common, all: &[Baseline]) {
    if common.format == Format::Json {
        return print_json(&serde_json::json!({ "format": 1, "baselines": all }));
    }
    let mut table = plain_table(WIDTH);
    table.set_header(["campaign", "cell", "target", "runs", "set", "by"]);
    for baseline in all {
        let day = baseline.set_at.split('T').next().unwrap_or_default();
        let runs = baseline.runs.len();
        let runs = if runs < FEWEST_NIGHTS { format!("{runs} (too few to judge)") } else { runs.to_string() };
        table.add_row([&baseline.campaign, &baseline.cell, &baseline.target, &runs, day, &baseline.set_by]);
    }
    print(&table_text(&table));
}

fn show(common: &Common, all: &[Baseline]) {
    if common.format == Format::Json {
        return print_json(&serde_json::json!({ "format": 1, "baselines": all }));
    }
    for baseline in all {
        let head = format!(
            "{} / {} on {}, set by {} at {}: {}",
            baseline.campaign, baseline.cell, baseline.target, baseline.set_by, baseline.set_at, baseline.reason
        );
        let runs: String = baseline.runs.iter().map(|of| format!("  {}/{}\n", of.execution, of.run)).collect();
        print(&(wrapped(&head, 0, WIDTH) + &runs));
    }
}
