//! What belongs to the campaign and not to a cell: `name`, `description`, `targets`, `[plan]`.

use super::model::{AfterReset, Order, PlanOptions};
use super::settings::description;
use crate::diagnostic::{Diagnostic, Source, Span};
use crate::document::reader::{Reader, Sink};
use crate::document::values::{integer, list, name, non_empty, one_of};
use crate::document::{Node, Table};

const AFTER_RESET: &[(&str, AfterReset)] =
    &[("continue", AfterReset::Continue), ("restart", AfterReset::Restart), ("end", AfterReset::End)];
/// Most repetitions of a cell.
const MOST_REPEATS: u32 = 1000;

pub(super) struct Head {
    pub(super) name: String,
    pub(super) description: Option<String>,
    pub(super) targets: Vec<String>,
    pub(super) target_spans: Vec<Span>,
    pub(super) plan: PlanOptions,
}

/// `None` only together with an error.
pub(super) fn read(file: &Table, at: Span, instead: &[String], sink: &Sink) -> Option<Head> {
    let mut root = Reader::new(file, at, sink);
    if !root.has("name") {
        root.missing("name", "a short name for the campaign: it names the results, such as `name = \"nightly\"`");
    }
    let campaign_name = root.field("name", name);
    let description = root.field("description", description);
    let plan = plan(&mut root);
    let (targets, target_spans) = targets(&mut root, instead);
    Some(Head { name: campaign_name?, description, targets, target_spans, plan })
}

/// Values that `--set` gives to these keys, checked on their own.
pub(super) fn check(layer: &Table, at: Span, sink: &Sink) {
    let mut root = Reader::new(layer, at, sink);
    root.field("name", name);
    root.field("description", description);
    plan(&mut root);
    targets(&mut root, &[]);
}

fn plan(root: &mut Reader<'_>) -> PlanOptions {
    let mut plan = PlanOptions { repeat: 1, order: Order::Grouped, after_reset: AfterReset::default() };
    let Some(mut table) = root.table("plan") else { return plan };
    if let Some(repeat) = table.field("repeat", integer(1..=MOST_REPEATS)) {
        plan.repeat = repeat;
    }
    if let Some(order) =
        table.field("order", one_of(&[("grouped", Order::Grouped), ("interleaved", Order::Interleaved)]))
    {
        plan.order = order;
    }
    if let Some(after_reset) = table.field("after_reset", one_of(AFTER_RESET)) {
        plan.after_reset = after_reset;
    }
    table.finish();
    plan
}

fn targets(root: &mut Reader<'_>, instead: &[String]) -> (Vec<String>, Vec<Span>) {
    let with_span = |item: &Node| Ok((non_empty(item)?, item.span.clone()));
    let in_file = root.field("targets", list(with_span)).unwrap_or_default();
    distinct(&in_file, root.sink());
    if instead.is_empty() {
        return in_file.into_iter().unzip();
    }
    let named = |target: &String| (target.clone(), Span::new(&Source::option("--target", target), 0..target.len()));
    let on_command_line: Vec<_> = instead.iter().map(named).collect();
    distinct(&on_command_line, root.sink());
    (instead.to_vec(), on_command_line.into_iter().map(|(_, span)| span).collect())
}

fn distinct(targets: &[(String, Span)], sink: &Sink) {
    for (index, (target, span)) in targets.iter().enumerate() {
        if let Some((_, first)) = targets[..index].iter().find(|(other, _)| other == target) {
            sink.push(
                Diagnostic::error(span.clone(), format!("target `{target}` is named twice"))
                    .also(first.clone(), "first here")
                    .help("a board is measured once per cell and repetition; for more, set `plan.repeat`"),
            );
        }
    }
}
