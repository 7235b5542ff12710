//! A stored run in formats that other tools read.

mod csv;
mod cyclictest;
mod influx;
mod json;
mod junit;
mod lava;
mod prometheus;
mod rt_dataset;

use crate::latency::merge_segments;
use crate::result::{Bound, Figure, RunResult};
use latprobe::histogram::DifferentBins;
use latprobe::stream::{Folded, ThreadResult};

pub use csv::{csv, csv_run};
pub use cyclictest::{cyclictest, cyclictest_sparse};
pub use influx::influx;
pub use json::{EXPORT_FORMAT, Exported, ExportedThread, json};
pub use junit::{NightCase, NightOutcome, junit, junit_night};
pub use lava::lava;
pub use prometheus::prometheus;
pub use rt_dataset::rt_dataset;

/// What is exported.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The run as shown.
    pub result: &'a RunResult,
    /// Its segments.
    pub segments: &'a [Folded],
}

/// An exported run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// Content of the file.
    pub text: String,
    /// What the format cannot carry, in plain words.
    pub lost: Vec<String>,
}

/// The figure in ns; `None` for a mere lower bound, which a column of numbers would show as a better figure than it is.
fn not_above(figure: Figure) -> Option<u64> {
    (figure.bound != Bound::Above).then_some(figure.ns)
}

impl Source<'_> {
    /// All segments together, by thread, each with its row of the result.
    fn threads(&self) -> Result<Vec<ThreadResult>, DifferentBins> {
        merge_segments(self.segments)
    }
}

#[cfg(test)]
mod round_trip;
#[cfg(test)]
mod tests;
