//! `latlab gate`: did the night pass?

use super::diagnostics::print_json;
use super::history::metric_names;
use super::run::ResultsArgs;
use super::show::{print, store_failed};
use super::{Common, Format};
use crate::exit::Exit;
use crate::report::index::Metric;
use crate::report::night::{self, Asked, Night};
use crate::store::{ExecutionDir, Store, StoreError};
use std::io::Write;
use std::path::PathBuf;

/// Judges a night, cell by cell: limits of the campaign, and the baseline of each cell (docs/nightly.md).
///
/// A broken limit fails (exit code 3) whatever re-runs say. Worse than the baseline fails only when confirmed by re-runs, which
/// `latlab run` measures by itself where the campaign has `[gate.baseline]`; name the executions of others as well. Until then,
/// and for INVALID or missing runs, the exit code is 6.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Executions that belong together: a night, and re-runs of suspicious cells; default: the newest.
    #[arg(value_name = "EXECUTION")]
    executions: Vec<String>,
    /// Figures held against the baseline; default: those of the campaign, else max,p99.99.
    #[arg(long, value_delimiter = ',', value_parser = metric_names())]
    metrics: Option<Vec<Metric>>,
    /// Further suspicious runs of a cell before worse than the baseline is a failure; default: that of the campaign, else 2.
    #[arg(long, value_name = "N")]
    confirm: Option<u8>,
    /// Also write the night as JUnit XML, one test case for each cell.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    results: ResultsArgs,
}

/// Runs the verb.
pub(super) fn run(common: &Common, args: &Args) -> Exit {
    let (night, executions) = match judged(args) {
        Ok(Some(judged)) => judged,
        Ok(None) => {
            let _ = writeln!(std::io::stderr(), "error: no execution in {}", args.results.path().display());
            return Exit::Usage;
        }
        Err(error) => return store_failed(&error),
    };
    match common.format {
        Format::Json => print_json(&night),
        Format::Text => print(&night.text()),
    }
    match args.junit.as_ref().map(|file| write_junit(&night, &executions, file)).transpose() {
        Ok(_) => night.exit(),
        Err(error) => Exit::combine([night.exit(), store_failed(&error)]),
    }
}

fn judged(args: &Args) -> Result<Option<(Night, Vec<ExecutionDir>)>, StoreError> {
    let store = Store::open(args.results.path())?;
    let executions: Vec<ExecutionDir> = match args.executions.is_empty() {
        true => store.executions()?.into_iter().next_back().transpose()?.into_iter().collect(),
        false => args.executions.iter().map(|name| store.execution(name)).collect::<Result<_, _>>()?,
    };
    if executions.is_empty() {
        return Ok(None);
    }
    let asked = Asked { metrics: args.metrics.clone(), confirm: args.confirm };
    let (night, unreadable) = night::judge(&store, &executions, &asked)?;
    for what in &unreadable {
        let _ = writeln!(std::io::stderr(), "warning: {what}");
    }
    Ok(Some((night, executions)))
}

fn write_junit(night: &Night, executions: &[ExecutionDir], file: &PathBuf) -> Result<(), StoreError> {
    let text = night.junit(executions)?;
    std::fs::write(file, text).map_err(|source| StoreError::write(file, source))
}
