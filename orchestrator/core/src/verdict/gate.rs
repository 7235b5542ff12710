//! Is it fast enough? Limits are inclusive; a figure that is only a bound must hold at its worst.

use super::Run;
use crate::campaign::model::Gate;
use crate::judgement::{Finding, LimitOutcome, Outcome};
use crate::latency::{Probability, Share, Summary, Value};
use crate::quantity::{count, latency, value};

/// `validity = "valid"`: a run that would be DEGRADED is not what was asked for.
pub(super) fn required_validity(gate: &Gate, findings: &[Finding]) -> Option<Finding> {
    let degrading: Vec<&str> =
        findings.iter().filter(|f| f.outcome == Outcome::Degrades).map(|f| f.rule.as_str()).collect();
    if !gate.valid_only || degrading.is_empty() {
        return None;
    }
    let detail = format!("the gate takes VALID runs only, and this one is degraded by {}", degrading.join(", "));
    Some(Finding { rule: "required-validity".to_owned(), outcome: Outcome::Invalidates, detail })
}

pub(super) fn limits(gate: &Gate, run: &Run) -> Vec<LimitOutcome> {
    let all = run.all.as_ref();
    let mut limits = Vec::new();
    let mut push = |limit: String, allowed: String, measured: Option<(String, bool)>| {
        let (measured, holds) = measured.unwrap_or(("no data".to_owned(), false));
        limits.push(LimitOutcome { limit, allowed, measured, holds });
    };
    if let Some(limit_ns) = gate.max_ns {
        let measured = all.and_then(|all| all.max).map(|max| (value(max), max.surely_within(limit_ns)));
        push("max".to_owned(), at_most(limit_ns), measured);
    }
    if let Some(limit) = gate.missed {
        let measured = all.map(|all| (count(all.missed), all.missed <= limit));
        push("missed".to_owned(), format!("≤ {}", count(limit)), measured);
    }
    for (q, limit_ns) in &gate.quantile_ns {
        let measured = all.and_then(|all| {
            let found = all.distribution.quantile(&Probability::parse(q).ok()?)?;
            Some((quantile_text(all, found), found.surely_within(*limit_ns)))
        });
        push(format!("quantile {q}"), at_most(*limit_ns), measured);
    }
    for (limit_ns, share) in &gate.exceed {
        let measured = all.map(|all| exceed(all.distribution.above(*limit_ns), *share));
        push(format!("exceed {}", latency(*limit_ns)), format!("≤ {share:e} of the cycles"), measured);
    }
    limits
}

fn at_most(limit_ns: u64) -> String {
    format!("≤ {}", latency(limit_ns))
}

/// A quantile in overflow is shown as a bound, with what the tail still tells.
fn quantile_text(all: &Summary, found: Value) -> String {
    match (all.distribution.in_overflow(found), found.at_most_ns) {
        (true, Some(at_most)) => format!("> {} (≤ {})", latency(all.range_ns), latency(at_most)),
        (true, None) => format!("> {}", latency(all.range_ns)),
        // The end of its bin.
        (false, Some(at_most)) => latency(at_most),
        (false, None) => value(found),
    }
}

fn exceed(found: Share, limit: f64) -> (String, bool) {
    let share = |n: u64| n as f64 / found.total.max(1) as f64;
    let text = match found.at_least == found.at_most {
        true => {
            let cycles = if found.at_most == 1 { "cycle" } else { "cycles" };
            format!("{:.3e} ({} {cycles})", share(found.at_most), count(found.at_most))
        }
        false => format!(
            "{:.3e} to {:.3e} ({} to {} cycles: the limit lies inside a bin)",
            share(found.at_least),
            share(found.at_most),
            count(found.at_least),
            count(found.at_most)
        ),
    };
    (text, share(found.at_most) <= limit)
}
