//! The statistics of a run for people.

use super::text::{place, plain_table, table_text, wrapped};
use latlab_core::campaign::model::Settings;
use latlab_core::compare::Published;
use latlab_core::latency::assessment::Assessment;
use latlab_core::latency::blocks::Series;
use latlab_core::latency::exceedance::Exceedance;
use latlab_core::latency::extremes::MaximumExpected;
use latlab_core::latency::{Interval, Stated};
use latlab_core::quantity::{count, duration, latency};
use latlab_core::result::RunResult;
use latprobe::stream::Folded;
use serde::Serialize;

/// A run with its statistics, as `latlab show --format json` prints it.
#[derive(Debug, Serialize)]
pub struct Shown<'a> {
    /// The run.
    #[serde(flatten)]
    pub result: &'a RunResult,
    /// Its statistics (docs/statistics.md).
    pub statistics: Option<Assessment>,
    /// Published results that its campaign repeats, those of its cell first.
    pub published: Vec<Published>,
}

/// The statistics of a run that was measured by `settings`; events are counted above the limits of its gate.
pub fn assess(result: &RunResult, segments: &[Folded], settings: &Settings) -> Assessment {
    let gate = &settings.gate;
    let mut limits: Vec<u64> = gate.exceed.iter().map(|(limit, _)| *limit).chain(gate.max_ns).collect();
    limits.sort_unstable();
    limits.dedup();
    Assessment::new(&Series::new(segments, settings.measure.block_ns), &result.worst, &limits)
}

/// Every statement and, where there is none, why; in at most `width` columns.
pub fn render(assessment: &Assessment, width: usize) -> String {
    let mut out = String::from("statistics (docs/statistics.md)\n");
    statements(assessment).iter().for_each(|text| out.push_str(&wrapped(text, 2, width)));
    if !assessment.exceedances.is_empty() {
        let mut table = plain_table(width);
        table.set_header(EVENT_HEAD);
        for row in event_rows(&assessment.exceedances) {
            table.add_row(row);
        }
        out.push_str(&table_text(&table));
        rateless(&assessment.exceedances).iter().for_each(|text| out.push_str(&wrapped(text, 2, width)));
    }
    out
}

/// What the run lets one say, a sentence each.
pub(crate) fn statements(assessment: &Assessment) -> Vec<String> {
    let mut out = vec![maximum(&assessment.maximum_expected)];
    if let Some(rate) = assessment.rate_seen {
        out.push(format!(
            "Shown with 95 % confidence: what happens at least once in {} cycles.",
            count(rounded(1.0 / rate))
        ));
    }
    out.push(match &assessment.drift {
        Stated::NotApplicable(reason) => format!("Drift: not applicable: {reason}."),
        Stated::Figure(drift) => format!(
            "{}: median of the maxima of {} blocks {} in the first third, {} in the last (Mann–Whitney p = {:.2}).",
            if drift.test.p < 0.01 { "DRIFT" } else { "No drift seen" },
            duration(drift.block_ns),
            latency(drift.first.median_ns),
            latency(drift.last.median_ns),
            drift.test.p
        ),
    });
    if let Some(outliers) = &assessment.outliers {
        let named: Vec<String> = outliers
            .samples
            .iter()
            .map(|s| format!("{} after {} ({})", latency(s.latency_ns), duration(s.since_start_ns), place(s)))
            .collect();
        let plural = if named.len() == 1 { "" } else { "s" };
        out.push(format!(
            "Lone outlier{plural}: {}; all other samples are at most {}.",
            named.join(", "),
            latency(outliers.next_ns)
        ));
    }
    out
}

/// `Maximum expected in 24 h: 61 us, 95 % 55 to 83 us`.
pub fn maximum(expected: &MaximumExpected) -> String {
    let head = format!("Maximum expected in {}", duration(expected.horizon_ns));
    match &expected.stated {
        Stated::NotApplicable(reason) => format!("{head}: not applicable: {reason}."),
        Stated::Figure(level) => format!(
            "{head}: {}, 95 % {} to {} (GEV, shape {:+.2}).",
            latency(rounded(level.level_ns)),
            latency(rounded(level.interval_ns.low)),
            latency(rounded(level.interval_ns.high)),
            level.gev.shape
        ),
    }
}

/// A latency of a fit, in whole ns.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates; fits are of latencies far below 2^63 ns"
)]
pub(crate) fn rounded(ns: f64) -> u64 {
    ns.max(0.0).round() as u64
}

/// Plain where that can be read, else with an exponent.
fn number(value: f64) -> String {
    if (0.01..10_000.0).contains(&value) || value == 0.0 { format!("{value:.2}") } else { format!("{value:.2e}") }
}

/// Headings of [`event_rows`].
pub(crate) const EVENT_HEAD: [&str; 4] = ["above", "events", "per hour (95 %)", "per cycle (95 %)"];

/// A row for each limit.
pub(crate) fn event_rows(exceedances: &[Exceedance]) -> Vec<[String; 4]> {
    let row = |found: &Exceedance| {
        let rate = |rate: Stated<(f64, Interval)>| match rate {
            Stated::Figure((_, interval)) if found.events == 0 => format!("≤ {}", number(interval.high)),
            Stated::Figure((rate, interval)) => {
                format!("{} ({} to {})", number(rate), number(interval.low), number(interval.high))
            }
            Stated::NotApplicable(_) => "-".to_owned(),
        };
        [latency(found.limit_ns), found.events.to_string(), rate(found.per_hour()), rate(found.per_cycle())]
    };
    exceedances.iter().map(row).collect()
}

/// Why there is no rate, for limits that have none.
pub(crate) fn rateless(exceedances: &[Exceedance]) -> Vec<String> {
    let why = |found: &Exceedance| match &found.expected {
        Stated::NotApplicable(reason) => Some(format!("Above {}: no rate: {reason}.", latency(found.limit_ns))),
        Stated::Figure(_) => None,
    };
    exceedances.iter().filter_map(why).collect()
}
