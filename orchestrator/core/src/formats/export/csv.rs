//! Comma-separated values: one line per occupied bin of each thread, or one line for the run.

use super::{Export, Source, not_above};
use crate::result::Figure;
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

/// One line for the run, and the names of the columns above it; a figure is empty where it is unknown
/// or lies beyond the histogram: its lower bound would be read as the figure.
pub fn csv_run(source: &Source) -> Export {
    let result = source.result;
    let (identity, total) = (&result.identity, &result.total);
    let number = |n: Option<u64>| n.map(|n| n.to_string()).unwrap_or_default();
    let ns = |figure: Option<Figure>| number(figure.and_then(not_above));
    let mut columns = vec![
        ("execution", quoted(&identity.execution)),
        ("run", quoted(&identity.run)),
        ("campaign", quoted(&identity.campaign)),
        ("cell", quoted(&identity.cell)),
        ("target", quoted(&identity.target)),
        ("repetition", identity.repetition.to_string()),
        ("started_at", quoted(identity.started_at.as_deref().unwrap_or_default())),
        ("kernel_release", quoted(result.board.kernel_release.as_deref().unwrap_or_default())),
        ("validity", result.validity.to_string()),
        ("verdict", result.verdict.to_string()),
        ("cycles", total.cycles.to_string()),
        ("missed", total.missed.to_string()),
        ("overflow", total.overflow.to_string()),
        ("min_ns", ns(total.min)),
        ("mean_ns", total.mean_ns.map(|mean| format!("{mean:.3}")).unwrap_or_default()),
        ("max_ns", ns(total.max)),
    ];
    let quantiles: Vec<(String, String)> =
        total.quantiles.iter().map(|q| (format!("q{}_ns", q.q), ns(Some(q.figure)))).collect();
    columns.extend(quantiles.iter().map(|(name, value)| (name.as_str(), value.clone())));
    columns.push(("emulated", result.emulated.to_string()));
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let values: Vec<&str> = columns.iter().map(|(_, value)| value.as_str()).collect();
    let lost = "one line holds no histogram, a figure beyond it is empty, and none says whether it is exact or the end of a bin: see `--as json`";
    Export { text: format!("{}\n{}\n", names.join(","), values.join(",")), lost: vec![lost.to_owned()] }
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}
