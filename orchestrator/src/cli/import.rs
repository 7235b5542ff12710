//! `latlab import`: results of other tools.

use super::diagnostics::print_json;
use super::{Common, Format as Output};
use crate::exit::Exit;
use crate::store::{Hashing, Store, StoreError};
use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser;
use latlab_core::formats::{self, Format, ImportError, Kind, Measurement, Options};
use serde::Serialize;
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Reads results of other tools: cyclictest and the other rt-tests, Xenomai, RTAI, latmus, rtla, jitterdebugger, rteval,
/// RT Dataset, LAVA. The format is recognised by content; see docs/formats.md.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Files to read.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The format, instead of recognising it.
    #[arg(long = "as", value_name = "FORMAT", value_parser = format_names())]
    only: Option<Format>,
    /// Only say what is in the files; store nothing.
    #[arg(long)]
    dry_run: bool,
    /// Results directory; default: LATLAB_RESULTS, else ./results.
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
}

fn format_names() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::name)).try_map(|name| {
        Format::ALL.into_iter().find(|format| format.name() == name).ok_or_else(|| format!("unknown format {name}"))
    })
}

/// `--format json`: a contract that scripts depend on.
#[derive(Debug, Serialize)]
struct Report {
    files: Vec<ReadFile>,
}

#[derive(Debug, Serialize)]
struct ReadFile {
    file: String,
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    measurements: Vec<Measurement>,
    /// Where it was stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    stored: Option<PathBuf>,
    #[serde(skip)]
    store_error: Option<StoreError>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Ok,
    Refused,
}

/// Runs the verb.
pub(super) fn run(common: &Common, args: &Args) -> Exit {
    let store = if args.dry_run { None } else { Some(Store::create(Store::locate(args.results.as_deref()))) };
    let store = match store.transpose() {
        Ok(store) => store,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            return Exit::Store;
        }
    };
    let files = read_all(&args.files, args.only, store.as_ref());
    let mut exit = Exit::Success;
    for file in &files {
        if let Some(error) = &file.store_error {
            let _ = writeln!(io::stderr(), "error: {}: {error}", file.file);
            exit = Exit::combine([exit, Exit::Store]);
        }
        if file.status == Status::Refused {
            exit = Exit::combine([exit, Exit::InputFile]);
        }
    }
    match common.format {
        Output::Json => print_json(&Report { files }),
        Output::Text => files.iter().for_each(print_text),
    }
    exit
}

/// Reads the files, on as many processors as there are; the order stays.
fn read_all(files: &[PathBuf], only: Option<Format>, store: Option<&Store>) -> Vec<ReadFile> {
    let next = AtomicUsize::new(0);
    let read = Mutex::new(Vec::with_capacity(files.len()));
    let work = || {
        while let Some((index, file)) = next_of(files, &next) {
            let done = read_one(file, only, store);
            read.lock().expect("no reader panics").push((index, done));
        }
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(files.len());
    std::thread::scope(|scope| {
        for _ in 1..workers {
            scope.spawn(work);
        }
        work();
    });
    let mut read = read.into_inner().expect("no reader panics");
    read.sort_by_key(|(index, _)| *index);
    read.into_iter().map(|(_, file)| file).collect()
}

fn next_of<'a>(files: &'a [PathBuf], next: &AtomicUsize) -> Option<(usize, &'a PathBuf)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    files.get(index).map(|file| (index, file))
}

fn read_one(path: &Path, only: Option<Format>, store: Option<&Store>) -> ReadFile {
    let mut file = ReadFile {
        file: path.display().to_string(),
        status: Status::Ok,
        reason: None,
        line: None,
        measurements: Vec::new(),
        stored: None,
        store_error: None,
    };
    match read_measurements(path, only, store.is_some()) {
        Ok((measurements, sha256)) => {
            if let (Some(store), Some(sha256)) = (store, sha256) {
                match store.keep_import(path, &sha256, &measurements) {
                    Ok(directory) => file.stored = Some(directory),
                    Err(error) => file.store_error = Some(error),
                }
            }
            file.measurements = measurements;
            file.measurements.iter_mut().flat_map(|m| &mut m.threads).for_each(|thread| thread.bins = Vec::new());
        }
        Err(error) => {
            file.status = Status::Refused;
            file.line = match &error {
                ImportError::Refused(refusal) => refusal.line,
                ImportError::Io(_) => None,
            };
            file.reason = Some(match error {
                ImportError::Io(error) => format!("cannot be read: {error}"),
                ImportError::Refused(refusal) => refusal.to_string(),
            });
        }
    }
    file
}

