//! `latlab plot`: one figure as a picture.

use super::compare::no_side;
use super::diagnostics::print_json;
use super::report::write;
use super::run::ResultsArgs;
use super::show::print;
use super::{Common, Format};
use crate::exit::Exit;
use crate::report::figures::{self, Found};
use crate::report::sides::{self, NoSide};
use crate::report::{stored, svg};
use crate::store::{Store, StoreError};
use latlab_core::figure::{Figure, Overlaid, exceedance_of, histograms_of, maxima_of};
use std::io::Write;
use std::path::PathBuf;

/// Draws one figure of a run as SVG, or of two sides over each other; `--format json` writes its data instead.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// RUN, EXECUTION/RUN, or the path of a run's directory; with --against also a cell, an execution, a file of another tool or `published:NAME`.
    #[arg(value_name = "RUN")]
    run: String,
    /// Which figure.
    #[arg(value_enum, default_value_t = Which::Histogram)]
    figure: Which,
    /// Another side to draw over it.
    #[arg(long, value_name = "B")]
    against: Option<String>,
    /// File to write; default: stdout.
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Width in pixels.
    #[arg(long, default_value_t = 960, value_parser = clap::value_parser!(u32).range(320..=8000))]
    width: u32,
    #[command(flatten)]
    results: ResultsArgs,
}

/// A figure by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Which {
    /// Counts by latency.
    Histogram,
    /// Block maxima, quantiles, events, loads, frequency and temperature.
    OverTime,
    /// Counts by time and latency.
    HeatMap,
    /// Shares above a latency, and the extreme-value fit.
    Exceedance,
    /// Quantiles and maxima by CPU.
    ByCpu,
}

impl Which {
    fn id(self) -> &'static str {
        match self {
            Which::Histogram => "histogram",
            Which::OverTime => "over-time",
            Which::HeatMap => "heat-map",
            Which::Exceedance => "exceedance",
            Which::ByCpu => "by-cpu",
        }
    }
}

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    NoSide(#[from] NoSide),
    #[error("run `{run}` has no data: {reason}")]
    NoData { run: String, reason: String },
    #[error("there is no figure `{figure}` of this; there are: {}", known.join(", "))]
    NoFigure { figure: &'static str, known: Vec<String> },
    #[error(transparent)]
    Svg(#[from] svg::SvgError),
    #[error("cannot write {}: {error}; --output takes a path in a folder that can be written", path.display())]
    Write { path: PathBuf, error: std::io::Error },
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::NoSide(NoSide::Store(error))
    }
}

/// Runs the verb.
pub(super) fn run(common: &Common, args: &Args) -> Exit {
    let error = match plot(common, args) {
        Ok(()) => return Exit::Success,
        Err(Error::NoSide(error)) => return no_side(error),
        Err(error) => error,
    };
    let _ = writeln!(std::io::stderr(), "error: {error}");
    match error {
        Error::NoData { .. } => Exit::Invalid,
        _ => Exit::Usage,
    }
}

fn plot(common: &Common, args: &Args) -> Result<(), Error> {
    let figures = match &args.against {
        Some(other) => overlaid(args, other)?,
        None => of_run(args)?,
    };
    let id = args.figure.id();
    let Some(figure) = figures.iter().find(|figure| figure.id == id) else {
        return Err(Error::NoFigure { figure: id, known: figures.into_iter().map(|figure| figure.id).collect() });
    };
    if common.format == Format::Json {
        print_json(figure);
        return Ok(());
    }
    let drawn = svg::draw(figure, args.width)?;
    match &args.output {
        None => print(&drawn),
        Some(path) => write(path, drawn.as_bytes()).map_err(|error| Error::Write { path: path.clone(), error })?,
    }
    Ok(())
}

fn of_run(args: &Args) -> Result<Vec<Figure>, Error> {
    let runs = stored::find(&Store::open(args.results.path())?, Some(&args.run))?;
    let [(execution, planned)] = &runs[..] else {
        let candidates = runs.iter().map(|(execution, run)| format!("{}/{}", execution.name(), run.name)).collect();
        return Err(StoreError::Ambiguous { name: args.run.clone(), candidates }.into());
    };
    match figures::of_run(execution, planned)? {
        Found::Measured(pictured) => Ok(pictured.figures),
        Found::NotMeasured(_, reason) => Err(Error::NoData {
            run: planned.name.clone(),
            reason: reason.unwrap_or_else(|| "it has not begun".to_owned()),
        }),
    }
}

fn overlaid(args: &Args, other: &str) -> Result<Vec<Figure>, Error> {
    let results = args.results.path();
    let a = sides::resolve(&results, &args.run)?.side()?;
    let b = sides::resolve(&results, other)?.side()?;
    let overlaid = [Overlaid::side(0, &a), Overlaid::side(1, &b)];
    Ok([histograms_of(&overlaid), maxima_of(&overlaid), exceedance_of(&overlaid)].into_iter().flatten().collect())
}
