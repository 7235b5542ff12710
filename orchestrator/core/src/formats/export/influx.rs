//! InfluxDB line protocol: one point for the run, one for each thread.

use super::{Export, Source, not_above};
use crate::result::Row;
use std::fmt::Write as _;

/// The points, at the time the run was submitted; without it the database takes its own.
pub fn influx(source: &Source) -> Export {
    let result = source.result;
    let identity = &result.identity;
    let at: Option<jiff::Timestamp> = identity.started_at.as_deref().and_then(|at| at.parse().ok());
    let time = at.map_or_else(String::new, |at| format!(" {}", at.as_nanosecond()));
    let mut tags = String::new();
    let kernel = result.board.kernel_release.as_deref().unwrap_or_default();
    for (name, value) in [
        ("campaign", identity.campaign.as_str()),
        ("cell", &identity.cell),
        ("execution", &identity.execution),
        ("kernel", kernel),
        ("run", &identity.run),
        ("target", &identity.target),
    ] {
        // An empty tag is a syntax error.
        if !value.is_empty() {
            let _ = write!(tags, ",{name}={}", escaped(value));
        }
    }
    let validity = result.validity.to_string();
    let mut text = String::new();
    let _ = writeln!(
        text,
        "latlab_run{tags} validity=\"{validity}\",verdict=\"{}\",emulated={},{}{time}",
        result.verdict,
        result.emulated,
        fields(&result.total)
    );
    for row in &result.threads {
        let cpu = row.cpu.map_or_else(String::new, |cpu| format!(",cpu={cpu}"));
        let _ = writeln!(text, "latlab_thread{tags}{cpu},thread={} {}{time}", row.thread, fields(&row.figures));
    }
    let lost = "the histogram, figures beyond it, and whether one is exact or the end of a bin: see `--as json`";
    Export { text, lost: vec![lost.to_owned()] }
}

fn fields(row: &Row) -> String {
    let mut text = format!("cycles={}i,missed={}i,overflow={}i", row.cycles, row.missed, row.overflow);
    for (name, figure) in [("min_ns", &row.min), ("max_ns", &row.max)] {
        if let Some(ns) = figure.and_then(not_above) {
            let _ = write!(text, ",{name}={ns}i");
        }
    }
    if let Some(mean) = row.mean_ns {
        let _ = write!(text, ",mean_ns={mean}");
    }
    for quantile in &row.quantiles {
        if let Some(ns) = not_above(quantile.figure) {
            let _ = write!(text, ",q{}_ns={ns}i", quantile.q);
        }
    }
    text
}

/// Tag values: commas, equal signs and blanks are escaped; a line end cannot be.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            ',' | '=' | ' ' => escaped.extend(['\\', c]),
            c if c.is_control() => escaped.push('_'),
            c => escaped.push(c),
        }
    }
    // A backslash at the end would escape what follows.
    if escaped.ends_with('\\') {
        escaped.push('_');
    }
    escaped
}
