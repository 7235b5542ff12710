//! Change of level in a series of nights.

use crate::latency::Test;
use serde::{Deserialize, Serialize};

/// Fewest nights on each side of a change.
const FEWEST: usize = 5;
/// A change with a larger p is none.
const SIGNIFICANT: f64 = 0.001;

/// Nights that a look back for a change covers.
pub const LOOK_BACK: usize = 90;
/// A rise by less than this share is not worth a word.
const RISE: f64 = 0.03;

/// A change of level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Number of the first night of the new level, from 0.
    pub first: usize,
    /// Median before.
    pub before: f64,
    /// Median from then on.
    pub after: f64,
    /// Pettitt's test.
    pub test: Test,
}

/// The most likely change of level, if there is one: Pettitt (1979), rank-based, so that a single bad night is none;
/// p by his approximation 2·exp(−6K²/(n³ + n²)). A steady creep shows as a change as well, somewhere in its middle.
/// Looked at every night, a series gives many chances of a false alarm: hence p < 0.001 and five nights on each side.
pub fn change_point(nights: &[f64]) -> Option<Change> {
    let n = nights.len();
    if n < 2 * FEWEST {
        return None;
    }
    let sign = |a: f64, b: f64| f64::from(u8::from(b > a)) - f64::from(u8::from(b < a));
    // U(t): nights from t on that are larger than nights before it, less those that are smaller.
    let mut u = 0.0;
    let mut best = (0, 0.0f64);
    for t in 1..n {
        let moved = nights[t - 1];
        u += nights.iter().map(|other| sign(moved, *other)).sum::<f64>();
        if (FEWEST..=n - FEWEST).contains(&t) && u.abs() > best.1.abs() {
            best = (t, u);
        }
    }
    let (first, k) = best;
    let size = n as f64;
    let p = (2.0 * (-6.0 * k * k / (size.powi(3) + size.powi(2))).exp()).min(1.0);
    (p < SIGNIFICANT).then(|| Change {
        first,
        before: median(&nights[..first]),
        after: median(&nights[first..]),
        test: Test { statistic: k, p },
    })
}

/// A rise of the level by more than 3 % in the last [`LOOK_BACK`] of `nights`, lower being better; [`Change::first`] counts in `nights`.
pub fn rise(nights: &[f64]) -> Option<Change> {
    let from = nights.len().saturating_sub(LOOK_BACK);
    let change = change_point(&nights[from..])?;
    (change.after > change.before * (1.0 + RISE)).then_some(Change { first: from + change.first, ..change })
}

/// Median; the mean of the middle two of an even number. 0 for none.
pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    match (sorted.get(sorted.len().saturating_sub(1) / 2), sorted.get(sorted.len() / 2)) {
        (Some(low), Some(high)) => (low + high) / 2.0,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_placed_and_a_bad_night_is_none() {
        let level = |i: usize, level: f64| level + ((i * 37) % 11) as f64 / 10.0;
        let step: Vec<f64> = (0..60).map(|i| level(i, if i < 40 { 50.0 } else { 55.0 })).collect();
        let found = change_point(&step).unwrap();
        assert_eq!(found.first, 40);
        assert!(found.before < 51.5 && found.after > 54.5 && found.test.statistic > 0.0, "{found:?}");
        let still: Vec<f64> = (0..60).map(|i| level(i, if i == 30 { 90.0 } else { 50.0 })).collect();
        assert_eq!(change_point(&still), None);
        assert_eq!(change_point(&[50.0; 60]), None);
        assert_eq!(change_point(&step[..9]), None);
    }

    /// U(t) of the running sum against its definition.
    #[test]
    fn agrees_with_the_definition() {
        let nights: Vec<f64> =
            (0..30).map(|i| f64::from((i * i * 7) % 23) + if i >= 12 { 40.0 } else { 0.0 }).collect();
        let found = change_point(&nights).unwrap();
        let u = |t: usize| -> f64 {
            nights[..t]
                .iter()
                .flat_map(|a| nights[t..].iter().map(move |b| (b - a).signum() * f64::from(u8::from(a != b))))
                .sum()
        };
        assert_eq!(found.test.statistic, u(found.first));
        assert!((1..30).all(|t| u(t).abs() <= found.test.statistic.abs()));
    }
}
