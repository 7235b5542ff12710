//! A run for people: what was measured on what, the figures, and what they are worth.

mod histogram;
pub mod sparkline;

use super::recipe;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use latlab_core::judgement::{Finding, Outcome, Validity, Verdict};
use latlab_core::quantity::{count, duration, latency, micros, percent};
use latlab_core::resolve::preemption_name;
use latlab_core::result::{Bound, Figure, QuantileFigure, Row, RunResult, WorstSample};
use latprobe::spec::{Length, Policy};
use std::fmt::Write as _;
use std::io::IsTerminal;

/// Quantiles of the table, of those in a result: all but the median.
pub(crate) const SHOWN: [&str; 3] = ["0.99", "0.999", "0.9999"];

/// Everything of a run that a person wants to know, in at most `width` columns where words allow it.
pub fn render(result: &RunResult, width: usize) -> String {
    let width = width.clamp(60, 120);
    let mut out = String::new();
    heading(result, width, &mut out);
    out.push_str(&card(result, width));
    out.push('\n');
    out.push_str(&figures(result, width));
    closing(result, width, &mut out);
    reasons(result, width, &mut out);
    limits(result, width, &mut out);
    out.push_str(&recipe::section(&result.recipe, width));
    worst(result, &mut out);
    out.push_str(&histogram::render(result, width));
    let _ = writeln!(out, "\nstored in {}", result.identity.stored_in);
    out
}

/// [`render`] in [`WIDTH`] columns; on a terminal what is good or bad has colour, unless `NO_COLOR` is set.
pub fn for_stdout(result: &RunResult) -> String {
    let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let plain = render(result, WIDTH);
    if std::io::stdout().is_terminal() && !no_colour { coloured(&plain) } else { plain }
}

/// Words that say how it went: where they end a line of the table or begin a heading, and their colour.
const COLOURS: &[(&str, &str)] = &[
    ("INVALID", "\u{1b}[1;31m"),
    ("DEGRADED", "\u{1b}[1;33m"),
    ("VALID", "\u{1b}[1;32m"),
    ("FAIL", "\u{1b}[1;31m"),
    ("PASS", "\u{1b}[1;32m"),
    ("BROKEN", "\u{1b}[1;31m"),
];

fn coloured(plain: &str) -> String {
    let paint = |line: &str| {
        for (word, colour) in COLOURS {
            let painted = format!("{colour}{word}\u{1b}[0m");
            if let Some(rest) = line.strip_prefix(word).filter(|rest| rest.starts_with(" because")) {
                return painted + rest + "\n";
            }
            if let Some(start) = line.strip_suffix(word).filter(|start| start.ends_with("  ")) {
                return format!("{start}{painted}\n");
            }
        }
        format!("{line}\n")
    };
    plain.lines().map(paint).collect()
}

/// A figure in us, with `>` where it is a lower bound.
pub fn figure_text(figure: Option<Figure>) -> String {
    match figure {
        None => "-".to_owned(),
        Some(Figure { ns, bound: Bound::Above, .. }) => format!(">{}", micros(ns)),
        Some(Figure { ns, .. }) => micros(ns),
    }
}

/// Duties of all loads, `idle` without any.
pub fn duty_text(result: &RunResult) -> String {
    let one =
        |load: &latlab_core::result::LoadRow| format!("{} {}", load.name, load.duty.map_or("-".to_owned(), percent));
    match result.loads.is_empty() {
        true => "idle".to_owned(),
        false => result.loads.iter().map(one).collect::<Vec<_>>().join(", "),
    }
}

/// `none`, `1`, `unknown`.
pub fn isolated_text(result: &RunResult) -> &str {
    match result.board.isolated_cpus.as_deref() {
        None => "unknown",
        Some("") => "none",
        Some(cpus) => cpus,
    }
}

/// Columns of a report, on every terminal and in every file: two reports can be compared line by line.
pub const WIDTH: usize = 80;

/// A table without lines, columns two blanks apart.
pub(crate) fn plain_table(width: usize) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    table
}

/// The table's text: no blanks at line ends, the left padding of the first column taken off.
pub(crate) fn table_text(table: &Table) -> String {
    let lines = table.lines().map(|line| line.strip_prefix(' ').unwrap_or(&line).trim_end().to_owned() + "\n");
    lines.collect()
}

