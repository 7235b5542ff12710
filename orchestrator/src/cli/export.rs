//! `latlab export`: a stored run in a format that other tools read.

use super::Common;
use super::run::ResultsArgs;
use super::show::{print, store_failed};
use crate::exit::Exit;
use crate::report::stored::{self, Stored};
use crate::report::text::EMULATED;
use crate::store::{Store, StoreError};
use latlab_core::formats::export::{self, Export, Source};
use std::io::Write;

/// Writes a stored run to stdout in a format that other tools read; says on stderr what the format cannot carry.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// RUN, EXECUTION/RUN, or the path of a run's directory.
    #[arg(value_name = "RUN")]
    run: String,
    /// Format.
    #[arg(long = "as", value_name = "FORMAT", value_enum)]
    to: As,
    #[command(flatten)]
    results: ResultsArgs,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum As {
    /// Text of `cyclictest -h -q` up to rt-tests 2.6.
    Cyclictest,
    /// The same of rt-tests 2.7 and later: without empty rows and total.
    CyclictestSparse,
    /// OSADL RT Dataset 1.0.
    RtDataset,
    /// One line per occupied bin.
    Csv,
    /// One line for the run.
    CsvRun,
    /// JUnit XML: validity and each limit of the gate.
    Junit,
    /// InfluxDB line protocol.
    Influx,
    /// Prometheus text file.
    Prometheus,
    /// LAVA result lines.
    Lava,
    /// Everything (docs/json.md).
    Json,
}

/// Runs the verb.
pub(super) fn run(_common: &Common, args: &Args) -> Exit {
    let runs = match Store::open(args.results.path()).and_then(|store| stored::find(&store, Some(&args.run))) {
        Ok(runs) => runs,
        Err(error) => return store_failed(&error),
    };
    let [(execution, planned)] = runs.as_slice() else {
        let names: Vec<String> = runs.iter().map(|(e, run)| format!("{}/{}", e.name(), run.name)).collect();
        return store_failed(&StoreError::Ambiguous { name: args.run.clone(), candidates: names });
    };
    let (result, segments) = match stored::read(execution, planned) {
        Ok(Stored::Measured(result, segments)) => (result, segments),
        Ok(Stored::NotStarted(_, reason)) => {
            let reason = reason.unwrap_or_else(|| "it has not begun".to_owned());
            complain(&format!("error: run `{}` has no data: {reason}", planned.name));
            return Exit::Invalid;
        }
        Err(error) => return store_failed(&error),
    };
    let source = Source { result: &result, segments: &segments };
    let exported = match args.to {
        As::Cyclictest => export::cyclictest(&source),
        As::CyclictestSparse => export::cyclictest_sparse(&source),
        As::RtDataset => export::rt_dataset(&source),
        As::Csv => export::csv(&source),
        As::CsvRun => Ok(export::csv_run(&source)),
        As::Junit => Ok(export::junit(&source)),
        As::Influx => Ok(export::influx(&source)),
        As::Prometheus => export::prometheus(&source),
        As::Lava => Ok(export::lava(&source)),
        As::Json => export::json(&source),
    };
    match exported {
        Ok(Export { text, lost }) => {
            print(&text);
            if result.emulated {
                complain(EMULATED);
            }
            if !lost.is_empty() {
                complain(&format!("not carried by this format: {}", lost.join("; ")));
            }
            Exit::Success
        }
        Err(error) => {
            complain(&format!(
                "error: run `{}`: {error}; its segments were measured with different bins",
                planned.name
            ));
            Exit::Invalid
        }
    }
}

fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
