//! One night against its baseline.

use super::change::median;
use crate::latency::Interval;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Fewest nights that a baseline needs before a night can stand out from it.
pub const FEWEST_NIGHTS: usize = 5;

/// When a night stands out.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// Share of ordinary nights that do not stand out.
    pub confidence: f64,
    /// A night that is worse by less than this share of the baseline's median does not stand out, however steady the baseline.
    pub margin: f64,
}

/// With one cell a night an ordinary night stands out once in a thousand nights.
impl Default for Rule {
    fn default() -> Self {
        Self { confidence: 0.999, margin: 0.05 }
    }
}

/// How a night compares with its baseline.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Night {
    /// Its figure.
    pub figure: f64,
    /// Median of the baseline; `None` without one.
    pub usual: Option<f64>,
    /// Where ordinary nights lie, by the rule's confidence; only the upper end alarms.
    pub ordinary: Interval,
    /// What may be said.
    pub standing: Standing,
}

/// What may be said of a night.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// Nothing unusual.
    Ordinary,
    /// Worse than ordinary: measure again before anything is failed.
    Suspicious,
    /// The baseline has too few nights.
    CannotTell,
}

/// How `night` (lower is better) stands against the nights of its `baseline`: prediction interval for one further
/// observation, by Student's t on logarithms (latencies are skewed, and their spread goes with their size). Figures of 0
/// (no missed period) are taken as they are, without logarithm, when there is one among them.
pub fn stands(rule: Rule, baseline: &[f64], night: f64) -> Night {
    let middle = median(baseline);
    let usual = (!baseline.is_empty()).then_some(middle);
    let logarithmic = night > 0.0 && baseline.iter().all(|x| *x > 0.0);
    let into = |x: f64| if logarithmic { x.ln() } else { x };
    let back = |x: f64| if logarithmic { x.exp() } else { x };
    let values: Vec<f64> = baseline.iter().map(|x| into(*x)).collect();
    let half = half_width(rule.confidence, &values);
    let (Some(half), true) = (half, baseline.len() >= FEWEST_NIGHTS && night.is_finite()) else {
        let unbounded = Interval { low: f64::NEG_INFINITY, high: f64::INFINITY };
        return Night { figure: night, usual, ordinary: unbounded, standing: Standing::CannotTell };
    };
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let ordinary = Interval { low: back(mean - half), high: back(mean + half).max(middle * (1.0 + rule.margin)) };
    let standing = if night > ordinary.high { Standing::Suspicious } else { Standing::Ordinary };
    Night { figure: night, usual, ordinary, standing }
}

fn half_width(confidence: f64, values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let t = StudentsT::new(0.0, 1.0, n - 1.0).ok()?.inverse_cdf(confidence);
    let half = t * (variance * (1.0 + 1.0 / n)).sqrt();
    half.is_finite().then_some(half)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_worse_nights_stand_out() {
        let baseline = [50.0, 52.0, 51.0, 49.0, 50.5, 51.5, 50.2, 49.8];
        for (night, standing) in [
            (51.0, Standing::Ordinary),
            (30.0, Standing::Ordinary),
            (75.0, Standing::Suspicious),
            (f64::NAN, Standing::CannotTell),
        ] {
            assert_eq!(stands(Rule::default(), &baseline, night).standing, standing, "{night}");
        }
        assert_eq!(stands(Rule::default(), &baseline[..4], 500.0).standing, Standing::CannotTell);
        assert_eq!(stands(Rule::default(), &[], 500.0).standing, Standing::CannotTell);
    }

    #[test]
    fn the_rule_says_how_sure_and_how_much() {
        let baseline = [50.0, 52.0, 51.0, 49.0, 50.5, 51.5, 50.2, 49.8];
        let standing = |confidence, margin, night| stands(Rule { confidence, margin }, &baseline, night).standing;
        // 3 % above: beyond what 90 % of ordinary nights reach, not beyond what 99.9 % do.
        assert_eq!(standing(0.9, 0.0, 52.5), Standing::Suspicious);
        assert_eq!(standing(0.999, 0.0, 52.5), Standing::Ordinary);
        assert_eq!(standing(0.9, 0.1, 54.0), Standing::Ordinary);
    }

    #[test]
    fn a_baseline_without_spread_still_has_a_margin() {
        let same = [21.0; 10];
        assert_eq!(stands(Rule::default(), &same, 22.0).standing, Standing::Ordinary);
        assert_eq!(stands(Rule::default(), &same, 22.5).standing, Standing::Suspicious);
        // Missed periods: never one so far.
        assert_eq!(stands(Rule::default(), &[0.0; 10], 0.0).standing, Standing::Ordinary);
        assert_eq!(stands(Rule::default(), &[0.0; 10], 3.0).standing, Standing::Suspicious);
    }
}
