//! `[gate]`.

use super::model::{Gate, Relative};
use super::settings::LATENCIES;
use crate::diagnostic::Diagnostic;
use crate::document::reader::{Reader, Sink};
use crate::document::values::{duration, duration_text, integer, number_in, one_of, share, some};
use crate::document::{Entry, Node, Value};
use crate::trend::Metric;
use std::collections::BTreeMap;

pub(super) fn read(root: &mut Reader<'_>) -> Gate {
    let Some(mut table) = root.table("gate") else { return Gate::default() };
    let mut gate = Gate {
        max_ns: table.field("max", duration(LATENCIES, "us")),
        missed: table.field("missed", integer(0..=u64::MAX / 2)),
        quantile_ns: BTreeMap::new(),
        exceed: Vec::new(),
        valid_only: table.field("validity", one_of(VALIDITY)).unwrap_or(false),
        baseline: baseline(&mut table),
    };
    for entry in table.named("quantile") {
        let name = format!("gate.quantile.\"{}\"", entry.key);
        let Some(quantile) = quantile(entry, table.sink()) else { continue };
        if let Some(limit) = table.parse(&entry.node, &name, duration(LATENCIES, "us")) {
            gate.quantile_ns.insert(quantile, limit);
        }
    }
    for entry in table.named("exceed") {
        let name = format!("gate.exceed.\"{}\"", entry.key);
        let latency = table.parse(&key_node(entry), &name, |_| duration_text(&entry.key, &LATENCIES, "us"));
        let limit = table.parse(&entry.node, &name, share);
        gate.exceed.extend(latency.zip(limit));
    }
    gate.exceed.sort_by_key(|(latency, _)| *latency);
    table.finish();
    gate
}

/// Whether only VALID will do.
const VALIDITY: &[(&str, bool)] = &[("valid", true), ("degraded", false)];
/// By [`Metric::ALL`].
const METRICS: &[(&str, Metric)] = &Metric::ALL;

fn baseline(gate: &mut Reader<'_>) -> Option<Relative> {
    let confirm = gate.field("confirm", integer(0..=20u8));
    let asked = gate.has("baseline") || gate.has("confirm");
    let mut relative = Relative { confirm: confirm.unwrap_or(2), ..Relative::default() };
    if let Some(mut table) = gate.table("baseline") {
        if let Some(metrics) = table.field("metrics", some(one_of(METRICS))) {
            relative.metrics = metrics.into_iter().map(|metric| metric.name().to_owned()).collect();
        }
        let rule = &mut relative.rule;
        rule.confidence = table.field("confidence", number_in(0.5..=0.999_999)).unwrap_or(rule.confidence);
        rule.margin = table.field("margin", number_in(0.0..=10.0)).unwrap_or(rule.margin);
        table.finish();
    }
    asked.then_some(relative)
}

fn key_node(entry: &Entry) -> Node {
    Node { value: Value::String(entry.key.clone()), span: entry.key_span.clone() }
}

fn quantile(entry: &Entry, sink: &Sink) -> Option<String> {
    if let Value::Table(inner) = &entry.node.value
        && let [fraction] = inner.entries()
    {
        let written = format!("{}.{}", entry.key, fraction.key);
        sink.push(
            Diagnostic::error(entry.key_span.clone(), format!("`{written}` needs quotes"))
                .label("the dot makes it a table")
                .help(format!("write \"{written}\" = \"80us\"")),
        );
        return None;
    }
    let number = entry.key.parse::<f64>().ok();
    if number.is_some_and(|quantile| (0.0..=1.0).contains(&quantile)) {
        return Some(entry.key.clone());
    }
    let percent = number.filter(|n| *n > 1.0 && *n <= 100.0).map(|n| format!("{}", (n * 1e9).round() / 1e11));
    let label = percent.map_or("allowed: 0 to 1".to_owned(), |share| format!("did you mean \"{share}\"?"));
    sink.push(
        Diagnostic::error(entry.key_span.clone(), format!("`{}` is no quantile", entry.key))
            .label(label)
            .help("a quantile is a number from 0 to 1, in quotes: \"0.9999\" = \"80us\""),
    );
    None
}
