//! What cannot be together although each alone is right.

use super::model::{Cpus, Instrument, Settings};
use super::settings::{MOST_THREADS, instrument_name};
use crate::diagnostic::{Diagnostic, Span};
use crate::document::Table;
use crate::document::reader::Sink;
use crate::units::{YEAR, format_duration};
use latprobe::spec::Length;

/// Checks a cell whose layers are all there.
pub(super) fn check(table: &Table, settings: &Settings, sink: &Sink) {
    let at = |path: &[&str]| table.at(path).map(|node| node.span.clone());
    let Settings { boot, measure, length, .. } = settings;
    let in_band = matches!(measure.instrument, Instrument::Latprobe | Instrument::Cyclictest | Instrument::Timerlat);
    if let (Some(kernel), Some(span)) = (&boot.kernel, at(&["boot", "kernel"]))
        && kernel.to_lowercase().contains("cobalt")
        && in_band
    {
        sink.push(in_band_on_cobalt(span, at(&["measure", "instrument"]), measure.instrument, kernel));
    }
    if let (Length::DurationNs(ns), Some(span)) = (length, at(&["duration"]))
        && *ns < measure.interval_ns
    {
        let interval = format_duration(measure.interval_ns);
        let diagnostic = Diagnostic::error(span, "`duration` is shorter than `interval`");
        sink.push(diagnostic.label(format!("no cycle of {interval} fits into it")));
    }
    if let (Length::Cycles(cycles), Some(span)) = (length, at(&["cycles"]))
        && cycles.saturating_mul(measure.interval_ns) > YEAR
    {
        let diagnostic = Diagnostic::error(span, "`cycles` takes more than a year");
        sink.push(diagnostic.label(format!("at an interval of {}", format_duration(measure.interval_ns))));
    }
    if let (Cpus::Isolated, Some(isolated), Some(span)) = (&measure.cpus, &boot.isolcpus, at(&["measure", "cpus"]))
        && isolated.is_empty()
    {
        let diagnostic = Diagnostic::error(span, "`measure.cpus` is \"isolated\", but no CPU is isolated")
            .help("name the CPUs, or isolate some by `boot.isolcpus`");
        let isolcpus = at(&["boot", "isolcpus"]);
        sink.push(match isolcpus {
            Some(span) => diagnostic.also(span, "none here"),
            None => diagnostic,
        });
    }
    if let (Some(_), Some(append)) = (&boot.isolcpus, at(&["boot", "append"]))
        && boot.append.iter().any(|word| word.starts_with("isolcpus="))
    {
        let diagnostic = Diagnostic::error(append, "`boot.append` and `boot.isolcpus` both isolate CPUs");
        sink.push(diagnostic.label("`isolcpus=` stands here").help("keep one of them"));
    }
    if let (Some(_), Some(span)) = (measure.cpus.list().filter(|list| list.len() > 1024), at(&["measure", "cpus"])) {
        sink.push(Diagnostic::error(span, format!("more than {MOST_THREADS} sampling threads")));
    }
    if let (Some(required), Some(applied)) = (&settings.require.governor, &settings.apply.governor)
        && required != applied
        && let Some(span) = at(&["apply", "governor"])
    {
        sink.push(Diagnostic::error(span, format!("`governor` is required to be {required}, but set to {applied}")));
    }
}

/// The error of an in-band instrument on a co-kernel, for the fit with a target too.
pub(super) fn in_band_on_cobalt(
    kernel_at: Span,
    instrument_at: Option<Span>,
    instrument: Instrument,
    kernel: &str,
) -> Diagnostic {
    let name = instrument_name(instrument);
    let diagnostic = Diagnostic::error(kernel_at, format!("{name} on `{kernel}` would measure Linux, not Cobalt"))
        .label("a co-kernel variant")
        .help("set `measure.instrument` of this cell to \"xenomai-cyclictest\" or \"xenomai-latency\"");
    match instrument_at {
        Some(span) => diagnostic.also(span, "this instrument runs under Linux"),
        None => diagnostic,
    }
}
