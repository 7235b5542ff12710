//! What cannot be together although each alone is right.

use super::model::{Cpus, Gate, Instrument, Settings};
use super::settings::{MOST_THREADS, instrument_name};
use crate::diagnostic::{Diagnostic, Span};
use crate::document::Table;
use crate::document::reader::Sink;
use crate::units::{SECOND, YEAR, format_duration};
use latprobe::spec::{Length, Policy, Sleep};

/// Checks a cell whose layers are all there.
pub(super) fn check(table: &Table, settings: &Settings, sink: &Sink) {
    let at = |path: &[&str]| table.at(path).map(|node| node.span.clone());
    let Settings { boot, measure, length, .. } = settings;
    let in_band = !matches!(measure.instrument, Instrument::XenomaiCyclictest | Instrument::XenomaiLatency);
    other_than_measuring(table, settings, sink);
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

/// Hunts and noise: what they need, what has no meaning for them, and nothing of them for others.
fn other_than_measuring(table: &Table, settings: &Settings, sink: &Sink) {
    let at = |path: &[&str]| table.at(path).map(|node| node.span.clone());
    let Settings { measure, length, .. } = settings;
    let instrument_at = at(&["measure", "instrument"]);
    let name = instrument_name(measure.instrument);
    let (hunts, noise) =
        (measure.instrument == Instrument::LatprobeHunt, measure.instrument == Instrument::LatprobeNoise);
    let refuse = |path: &[&str], message: String, help: &str| {
        if let Some(span) = at(path).or_else(|| instrument_at.clone()) {
            sink.push(Diagnostic::error(span, message).help(help.to_owned()));
        }
    };
    if hunts && measure.hunt.is_none() {
        let help = "add `hunt = { at_least = \"100us\" }` to [measure]";
        refuse(&["measure", "instrument"], format!("{name} needs the latency that ends the hunt"), help);
    }
    if measure.hunt.is_some() && !hunts {
        let help = "set `measure.instrument = \"latprobe-hunt\"`, or take `hunt` out";
        refuse(&["measure", "hunt"], format!("`measure.hunt` has no meaning for {name}"), help);
    }
    if hunts && measure.worst == 0 {
        let help = "what is hunted is a worst sample: take `worst = 0` out";
        refuse(&["measure", "worst"], format!("{name} keeps at least one worst sample"), help);
    }
    if measure.duty_percent.is_some() && !noise {
        let help = "set `measure.instrument = \"latprobe-noise\"`, or take `duty` out";
        refuse(&["measure", "duty"], format!("`measure.duty` has no meaning for {name}"), help);
    }
    if (hunts || noise) && settings.gate != Gate::default() {
        let help = "only measurements are judged: take [gate] out, or make it a campaign of its own";
        refuse(&["gate"], format!("a gate cannot judge what {name} finds"), help);
    }
    if !noise {
        return;
    }
    if matches!(measure.cpus, Cpus::All | Cpus::Unpinned(_)) {
        let key = if at(&["measure", "threads"]).is_some() { "threads" } else { "cpus" };
        let help = "name the CPUs in `measure.cpus`, or \"isolated\"; one CPU must be left for the system";
        refuse(&["measure", key], format!("{name} would take every CPU"), help);
    }
    if matches!(length, Length::Cycles(_)) {
        refuse(&["cycles"], format!("{name} counts clock reads, not cycles"), "give a `duration`");
    }
    if measure.sleep != Sleep::Absolute {
        refuse(&["measure", "sleep"], format!("{name} keeps its periods by absolute sleeps"), "take `sleep` out");
    }
    if measure.policy == Policy::Deadline {
        refuse(&["measure", "policy"], format!("{name} is no deadline thread"), "take fifo, rr or other");
    }
    if measure.interval_ns > SECOND {
        refuse(&["interval"], format!("{name} sleeps once a second or more often"), "`interval` up to 1 s");
    }
    if settings.collect.checkpoint_ns > 30 * SECOND {
        let help = "up to 30 s: its counters are 32 bits wide and count every 20 ns";
        refuse(&["collect", "checkpoint"], format!("{name} needs checkpoints more often"), help);
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
