//! What may be said of one metric.

use crate::latency::boots::{FEWEST_BOOTS, boots_needed, difference};
use crate::latency::{Interval, Stated};
use serde::{Deserialize, Serialize};

/// A difference of at most this share of side A's value counts as none: where an interval fits into it, "no difference seen" is said.
pub const MARGIN: f64 = 0.1;
/// A difference that is surely smaller than this share of side A's value is none, however certain.
pub const NEGLIGIBLE: f64 = 0.01;

/// What may be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// B is better than A.
    Better,
    /// B is worse than A.
    Worse,
    /// Any difference is smaller than [`MARGIN`].
    NoDifferenceSeen,
    /// The boots are too few or too unlike each other.
    CannotTell,
    /// Seen, but with fewer than three boots on a side.
    Observed,
    /// The figures are not of like things, or not known.
    NotComparable,
}

/// One metric on both sides. Figures are in the metric's unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// `max`, `0.999`, `mean`, `missed`.
    pub metric: String,
    /// `ns`, or `per million`.
    pub unit: String,
    /// Figures of side A, one per boot.
    pub a: Vec<f64>,
    /// Figures of side B, one per boot.
    pub b: Vec<f64>,
    /// Wake-ups at which maxima are compared; absent for other metrics, or where it is unknown.
    pub at_cycles: Option<u64>,
    /// Mean of B less mean of A.
    pub difference: Option<f64>,
    /// Interval of the difference, between boots.
    pub interval: Option<Interval>,
    /// Effect size (Hedges' g).
    pub effect: Option<f64>,
    /// One run each: interval of the difference within these runs only; absent for metrics that have none.
    pub within_runs: Option<Stated<Interval>>,
    /// What may be said.
    pub outcome: Outcome,
    /// The outcome in words.
    pub words: String,
    /// Where it cannot be told: boots a side that would be needed.
    pub boots_needed: Option<usize>,
}

impl Compared {
    /// A metric without comparable figures.
    pub(super) fn not_comparable(metric: &str, unit: &str, why: &str) -> Self {
        Self {
            metric: metric.to_owned(),
            unit: unit.to_owned(),
            a: Vec::new(),
            b: Vec::new(),
            at_cycles: None,
            difference: None,
            interval: None,
            effect: None,
            within_runs: None,
            outcome: Outcome::NotComparable,
            words: format!("not comparable: {why}"),
            boots_needed: None,
        }
    }

    /// Judges figures by boot, lower is better. `resolution` is the width figures are rounded to, `boot_ns` the mean
    /// measured time of a boot, `runs` the number of runs on each side.
    pub(super) fn judge(
        metric: &str,
        unit: &str,
        (a, b): (Vec<f64>, Vec<f64>),
        resolution: f64,
        boot_ns: Option<u64>,
        runs: (usize, usize),
    ) -> Self {
        let mut compared = Self { a, b, ..Self::not_comparable(metric, unit, "") };
        let (a, b) = (&compared.a, &compared.b);
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        compared.difference = Some(mean(b) - mean(a));
        if a.len() < FEWEST_BOOTS || b.len() < FEWEST_BOOTS {
            compared.outcome = Outcome::Observed;
            compared.words = observed((a.len(), b.len()), runs);
            return compared;
        }
        let Some(found) = difference(a, b, resolution) else { return compared };
        let margin = (MARGIN * mean(a).abs()).max(resolution);
        compared.interval = Some(found.interval);
        compared.effect = Some(found.effect).filter(|effect| effect.is_finite());
        let within = |limit: f64| found.interval.high <= limit && found.interval.low >= -limit;
        compared.outcome = if within(NEGLIGIBLE * mean(a).abs()) {
            Outcome::NoDifferenceSeen
        } else if found.interval.low > 0.0 {
            Outcome::Worse
        } else if found.interval.high < 0.0 {
            Outcome::Better
        } else if within(margin) {
            Outcome::NoDifferenceSeen
        } else {
            Outcome::CannotTell
        };
        if compared.outcome == Outcome::CannotTell {
            // Enough to tell the difference that shows, or the smallest that counts.
            compared.boots_needed = boots_needed(a, b, resolution, found.difference.abs().max(margin));
        }
        compared.words = words(compared.outcome, compared.boots_needed, boot_ns);
        compared
    }
}

