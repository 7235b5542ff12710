//! Everything that latlab knows of a run, as JSON (docs/json.md).

use super::{Export, Source};
use crate::result::{Bin, RunResult, bin};
use latprobe::histogram::DifferentBins;
use latprobe::stream::{Block, Event};
use serde::Serialize;

/// Version of the JSON export.
pub const EXPORT_FORMAT: u32 = 1;

/// The JSON export.
#[derive(Debug, Serialize)]
pub struct Exported<'a> {
    /// [`EXPORT_FORMAT`].
    pub format: u32,
    /// As `latlab show --format json`.
    pub result: &'a RunResult,
    /// By thread.
    pub threads: Vec<ExportedThread>,
    /// What happened on the board, all segments in order.
    pub events: Vec<&'a Event>,
    /// Temperatures: (`CLOCK_MONOTONIC` ns, zone, thousandths of a degree Celsius).
    pub temperatures_mc: Vec<(u64, u32, i64)>,
    /// Frequencies: (`CLOCK_MONOTONIC` ns, CPU, kHz).
    pub frequencies_khz: Vec<(u64, u32, u64)>,
    /// Interrupts on measured CPUs: (CPU, label, count).
    pub interrupts: Vec<(u32, &'a str, u64)>,
}

/// What the result's rows do not hold of a thread.
#[derive(Debug, Serialize)]
pub struct ExportedThread {
    /// Index.
    pub thread: u32,
    /// Occupied bins, ascending.
    pub histogram: Vec<Bin>,
    /// Occupied bins of the warm-up, ascending.
    pub warm_up: Vec<Bin>,
    /// Closed blocks in order.
    pub blocks: Vec<Block>,
}

/// The whole run on one line.
pub fn json(source: &Source) -> Result<Export, DifferentBins> {
    let warm_up = |index: usize| {
        let bins = source.segments.iter().filter_map(|s| s.warm_up.get(index)).flat_map(|t| t.histogram.occupied());
        bins.map(bin).collect()
    };
    let threads = (0..).zip(source.threads()?).map(|(index, thread)| ExportedThread {
        thread: index,
        histogram: thread.histogram.occupied().map(bin).collect(),
        warm_up: warm_up(index as usize),
        blocks: thread.blocks,
    });
    let exported = Exported {
        format: EXPORT_FORMAT,
        result: source.result,
        threads: threads.collect(),
        events: source.segments.iter().flat_map(|s| &s.events).collect(),
        temperatures_mc: source.segments.iter().flat_map(|s| s.temperatures_mc.iter().copied()).collect(),
        frequencies_khz: source.segments.iter().flat_map(|s| s.frequencies_khz.iter().copied()).collect(),
        interrupts: source
            .segments
            .iter()
            .flat_map(|s| s.interrupts.iter().map(|((cpu, label), n)| (*cpu, label.as_str(), *n)))
            .collect(),
    };
    let mut text = serde_json::to_string(&exported).expect("numbers, strings and lists of them always serialise");
    text.push('\n');
    Ok(Export { text, lost: Vec::new() })
}
