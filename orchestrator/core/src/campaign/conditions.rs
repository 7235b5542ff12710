//! `[require]` and `[apply]`: conditions of the board.

use super::model::{Below, Conditions, Console, Housekeeping, Off, Preemption, RtRuntime, Stopped};
use crate::diagnostic::{Diagnostic, nearest};
use crate::document::reader::{Parsed, Problem, Reader};
use crate::document::values::{duration, list, name, one_of, text};
use crate::document::{Node, Value};
use crate::recipe;
use crate::units::{SECOND, US};

const PREEMPTIONS: &[(&str, Preemption)] = &[
    ("preempt-rt", Preemption::PreemptRt),
    ("preempt", Preemption::Preempt),
    ("voluntary", Preemption::Voluntary),
    ("lazy", Preemption::Lazy),
    ("none", Preemption::None),
];

/// Reads `[require]` or `[apply]`.
pub(super) fn read(root: &mut Reader<'_>, section: &'static str) -> Conditions {
    let Some(mut table) = root.table(section) else { return Conditions::default() };
    let only_required = |table: &mut Reader<'_>, key: &'static str, why: &str| {
        let entry = table.entry(key).filter(|_| section == "apply");
        if let Some(entry) = entry {
            table.sink().push(
                Diagnostic::error(entry.key_span.clone(), format!("`{key}` can be required, but not applied"))
                    .label(why)
                    .help(format!("move it to `[require]`: `{key}` is then checked before the run")),
            );
        }
    };
    only_required(&mut table, "preemption", "the kernel is built or booted with it");
    only_required(&mut table, "clocksource", "changing it would disturb the whole board");
    only_required(&mut table, "checks", "a check is looked at, not set");
    let conditions = Conditions {
        governor: table.field("governor", name),
        rt_runtime: table.field("rt_runtime", rt_runtime),
        console: table.field("console", one_of(&[("quiet", Console::Quiet)])),
        transparent_hugepage: table
            .field("transparent_hugepage", one_of(&[("never", "never"), ("madvise", "madvise"), ("always", "always")]))
            .map(str::to_owned),
        fair_server: table.field("fair_server", one_of(OFF)),
        tracing: table.field("tracing", one_of(OFF)),
        watchdog: table.field("watchdog", one_of(OFF)),
        irq_affinity: table.field("irq_affinity", one_of(HOUSEKEEPING)),
        workqueues: table.field("workqueues", one_of(HOUSEKEEPING)),
        time_sync: table.field("time_sync", one_of(&[("stopped", Stopped::Stopped)])),
        rt_threads: table.field("rt_threads", one_of(&[("below", Below::Below)])),
        checks: table.field("checks", list(check)).unwrap_or_default(),
        preemption: table.field("preemption", one_of(PREEMPTIONS)),
        clocksource: table.field("clocksource", name),
    };
    table.finish();
    conditions
}

const OFF: &[(&str, Off)] = &[("off", Off::Off)];
const HOUSEKEEPING: &[(&str, Housekeeping)] = &[("housekeeping", Housekeeping::Housekeeping)];

/// The name of a recipe check.
fn check(node: &Node) -> Parsed<String> {
    let asked = text(node)?;
    if recipe::rule(&asked).is_some() {
        return Ok(asked);
    }
    let names = recipe::names();
    let label = match nearest(&asked, names.iter().copied()) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => "`latlab doctor` lists them".to_owned(),
    };
    Err(vec![Problem::new("no recipe check is called {}", label, format!("checks: {}", names.join(", ")))])
}

fn rt_runtime(node: &Node) -> Parsed<RtRuntime> {
    match &node.value {
        Value::String(text) if text == "unlimited" => Ok(RtRuntime::Unlimited),
        Value::Integer(-1) => {
            Err(vec![Problem::new("`{}` has no unit", "write \"unlimited\"", "-1 is the kernel's word for it")])
        }
        _ => duration(0..=SECOND, "us")(node).map(|ns| RtRuntime::Us(ns / US)).map_err(|problems| {
            let widen = |mut problem: Problem| {
                if problem.help.is_empty() || !problem.help.contains("unit, in quotes: ") {
                    problem.help = "a time in each second, such as \"950ms\", or \"unlimited\"".to_owned();
                }
                problem
            };
            problems.into_iter().map(widen).collect()
        }),
    }
}
