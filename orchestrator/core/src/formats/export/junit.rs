//! JUnit XML: a test case for the run's validity and one for each limit of the gate.

use super::{Export, Source};
use crate::judgement::{Outcome, Validity};
use crate::result::{Bin, RunResult};
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
    text.push_str("  <system-out>");
    histogram(&mut text, &result.histogram);
    text.push_str("</system-out>\n</testsuite>\n");
    Export { text, lost: vec!["quantiles, loads and the board's state: see `--as json`".to_owned()] }
}

fn histogram(text: &mut String, bins: &[Bin]) {
    text.push_str("latency from_ns to_ns samples\n");
    for bin in bins {
        let to = bin.to_ns.map_or_else(|| "-".to_owned(), |to| to.to_string());
        let _ = writeln!(text, "{} {to} {}", bin.from_ns, bin.count);
    }
}

/// A cell on a target in a night.
#[derive(Debug, Clone)]
pub struct NightCase<'a> {
    /// Campaign.
    pub campaign: &'a str,
    /// Cell.
    pub cell: &'a str,
    /// Target.
    pub target: &'a str,
    /// How it ended.
    pub outcome: NightOutcome,
    /// The outcome's name and why, in plain words.
    pub message: String,
    /// What was measured, by run.
    pub runs: Vec<&'a RunResult>,
}

/// What a test case of a night says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NightOutcome {
    /// Passed.
    Pass,
    /// There was nothing to judge by.
    Skipped,
    /// Too slow, or worse than the baseline.
    Failure,
    /// Not measured as asked, or not to be told: never a pass.
    Error,
}

/// A night: a test case for each cell on each target, with the histograms of its runs.
pub fn junit_night(night: &str, cases: &[NightCase]) -> String {
    let count = |outcome: NightOutcome| cases.iter().filter(|case| case.outcome == outcome).count();
    let seconds = |case: &NightCase| case.runs.iter().map(|run| run.measured_ns).fold(0, u64::saturating_add);
    let time = |ns: u64| format!("{}.{:03}", ns / 1_000_000_000, ns / 1_000_000 % 1000);
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        text,
        "<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{}\">",
        escaped(night),
        cases.len(),
        count(NightOutcome::Failure),
        count(NightOutcome::Error),
        count(NightOutcome::Skipped),
        time(cases.iter().map(seconds).fold(0, u64::saturating_add)),
    );
    for case in cases {
        let _ = writeln!(
            text,
            "  <testcase classname=\"{}.{}\" name=\"{}\" time=\"{}\">",
            escaped(case.campaign),
            escaped(case.target),
            escaped(case.cell),
            time(seconds(case)),
        );
        let message = escaped(&case.message);
        let _ = match case.outcome {
            NightOutcome::Pass => Ok(()),
            NightOutcome::Skipped => writeln!(text, "    <skipped message=\"{message}\"/>"),
            NightOutcome::Failure => writeln!(text, "    <failure message=\"{message}\"/>"),
            NightOutcome::Error => writeln!(text, "    <error message=\"{message}\"/>"),
        };
        text.push_str("    <system-out>");
        for run in &case.runs {
            let (name, total) = (escaped(&run.identity.run), &run.total);
            let max = total.max.map_or_else(|| "unknown".to_owned(), |max| format!("{} ns", max.ns));
            let _ = writeln!(
                text,
                "{name}: {}, {}, {} cycles, {} missed periods, maximum {max}",
                run.validity, run.verdict, total.cycles, total.missed
            );
            run.limits.iter().filter(|limit| !limit.holds).for_each(|limit| {
                let broken = format!("{}: {} measured, {} allowed", limit.limit, limit.measured, limit.allowed);
                let _ = writeln!(text, "{}", escaped(&broken));
            });
            histogram(&mut text, &run.histogram);
        }
        text.push_str("</system-out>\n  </testcase>\n");
    }
    text.push_str("</testsuite>\n");
    text
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
