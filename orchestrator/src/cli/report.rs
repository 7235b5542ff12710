//! `latlab report`: a page that a person looks at.

use super::Common;
use super::compare::no_side;
use super::run::ResultsArgs;
use super::show::store_failed;
use crate::exit::Exit;
use crate::report::figures::{self, Found};
use crate::report::nightly::{self, NightlyError, PageFile};
use crate::report::sides::{self, NoSide};
use crate::report::{html, stored};
use crate::store::{ExecutionDir, PlannedRun, Store, StoreError};
use latlab_core::compare::{Refused, compare};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes a page about a run, a campaign, two sides of a comparison, or the nights of targets.
///
/// One file that needs nothing else, for any browser; for nights a folder with an index and the newest report of each cell.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// RUN, EXECUTION/RUN, an execution or a campaign (its newest execution); two names are compared. Default: the newest execution.
    #[arg(value_name = "WHAT", num_args = 0..=2)]
    what: Vec<String>,
    /// The nights of this target; may be repeated.
    #[arg(long, value_name = "TARGET", conflicts_with = "what")]
    nightly: Vec<String>,
    /// File to write; for --nightly a folder.
    #[arg(short, long, value_name = "PATH")]
    output: PathBuf,
    /// Compare INVALID runs all the same, and mark it.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    results: ResultsArgs,
}

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    NoSide(#[from] NoSide),
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error(transparent)]
    Nightly(#[from] NightlyError),
    #[error("the page cannot be made: {0}")]
    Page(#[from] askama::Error),
    #[error("run `{run}` has no data: {reason}")]
    NoData { run: String, reason: String },
    #[error("there is no execution in {}", .0.display())]
    Empty(PathBuf),
    #[error("cannot write {}: {error}; --output takes a path in a folder that can be written", path.display())]
    Write { path: PathBuf, error: std::io::Error },
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::NoSide(NoSide::Store(error))
    }
}

/// Runs the verb.
pub(super) fn run(_common: &Common, args: &Args) -> Exit {
    let error = match pages(args).and_then(|pages| write_all(&args.output, args.nightly.is_empty(), &pages)) {
        Ok(()) => return Exit::Success,
        Err(Error::NoSide(error)) => return no_side(error),
        Err(Error::Nightly(NightlyError::Store(error))) => return store_failed(&error),
        Err(error) => error,
    };
    let _ = writeln!(std::io::stderr(), "error: {error}");
    match error {
        Error::Refused(_) | Error::NoData { .. } => Exit::Invalid,
        _ => Exit::Usage,
    }
}

fn pages(args: &Args) -> Result<Vec<PageFile>, Error> {
    let results = args.results.path();
    if !args.nightly.is_empty() {
        return Ok(nightly::pages(&Store::open(results)?, &args.nightly)?);
    }
    let content = match &args.what[..] {
        [a, b] => comparison(&results, a, b, args.force)?,
        what => one(&Store::open(results)?, what.first().map(String::as_str))?,
    };
    Ok(vec![PageFile { path: String::new(), content }])
}

fn comparison(results: &Path, a: &str, b: &str, force: bool) -> Result<String, Error> {
    let (a, b) = (sides::resolve(results, a)?, sides::resolve(results, b)?);
    let asked = sides::asked(&a, &b);
    let (a, b) = (a.side()?, b.side()?);
    let comparison = compare(&a, &b, &asked, force)?;
    Ok(html::comparison(&a, &b, &comparison)?)
}

fn one(store: &Store, name: Option<&str>) -> Result<String, Error> {
    let runs = find(store, name)?;
    match &runs[..] {
        [] => Err(Error::Empty(store.root().to_owned())),
        [(execution, planned)] => match figures::of_run(execution, planned)? {
            Found::Measured(pictured) => Ok(html::run(*pictured)?),
            Found::NotMeasured(_, reason) => Err(Error::NoData {
                run: planned.name.clone(),
                reason: reason.unwrap_or_else(|| "it has not begun".to_owned()),
            }),
        },
        [(execution, _), ..] => {
            let found = runs.iter().map(|(execution, planned)| figures::of_run(execution, planned));
            let found = found.collect::<Result<Vec<Found>, _>>()?;
            Ok(html::campaign(&execution.plan().campaign.name, execution.name(), &found)?)
        }
    }
}

/// As `latlab show` finds runs; and by a campaign's name those of its newest execution.
fn find(store: &Store, name: Option<&str>) -> Result<Vec<(ExecutionDir, PlannedRun)>, StoreError> {
    let missing = match (stored::find(store, name), name) {
        (Err(error @ StoreError::NoSuchRun { .. }), Some(name)) => (error, name),
        (found, _) => return found,
    };
    let all = store.executions()?.into_iter().rev().flatten();
    let newest = all.into_iter().find(|execution| execution.plan().campaign.name == missing.1);
    let runs = |execution: ExecutionDir| {
        let planned = execution.plan().runs.clone();
        planned.into_iter().map(|run| (execution.clone(), run)).collect()
    };
    newest.map(runs).ok_or(missing.0)
}

fn write_all(output: &Path, single: bool, pages: &[PageFile]) -> Result<(), Error> {
    for page in pages {
        let path = if single { output.to_owned() } else { output.join(&page.path) };
        write(&path, page.content.as_bytes()).map_err(|error| Error::Write { path: path.clone(), error })?;
        if single || page.path == "index.html" {
            let _ = writeln!(std::io::stderr(), "wrote {}", path.display());
        }
    }
    Ok(())
}

/// Whoever looks at the old page sees it until the new one is whole.
pub(super) fn write(path: &Path, content: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)?;
    }
    // A pipe or a device cannot be replaced.
    if path.exists() && !path.is_file() {
        return std::fs::write(path, content);
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let fresh = path.with_file_name(name);
    std::fs::write(&fresh, content)?;
    std::fs::rename(&fresh, path)
}