fn observed(boots: (usize, usize), runs: (usize, usize)) -> String {
    let some = |boots: usize, runs: usize| match (boots, runs) {
        (1, 1) => "one run".to_owned(),
        (1, runs) => format!("{runs} runs in one boot"),
        (boots, runs) if boots == runs => format!("{runs} boots"),
        (boots, runs) => format!("{runs} runs in {boots} boots"),
    };
    match (some(boots.0, runs.0), some(boots.1, runs.1)) {
        (a, b) if a == b => format!("observed, {a} each"),
        (a, b) => format!("observed, {a} against {b}"),
    }
}

fn words(outcome: Outcome, needed: Option<usize>, boot_ns: Option<u64>) -> String {
    match outcome {
        Outcome::Better => "better".to_owned(),
        Outcome::Worse => "worse".to_owned(),
        Outcome::NoDifferenceSeen => format!("no difference seen (more than {:.0} % would be)", MARGIN * 100.0),
        Outcome::CannotTell => match (needed, boot_ns) {
            (Some(boots), Some(ns)) => {
                let hours = boots as f64 * ns as f64 / 3.6e12;
                format!("cannot tell (run at least {} a side, {boots} boots)", hours_text(hours))
            }
            (Some(boots), None) => format!("cannot tell (run at least {boots} boots a side)"),
            (None, _) => "cannot tell (the boots differ too much from each other)".to_owned(),
        },
        Outcome::Observed => "observed".to_owned(),
        Outcome::NotComparable => "not comparable".to_owned(),
    }
}

/// `3 h`, rounded up, with a decimal below ten.
fn hours_text(hours: f64) -> String {
    if hours < 0.095 {
        format!("{:.0} min", (hours * 60.0).ceil())
    } else if hours < 10.0 {
        format!("{:.1} h", (hours * 10.0).ceil() / 10.0)
    } else {
        format!("{:.0} h", hours.ceil())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(a: &[f64], b: &[f64]) -> Compared {
        Compared::judge("max", "ns", (a.to_vec(), b.to_vec()), 0.0, Some(3_600_000_000_000), (a.len(), b.len()))
    }

    #[test]
    fn each_outcome_has_its_case() {
        for (a, b, outcome) in [
            (&[50.0, 51.0, 52.0][..], &[80.0, 82.0, 85.0][..], Outcome::Worse),
            (&[80.0, 82.0, 85.0], &[50.0, 51.0, 52.0], Outcome::Better),
            (&[50.0, 51.0, 52.0], &[51.0, 50.0, 52.0], Outcome::NoDifferenceSeen),
            (&[50.0, 51.0, 90.0], &[52.0, 60.0, 85.0], Outcome::CannotTell),
            (&[50.0], &[83.0], Outcome::Observed),
            (&[50.0, 51.0], &[83.0, 85.0, 84.0], Outcome::Observed),
        ] {
            assert_eq!(judged(a, b).outcome, outcome, "{a:?} {b:?}");
        }
    }

    #[test]
    fn a_small_but_certain_difference_is_a_difference() {
        let found = judged(&[100.0, 100.1, 99.9], &[103.0, 103.1, 102.9]);
        assert_eq!(found.outcome, Outcome::Worse);
        // … unless it is too small to matter.
        assert_eq!(judged(&[100.0, 100.01, 99.99], &[100.5, 100.51, 100.49]).outcome, Outcome::NoDifferenceSeen);
    }

    #[test]
    fn words_say_how_many() {
        assert_eq!(judged(&[50.0], &[83.0]).words, "observed, one run each");
        assert_eq!(observed((1, 1), (3, 3)), "observed, 3 runs in one boot each");
        assert_eq!(observed((2, 5), (2, 5)), "observed, 2 boots against 5 boots");
        let cannot = judged(&[50.0, 51.0, 90.0], &[52.0, 60.0, 85.0]);
        assert!(
            cannot.words.starts_with("cannot tell (run at least ") && cannot.words.contains(" h a side"),
            "{}",
            cannot.words
        );
        assert_eq!(
            (hours_text(0.01), hours_text(0.3), hours_text(11.2)),
            ("1 min".into(), "0.3 h".into(), "12 h".into())
        );
    }
}
