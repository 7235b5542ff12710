//! The runs of one cell against its baseline, with confirmation.

use super::night::{Night, Rule, Standing, stands};
use serde::{Deserialize, Serialize};

/// What the runs of a cell say together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standings {
    /// A run is as usual.
    Ordinary,
    /// All runs are worse than usual, but too few to be sure: measure again.
    Suspicious,
    /// All runs are worse than usual, re-runs included.
    Regressed,
    /// The baseline or a run does not tell.
    CannotTell,
}

/// The runs' figures (lower is better) against the `baseline`: regressed only when a run and `confirm` more are all
/// suspicious, so that one bad night fails nothing. A figure that is missing tells nothing, and is no pass.
pub fn relative(rule: Rule, baseline: &[f64], runs: &[Option<f64>], confirm: usize) -> (Standings, Vec<Option<Night>>) {
    let nights: Vec<Option<Night>> = runs.iter().map(|run| run.map(|figure| stands(rule, baseline, figure))).collect();
    let standings = || nights.iter().map(|night| night.map_or(Standing::CannotTell, |night| night.standing));
    let outcome = if nights.is_empty() || standings().any(|standing| standing == Standing::CannotTell) {
        Standings::CannotTell
    } else if standings().any(|standing| standing == Standing::Ordinary) {
        Standings::Ordinary
    } else if nights.len() > confirm {
        Standings::Regressed
    } else {
        Standings::Suspicious
    };
    (outcome, nights)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bad_night_fails_nothing() {
        let baseline = [50.0, 52.0, 51.0, 49.0, 50.5, 51.5];
        for (runs, outcome) in [
            (&[Some(51.0)][..], Standings::Ordinary),
            (&[Some(90.0)], Standings::Suspicious),
            (&[Some(90.0), Some(51.0)], Standings::Ordinary),
            (&[Some(90.0), Some(91.0)], Standings::Suspicious),
            (&[Some(90.0), Some(91.0), Some(92.0)], Standings::Regressed),
            (&[], Standings::CannotTell),
            (&[None], Standings::CannotTell),
            (&[Some(51.0), None], Standings::CannotTell),
            (&[Some(f64::NAN)], Standings::CannotTell),
        ] {
            assert_eq!(relative(Rule::default(), &baseline, runs, 2).0, outcome, "{runs:?}");
        }
        assert_eq!(relative(Rule::default(), &[], &[Some(51.0)], 2).0, Standings::CannotTell);
        assert_eq!(relative(Rule::default(), &[50.0; 4], &[Some(51.0)], 2).0, Standings::CannotTell);
    }
}
