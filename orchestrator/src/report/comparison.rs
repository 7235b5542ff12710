//! Comparisons and differences for people.

use super::statistics::rounded;
use super::text::{plain_table, table_text, wrapped};
use comfy_table::CellAlignment;
use latlab_core::compare::{Compared, Comparison, Differences, Differing, Extent, Outcome, Untold};
use latlab_core::latency::{Interval, Stated};
use latlab_core::quantity::{count, duration, latency, micros};

/// A comparison: what else differs first, then the metrics; in at most `width` columns where words allow it.
pub fn render(comparison: &Comparison, width: usize) -> String {
    let mut out = wrapped(&comparison.headline, 0, width);
    out.push('\n');
    out.push_str(&extents(&comparison.a, &comparison.b, width));
    let differing: Vec<&Differing> = comparison.differences.besides().collect();
    out.push_str(&differing_table(
        if comparison.asked.is_empty() { "\ndifferent" } else { "\nalso different" },
        &differing,
        width,
    ));
    let asked: Vec<&Differing> =
        comparison.differences.differing.iter().filter(|d| d.asked && d.key.group.matters()).collect();
    out.push_str(&differing_table("\ndifferent as asked", &asked, width));
    out.push_str(&unknown(comparison.differences.unknown_that_matters(), width));
    out.push('\n');
    out.push_str(&metrics(&comparison.metrics, width));
    out.push('\n');
    sentences(comparison).iter().for_each(|text| out.push_str(&wrapped(text, 0, width)));
    out
}

/// All differences, for `latlab diff`.
pub fn render_differences(a: &Extent, b: &Extent, differences: &Differences, width: usize) -> String {
    let mut out = extents(a, b, width);
    if differences.differing.is_empty() {
        out.push_str("\nno difference in what is known\n");
    }
    for group in differences.differing.chunk_by(|a, b| a.key.group == b.key.group) {
        let Some(first) = group.first() else { continue };
        let all: Vec<&Differing> = group.iter().collect();
        out.push_str(&differing_table(&format!("\n{}", first.key.group.name()), &all, width));
    }
    out.push_str(&unknown(differences.unknown.iter(), width));
    out
}

fn extents(a: &Extent, b: &Extent, width: usize) -> String {
    wrapped(&extent("A", a), 0, width) + &wrapped(&extent("B", b), 0, width)
}

/// How much a side is, in words.
pub(crate) fn extent(letter: &str, side: &Extent) -> String {
    let plural = |n: usize, word: &str| if n == 1 { format!("1 {word}") } else { format!("{n} {word}s") };
    let mut text = format!("{letter}: {}: {}", side.name, plural(side.runs.len(), "run"));
    match side.boots_known {
        true => text += &format!(" in {}", plural(side.boots, "boot")),
        false => text += ", boots unknown (each run taken as one)",
    }
    if let Some(ns) = side.measured_ns {
        text += &format!(", {}", duration(ns));
    }
    if let Some(cycles) = side.cycles {
        text += &format!(", {} cycles", count(cycles));
    }
    if let Some(validity) = side.worst_validity {
        text += &format!(", {validity}");
    }
    text
}

fn differing_table(title: &str, differing: &[&Differing], width: usize) -> String {
    if differing.is_empty() {
        return String::new();
    }
    let mut table = plain_table(width);
    table.set_header(["", "", "A", "B"]);
    for found in differing {
        table.add_row([found.key.group.name(), &found.key.name, &found.a.join(", "), &found.b.join(", ")]);
    }
    format!("{title}\n{}", table_text(&table))
}

fn unknown<'a>(unknown: impl Iterator<Item = &'a Untold>, width: usize) -> String {
    let all = untold(unknown);
    if all.is_empty() { String::new() } else { format!("\nunknown\n{}", wrapped(&all.join(", "), 2, width)) }
}

/// What is unknown, and on which side.
pub(crate) fn untold<'a>(unknown: impl Iterator<Item = &'a Untold>) -> Vec<String> {
    let one = |untold: &Untold| {
        let side = match (untold.on_a, untold.on_b) {
            (true, true) => "both",
            (true, false) => "A",
            _ => "B",
        };
        format!("{} ({side})", untold.key.name)
    };
    unknown.map(one).collect()
}

fn metrics(metrics: &[Compared], width: usize) -> String {
    let mut table = plain_table(width);
    table.set_header(METRIC_HEAD);
    for row in metric_rows(metrics) {
        table.add_row(row);
    }
    table.column_iter_mut().skip(1).take(5).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    table_text(&table)
}

/// Headings of [`metric_rows`].
pub(crate) const METRIC_HEAD: [&str; 7] = ["", "A", "B", "B − A", "95 %", "effect", ""];

