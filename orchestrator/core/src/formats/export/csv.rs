//! Comma-separated values: one line per occupied bin of each thread.

use super::{Export, Source};
use latprobe::histogram::DifferentBins;
use std::fmt::Write as _;

/// Columns `thread,cpu,from_ns,to_ns,count`; `cpu` is empty for a thread that was not pinned, `to_ns` for the bin without an end.
pub fn csv(source: &Source) -> Result<Export, DifferentBins> {
    let mut text = "thread,cpu,from_ns,to_ns,count\n".to_owned();
    for (index, thread) in source.threads()?.iter().enumerate() {
        let cpu =
            source.result.threads.get(index).and_then(|row| row.cpu).map(|cpu| cpu.to_string()).unwrap_or_default();
        for (from, to, count) in thread.histogram.occupied() {
            let to = if to == u64::MAX { String::new() } else { to.to_string() };
            let _ = writeln!(text, "{index},{cpu},{from},{to},{count}");
        }
    }
    let lost = "CSV holds the histogram only; missed periods, extremes, facts and judgement are in `--as json`";
    Ok(Export { text, lost: vec![lost.to_owned()] })
}