fn read_measurements(
    path: &Path,
    only: Option<Format>,
    store: bool,
) -> Result<(Vec<Measurement>, Option<String>), ImportError> {
    /// Long enough for the speed of the disk, short enough for the cache.
    const BUFFER: u64 = 256 << 10;
    let file = File::open(path)?;
    let meta = file.metadata()?;
    if meta.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory).into());
    }
    let buffer = usize::try_from(meta.len().clamp(4096, BUFFER)).unwrap_or(4096);
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // Only what is stored needs the bins: ten thousand files would fill the memory.
    let options = Options { name: &name, only, without_bins: !store };
    if !store {
        return Ok((formats::import(BufReader::with_capacity(buffer, file), options)?, None));
    }
    let mut reader = Hashing::new(file);
    let measurements = formats::import(BufReader::with_capacity(buffer, &mut reader), options)?;
    Ok((measurements, Some(reader.finish()?)))
}

fn print_text(file: &ReadFile) {
    let mut out = io::stdout().lock();
    let place = file.line.map_or_else(|| file.file.clone(), |line| format!("{}:{line}", file.file));
    if let Some(reason) = &file.reason {
        let _ = writeln!(out, "{place}: refused: {reason}");
        return;
    }
    for measurement in &file.measurements {
        let version = measurement.tool_version.as_ref().map_or(String::new(), |version| format!(" {version}"));
        let incomplete = if measurement.complete { "" } else { ", INCOMPLETE" };
        let _ = writeln!(
            out,
            "{}:{}: {}{version}, {} thread{}{incomplete} (read as {})",
            file.file,
            measurement.line,
            measurement.tool,
            measurement.threads.len(),
            if measurement.threads.len() == 1 { "" } else { "s" },
            measurement.rule,
        );
        for thread in &measurement.threads {
            let _ = writeln!(out, "  {}", thread_line(measurement.kind, thread));
        }
        for warning in &measurement.warnings {
            let _ = writeln!(out, "  warning: {warning}");
        }
    }
    if let Some(stored) = &file.stored {
        let _ = writeln!(out, "  stored in {}", stored.display());
    }
}

fn thread_line(kind: Kind, thread: &formats::Thread) -> String {
    let us = |ns: Option<f64>| ns.map_or_else(|| "unknown".to_owned(), |ns| format!("{:.3} us", ns / 1000.0));
    let exact = |ns: Option<i64>| match ns {
        Some(ns) => format!("{}{}.{:03} us", if ns < 0 { "-" } else { "" }, (ns / 1000).abs(), (ns % 1000).abs()),
        None => "unknown".to_owned(),
    };
    if kind == Kind::Load {
        return format!("time {}", exact(thread.max_ns));
    }
    let count = |n: Option<u64>| n.map_or_else(|| "unknown".to_owned(), |n| n.to_string());
    let name = match (thread.cpu, thread.layer) {
        (Some(cpu), Some(layer)) => format!("CPU {cpu} {}", format!("{layer:?}").to_lowercase()),
        (Some(cpu), None) => format!("thread {} on CPU {cpu}", thread.thread),
        (None, _) => format!("thread {}", thread.thread),
    };
    let histogram = thread
        .bin_width_ns
        .map_or(String::new(), |_| format!(", {} in bins, {} beyond", thread.binned, count(thread.overflow)));
    format!(
        "{name}: cycles {}, min {}, mean {}, max {}{histogram}",
        count(thread.cycles),
        exact(thread.min_ns),
        us(thread.mean_ns),
        exact(thread.max_ns)
    )
}
