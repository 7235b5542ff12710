//! LAVA result lines, as Linaro's test-definitions print them: `t0-max-latency pass 88 us`.
//!
//! A figure of an INVALID run is `unknown`, a maximum above its limit is `fail`: a line that always says `pass` tells nothing.

use super::{Export, Source};
use crate::judgement::{Validity, Verdict};
use crate::result::Figure;
use std::fmt::Write as _;

/// The lines: figures of each thread, each limit of the gate, and the verdict.
pub fn lava(source: &Source) -> Export {
    let result = source.result;
    let invalid = result.validity == Validity::Invalid;
    let max_fails = result.limits.iter().any(|limit| limit.limit == "max" && !limit.holds);
    let word = |fails: bool| match (invalid, fails) {
        (true, _) => "unknown",
        (false, true) => "fail",
        (false, false) => "pass",
    };
    let mut text = String::new();
    for row in &result.threads {
        let figures = &row.figures;
        let mut line = |name: &str, fails: bool, us: Option<String>| {
            if let Some(us) = us {
                let _ = writeln!(text, "t{}-{name}-latency {} {us} us", row.thread, word(fails));
            }
        };
        line("min", false, figures.min.map(us));
        line("avg", false, figures.mean_ns.map(|mean| format!("{:.3}", mean / 1000.0)));
        line("max", max_fails, figures.max.map(us));
    }
    for limit in &result.limits {
        let name: String =
            limit.limit.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).collect();
        let _ = writeln!(text, "limit-{name} {}", word(!limit.holds));
    }
    let verdict = match result.verdict {
        Verdict::Pass => "pass",
        Verdict::Fail => "fail",
        Verdict::NotJudged if invalid => "unknown",
        Verdict::NotJudged => "skip",
    };
    let _ = writeln!(text, "latlab {verdict}");
    let mut lost = vec!["histogram, quantiles, findings and the board's state: see `--as json`".to_owned()];
    if result.total.missed > 0 {
        lost.push(format!("{} missed periods", result.total.missed));
    }
    Export { text, lost }
}

/// ns as µs with three decimals, exact.
fn us(figure: Figure) -> String {
    format!("{}.{:03}", figure.ns / 1000, figure.ns % 1000)
}