/// Columns of numbers.
pub(crate) fn align_right(table: &mut Table, columns: std::ops::Range<usize>) {
    for column in columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

fn heading(result: &RunResult, width: usize, out: &mut String) {
    let id = &result.identity;
    let _ = writeln!(out, "{}, cell {}, run {} of execution {}", id.campaign, id.cell, id.repetition, id.execution);
    if result.emulated {
        let _ = writeln!(out, "{EMULATED}");
    }
    if result.in_progress {
        let text = format!("Not over: these are the figures so far. `latlab resume {}` goes on with it.", id.execution);
        out.push_str(&wrapped(&text, 0, width));
    }
    if let Some(before) = result.judged_before {
        let text = format!(
            "Was judged {}, {} when it was stored; this latlab judges otherwise.",
            before.validity, before.verdict
        );
        out.push_str(&wrapped(&text, 0, width));
    }
    if !result.altered.is_empty() {
        let text = format!("Stored files are not as they were when the run was closed: {}.", result.altered.join("; "));
        out.push_str(&wrapped(&text, 0, width));
    }
    out.push('\n');
}

fn card(result: &RunResult, width: usize) -> String {
    let board = &result.board;
    let target = match &board.model {
        Some(model) => format!("{} ({model})", result.identity.target),
        None => result.identity.target.clone(),
    };
    let unknown = || "unknown".to_owned();
    let preemption = board.preemption.map_or_else(unknown, |model| preemption_name(model).to_owned());
    let total = &result.total;
    let rows = [
        ("target", target),
        ("kernel release", board.kernel_release.clone().unwrap_or_else(unknown)),
        ("preemption model", preemption),
        ("isolated CPUs", isolated_text(result).to_owned()),
        ("measured", setup_text(result)),
        ("cycles", format!("{} of {} expected", count(total.cycles), count(total.expected_cycles))),
        ("missed periods", count(total.missed)),
        ("load duty", duty_text(result)),
        ("validity", if result.in_progress { "not judged yet".to_owned() } else { result.validity.to_string() }),
        ("verdict", verdict_text(result)),
    ];
    let mut table = plain_table(width);
    rows.into_iter().for_each(|(key, value)| {
        table.add_row([key.to_owned(), value]);
    });
    table_text(&table)
}

pub(crate) fn verdict_text(result: &RunResult) -> String {
    let name = result.verdict;
    if result.in_progress {
        return "not judged yet".to_owned();
    }
    match (result.verdict, result.limits.is_empty()) {
        (Verdict::NotJudged, true) => format!("{name}: the campaign has no gate"),
        (Verdict::NotJudged, false) => format!("{name}: the run is invalid"),
        _ => name.to_string(),
    }
}

pub(crate) fn setup_text(result: &RunResult) -> String {
    let setup = &result.setup;
    let policy = match setup.policy {
        Policy::Fifo => format!("SCHED_FIFO {}", setup.priority),
        Policy::Rr => format!("SCHED_RR {}", setup.priority),
        Policy::Other => "SCHED_OTHER".to_owned(),
        Policy::Deadline => "SCHED_DEADLINE".to_owned(),
    };
    let mut intervals: Vec<u64> = result.threads.iter().map(|t| t.interval_ns).collect();
    intervals.dedup();
    let interval = match intervals.as_slice() {
        [] => String::new(),
        [one] => format!(" every {}", duration(*one)),
        [first, .., last] => format!(" every {} to {}", duration(*first), duration(*last)),
    };
    let asked = match setup.length {
        Length::DurationNs(ns) if ns == result.measured_ns => String::new(),
        Length::DurationNs(ns) => format!(" of {}", duration(ns)),
        Length::Cycles(cycles) => format!(" for {} cycles", count(cycles)),
    };
    let version = setup.instrument_version.as_deref().unwrap_or("that never started");
    format!("{}{asked}{interval}, {policy}, {} {version}", duration(result.measured_ns), setup.instrument)
}

fn figures(result: &RunResult, width: usize) -> String {
    let mut table = plain_table(width);
    let [what, counted] = match result.setup.instrument.as_str() {
        "latprobe-noise" => ["gap [us]", "clock reads"],
        _ => ["latency [us]", "cycles"],
    };
    let head = [what, counted, "missed", "min", "mean", "p99", "p99.9", "p99.99", "max"];
    table.set_header(head);
    table.add_row(figure_row("all threads", &result.total));
    if result.threads.len() > 1 {
        for thread in &result.threads {
            let name = thread.cpu.map_or_else(|| format!("thread {}", thread.thread), |cpu| format!("CPU {cpu}"));
            table.add_row(figure_row(&name, &thread.figures));
        }
    }
    if let Some(quantiles) = &result.per_period {
        let mut row = vec!["by period".to_owned(), String::new(), String::new(), String::new(), String::new()];
        row.extend(quantile_texts(quantiles));
        // A missed period is later than none of the wake-ups that missed it.
        row.push(figure_text(result.total.max));
        table.add_row(row);
    }
    align_right(&mut table, 1..9);
    table_text(&table)
}

fn figure_row(name: &str, row: &Row) -> Vec<Cell> {
    let mean = row.mean_ns.map_or("-".to_owned(), |mean| format!("{:.1}", mean / 1000.0));
    let mut cells = vec![name.to_owned(), count(row.cycles), count(row.missed), figure_text(row.min), mean];
    cells.extend(quantile_texts(&row.quantiles));
    cells.push(figure_text(row.max));
    cells.into_iter().map(Cell::new).collect()
}

pub(crate) fn quantile_texts(quantiles: &[QuantileFigure]) -> impl Iterator<Item = String> {
    SHOWN.iter().map(|shown| figure_text(quantiles.iter().find(|q| q.q == *shown).map(|q| q.figure)))
}

/// `Observed maximum 51 us over 43,200,000 cycles in 12 h.`
pub(crate) fn observed_maximum(result: &RunResult, max: Figure) -> String {
    format!(
        "Observed maximum {} over {} cycles in {}.",
        if max.bound == Bound::Above { format!("> {}", latency(max.ns)) } else { latency(max.ns) },
        count(result.total.cycles),
        duration(result.measured_ns)
    )
}

/// A sampled maximum is no bound: it grows with the number of samples.
fn closing(result: &RunResult, width: usize, out: &mut String) {
    if let Some(max) = result.total.max {
        out.push_str(&wrapped(&observed_maximum(result, max), 0, width));
    }
    if result.per_period.is_some() {
        let text = "By period: each missed period counts as a late arrival; the other rows count a stall once, as cyclictest does.";
        out.push_str(&wrapped(text, 0, width));
    }
    if result.total.overflow > 0 {
        let range = latency(result.setup.bin_width_ns.saturating_mul(u64::from(result.setup.bins)));
        let text = format!("{} cycles lie beyond the histogram's range of {range}.", count(result.total.overflow));
        out.push_str(&wrapped(&text, 0, width));
    }
}

fn reasons(result: &RunResult, width: usize, out: &mut String) {
    for (outcome, title) in [
        (Outcome::Invalidates, "INVALID because"),
        (Outcome::Degrades, "DEGRADED because"),
        (Outcome::Unknown, "Could not be seen"),
    ] {
        let findings: Vec<&Finding> = result.findings.iter().filter(|f| f.outcome == outcome).collect();
        if !findings.is_empty() {
            let title = match (outcome, result.validity) {
                _ if result.in_progress && outcome != Outcome::Unknown => "Would count against it now",
                (Outcome::Degrades, Validity::Invalid) => "Also",
                _ => title,
            };
            let _ = writeln!(out, "\n{title}");
            for finding in findings {
                out.push_str(&wrapped(&format!("{}: {}", finding.rule, finding.detail), 2, width));
            }
        }
    }
    let good = result.findings.iter().filter(|f| f.outcome == Outcome::Ok).count();
    let _ = writeln!(out, "\n{good} of {} validity rules hold (--format json lists them).", result.findings.len());
}

fn limits(result: &RunResult, width: usize, out: &mut String) {
    if result.limits.is_empty() {
        return;
    }
    let mut table = plain_table(width);
    table.set_header(["gate", "allowed", "measured", ""]);
    for limit in &result.limits {
        let holds = if limit.holds { "holds" } else { "BROKEN" };
        table.add_row([&limit.limit, &limit.allowed, &limit.measured, holds]);
    }
    let _ = write!(out, "\n{}", table_text(&table));
}

/// Said of every emulated run.
pub(crate) const EMULATED: &str = "Figures measured under emulation: they say nothing about the board's hardware.";

/// Lines of worst samples shown.
const WORST: usize = 5;

fn worst(result: &RunResult, out: &mut String) {
    if result.worst.is_empty() {
        return;
    }
    out.push_str("\nworst samples\n");
    let shown = &result.worst[..result.worst.len().min(WORST)];
    let width = shown.iter().map(|sample| latency(sample.latency_ns).len()).max().unwrap_or(0);
    for sample in shown {
        let _ = writeln!(
            out,
            "  {:>width$}  {}, after {} (cycle {}){}",
            latency(sample.latency_ns),
            place(sample),
            duration(sample.since_start_ns),
            count(sample.cycle),
            if sample.during_contact { ", while the host talked to it" } else { "" }
        );
    }
}

/// Where a sample was taken: the CPU of a pinned thread, else the thread.
pub(crate) fn place(sample: &WorstSample) -> String {
    sample.cpu.map_or_else(|| format!("thread {}", sample.thread), |cpu| format!("CPU {cpu}"))
}

/// `text` in lines of at most `width` columns; in an indented one, all lines but the first are indented two more.
pub(crate) fn wrapped(text: &str, indent: usize, width: usize) -> String {
    let mut out = String::new();
    let mut line = " ".repeat(indent);
    let mut is_empty = true;
    for word in text.split_whitespace() {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > width {
            out.push_str(&line);
            out.push('\n');
            (line, is_empty) = (" ".repeat(if indent == 0 { 0 } else { indent + 2 }), true);
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    out + &line + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_is_added_to_verdicts_alone() {
        let plain = "validity          INVALID\nverdict           PASS\n\nDEGRADED because\n  cycles: INVALID PASS\n";
        let expected = "validity          \u{1b}[1;31mINVALID\u{1b}[0m\nverdict           \u{1b}[1;32mPASS\u{1b}[0m\n\n\
                        \u{1b}[1;33mDEGRADED\u{1b}[0m because\n  cycles: INVALID PASS\n";
        assert_eq!(coloured(plain), expected);
    }

    #[test]
    fn text_is_wrapped_between_words() {
        assert_eq!(wrapped("one two three four", 2, 12), "  one two\n    three\n    four\n");
        assert_eq!(wrapped("one two three", 0, 9), "one two\nthree\n");
        assert_eq!(wrapped("unbreakable", 0, 4), "unbreakable\n");
    }
}