/// A row for each metric that a side tells.
pub(crate) fn metric_rows(metrics: &[Compared]) -> Vec<[String; 7]> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let row = |metric: &Compared| {
        let unit = |value: f64| figure(value, &metric.unit);
        let side = |values: &[f64]| match values.is_empty() {
            true => "-".to_owned(),
            false => level(mean(values), &metric.unit),
        };
        let signed = |value: f64| match unit(value) {
            text if value > 0.0 && text != "0" => format!("+{text}"),
            text => text,
        };
        let between = |i: Interval| format!("{} to {}", signed(i.low), signed(i.high));
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        [
            named(metric),
            side(&metric.a),
            side(&metric.b),
            or_none(metric.difference.map(signed)),
            or_none(metric.interval.map(between)),
            or_none(metric.effect.map(|effect| format!("{effect:+.1}"))),
            outcome_name(metric.outcome).to_owned(),
        ]
    };
    // What neither side tells needs no line of its own; the sentences below say it.
    metrics.iter().filter(|m| !(m.a.is_empty() && m.b.is_empty() && m.metric != "max")).map(row).collect()
}

fn named(metric: &Compared) -> String {
    format!("{} ({})", metric.metric, if metric.unit == "ns" { "us" } else { &metric.unit })
}

/// Name for people.
pub fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Better => "better",
        Outcome::Worse => "worse",
        Outcome::NoDifferenceSeen => "no difference seen",
        Outcome::CannotTell => "cannot tell",
        Outcome::Observed => "observed",
        Outcome::NotComparable => "not comparable",
    }
}

/// Why more cannot be said, once for all metrics that share the reason; and what the boots showed.
fn reasons(metrics: &[Compared]) -> Vec<String> {
    let mut out = Vec::new();
    let undecided =
        |m: &&Compared| matches!(m.outcome, Outcome::CannotTell | Outcome::Observed | Outcome::NotComparable);
    let mut said: Vec<(&str, Vec<&str>)> = Vec::new();
    for metric in metrics.iter().filter(undecided) {
        match said.iter_mut().find(|(words, _)| *words == metric.words) {
            Some((_, names)) => names.push(&metric.metric),
            None => said.push((&metric.words, vec![&metric.metric])),
        }
    }
    for (words, names) in said {
        out.push(format!("{}: {words}.", names.join(", ")));
    }
    for metric in metrics.iter().filter(|m| m.metric == "max" && m.a.len() + m.b.len() > 2) {
        let side = |values: &[f64]| values.iter().map(|v| level(*v, &metric.unit)).collect::<Vec<_>>().join(", ");
        out.push(format!("{} by boot: A {}; B {}.", named(metric), side(&metric.a), side(&metric.b)));
    }
    out
}

/// A level without its unit; a latency is rounded up, as everywhere: it must not look smaller than it was.
fn level(value: f64, unit: &str) -> String {
    if unit == "ns" { micros(rounded(value)) } else { figure(value, unit) }
}

/// A difference, or another figure, without its unit: latencies in us.
fn figure(value: f64, unit: &str) -> String {
    let value = if unit == "ns" { value / 1000.0 } else { value };
    // No minus in front of nothing.
    let value = (value * 10.0).round() / 10.0 + 0.0;
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}

/// Why more cannot be said, and what must be known to read the metrics rightly.
pub(crate) fn sentences(comparison: &Comparison) -> Vec<String> {
    let mut out = reasons(&comparison.metrics);
    let find = |metric: &str| comparison.metrics.iter().find(|m| m.metric == metric);
    if let Some((max, cycles)) = find("max").and_then(|max| Some((max, max.at_cycles?))) {
        let mut text = format!("Maxima are observed ones at {} cycles on both sides, no bounds.", count(cycles));
        // At equal numbers of cycles the largest sample may be out of sight.
        let hidden =
            |whole: Option<u64>, shown: &[f64]| whole.is_some_and(|ns| shown.iter().all(|value| rounded(*value) < ns));
        if hidden(comparison.a.max_ns, &max.a) || hidden(comparison.b.max_ns, &max.b) {
            let whole = |ns: Option<u64>| ns.map_or("-".to_owned(), latency);
            let (a, b) = (whole(comparison.a.max_ns), whole(comparison.b.max_ns));
            text += &format!(" The largest of all cycles: A {a}, B {b}.");
        }
        out.push(text);
    }
    for metric in &comparison.metrics {
        if let Some(Stated::Figure(i)) = metric.within_runs {
            let text = format!(
                "{} within these two runs: B − A is {} to {} us (95 %, block bootstrap); boots may differ by more.",
                metric.metric,
                figure(i.low, "ns"),
                figure(i.high, "ns")
            );
            out.push(text);
        }
    }
    if comparison.metrics.iter().any(|m| m.outcome == Outcome::Observed) {
        out.push("Better or worse is said from three boots a side on.".to_owned());
    }
    if comparison.forced {
        out.push("INVALID runs are among them: nothing here may be relied on.".to_owned());
    }
    out
}
