//! JUnit XML: a test case for the run's validity and one for each limit of the gate.

use super::{Export, Source};
use crate::judgement::{Outcome, Validity};
use std::fmt::Write as _;

/// The document. An INVALID run is an error and its limits are skipped; a broken limit is a failure.
pub fn junit(source: &Source) -> Export {
    let result = source.result;
    let identity = &result.identity;
    let invalid = result.validity == Validity::Invalid;
    let failures = if invalid { 0 } else { result.limits.iter().filter(|limit| !limit.holds).count() };
    let skipped = if invalid { result.limits.len() } else { 0 };
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        text,
        "<testsuite name=\"{}\" hostname=\"{}\" tests=\"{}\" failures=\"{failures}\" errors=\"{}\" skipped=\"{skipped}\" time=\"{}.{:03}\"{}>",
        escaped(&identity.campaign),
        escaped(&identity.target),
        result.limits.len() + 1,
        u8::from(invalid),
        result.measured_ns / 1_000_000_000,
        result.measured_ns / 1_000_000 % 1000,
        identity.started_at.as_ref().map_or_else(String::new, |at| format!(" timestamp=\"{}\"", escaped(at))),
    );
    properties(&mut text, source);
    let class = format!("{}.{}", identity.campaign, identity.run);
    case(&mut text, &class, "validity", &validity(source));
    for limit in &result.limits {
        let outcome = if invalid {
            "<skipped message=\"the run is INVALID\"/>".to_owned()
        } else if limit.holds {
            String::new()
        } else {
            let message = format!("{}: {} measured, {} allowed", limit.limit, limit.measured, limit.allowed);
            format!("<failure message=\"{}\"/>", escaped(&message))
        };
        case(&mut text, &class, &limit.limit, &outcome);
    }
    text.push_str("  <system-out>latency from_ns to_ns samples\n");
    for bin in &result.histogram {
        let to = bin.to_ns.map_or_else(|| "-".to_owned(), |to| to.to_string());
        let _ = writeln!(text, "{} {to} {}", bin.from_ns, bin.count);
    }
    text.push_str("</system-out>\n</testsuite>\n");
    Export { text, lost: vec!["quantiles, loads and the board's state: see `--as json`".to_owned()] }
}

fn properties(text: &mut String, source: &Source) {
    text.push_str("  <properties>\n");
    let mut property = |name: &str, value: String| {
        let _ = writeln!(text, "    <property name=\"{}\" value=\"{}\"/>", escaped(name), escaped(&value));
    };
    property("run", source.result.identity.run.clone());
    if let Some(kernel) = &source.result.board.kernel_release {
        property("kernel", kernel.clone());
    }
    property("emulated", source.result.emulated.to_string());
    property("missed", source.result.total.missed.to_string());
    for row in &source.result.threads {
        let figures = &row.figures;
        property(&format!("thread{}.cycles", row.thread), figures.cycles.to_string());
        for (name, ns) in [("min_ns", figures.min.map(|min| min.ns)), ("max_ns", figures.max.map(|max| max.ns))] {
            if let Some(ns) = ns {
                property(&format!("thread{}.{name}", row.thread), ns.to_string());
            }
        }
        if let Some(mean) = figures.mean_ns {
            property(&format!("thread{}.mean_ns", row.thread), format!("{mean:.3}"));
        }
    }
    text.push_str("  </properties>\n");
}

fn validity(source: &Source) -> String {
    let reasons: Vec<String> = source
        .result
        .findings
        .iter()
        .filter(|finding| matches!(finding.outcome, Outcome::Degrades | Outcome::Invalidates))
        .map(|finding| format!("{}: {}", finding.rule, finding.detail))
        .collect();
    let reasons = escaped(&reasons.join("; "));
    match source.result.validity {
        Validity::Valid => String::new(),
        Validity::Degraded => format!("<system-out>DEGRADED: {reasons}</system-out>"),
        Validity::Invalid => format!("<error message=\"INVALID\">{reasons}</error>"),
    }
}

fn case(text: &mut String, class: &str, name: &str, outcome: &str) {
    let head = format!("  <testcase classname=\"{}\" name=\"{}\"", escaped(class), escaped(name));
    let _ = if outcome.is_empty() { writeln!(text, "{head}/>") } else { writeln!(text, "{head}>{outcome}</testcase>") };
}

/// XML 1.0 knows no control characters but three, not even escaped.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}
