//! What a run's statistics say beyond its figures.

use super::blocks::Series;
use super::drift::{Drift, drift};
use super::exceedance::{Exceedance, rate_seen_by};
use super::extremes::{MaximumExpected, maximum_expected};
use super::outliers::{Outliers, lone_outliers};
use super::stated::Stated;
use crate::result::WorstSample;
use crate::units::{DAY, HOUR};
use serde::{Deserialize, Serialize};

/// Version of [`Assessment`].
pub const ASSESSMENT_FORMAT: u32 = 1;

/// Statistics of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assessment {
    /// [`ASSESSMENT_FORMAT`].
    pub format: u32,
    /// Time that closed blocks cover, in ns.
    pub covered_ns: u64,
    /// Smallest probability by wake-up that the run would have shown with 95 %.
    pub rate_seen: Option<f64>,
    /// Events above limits.
    pub exceedances: Vec<Exceedance>,
    /// The maximum that a longer run would be expected to show.
    pub maximum_expected: MaximumExpected,
    /// First against last third.
    pub drift: Stated<Drift>,
    /// Samples that stand apart.
    pub outliers: Option<Outliers>,
}

impl Assessment {
    /// Of the run `series` with its worst samples (worst first); events are counted above each of `limits_ns`.
    pub fn new(series: &Series, worst: &[WorstSample], limits_ns: &[u64]) -> Self {
        let covered_ns = series.covered_ns();
        Self {
            format: ASSESSMENT_FORMAT,
            covered_ns,
            rate_seen: rate_seen_by(series.cycles()),
            exceedances: limits_ns.iter().map(|limit| Exceedance::of(series, *limit)).collect(),
            maximum_expected: maximum_expected(series, horizon_ns(covered_ns)),
            drift: drift(series),
            outliers: lone_outliers(worst),
        }
    }
}

/// The longest of an hour, a day and a week that is at most ten times the observed time, and an hour for shorter runs.
fn horizon_ns(covered_ns: u64) -> u64 {
    let farthest = covered_ns.saturating_mul(10);
    [7 * DAY, DAY].into_iter().find(|horizon| *horizon <= farthest).unwrap_or(HOUR)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::blocks::testing::series;

    #[test]
    fn horizons_stay_within_ten_times() {
        for (covered, horizon) in
            [(0, HOUR), (2 * HOUR, HOUR), (12 * HOUR, DAY), (17 * HOUR, 7 * DAY), (7 * DAY, 7 * DAY)]
        {
            assert_eq!(horizon_ns(covered), horizon, "{covered}");
        }
    }

    #[test]
    fn a_run_without_blocks_states_nothing() {
        let found = Assessment::new(&Series::default(), &[], &[100]);
        assert!(found.maximum_expected.stated.figure().is_none() && found.drift.figure().is_none());
        assert_eq!((found.rate_seen, found.outliers), (None, None));
    }

    #[test]
    fn reads_back_from_json() {
        let found = Assessment::new(&series((0..7200).map(|i| 40_000 + i * 7919 % 5000)), &[], &[44_000, 100_000]);
        let text = serde_json::to_string(&found).unwrap();
        assert_eq!(serde_json::from_str::<Assessment>(&text).unwrap(), found);
    }
}
