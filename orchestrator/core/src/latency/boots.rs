//! Differences between two sides whose units are boots.
//!
//! Boots differ from each other by more than the runs within one: where memory, caches and threads come to lie is drawn
//! anew. So a difference of two set-ups is judged by figures of whole boots, never by samples.

use super::stated::{CONFIDENCE, Interval};
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Boots a side from which on *better* or *worse* may be said.
pub const FEWEST_BOOTS: usize = 3;
/// Most boots that are asked for.
const MOST_ASKED: usize = 1000;

/// Mean and spread of a side's boots.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Side {
    n: f64,
    mean: f64,
    variance: f64,
}

impl Side {
    /// A spread below what the bins can show would make a step of one bin significant.
    fn new(values: &[f64], resolution: f64) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
        Self { n, mean, variance: variance.max(resolution * resolution / 12.0) }
    }
}

/// Difference of the means of two sides, `b` − `a`, in the unit of the figures.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The difference.
    pub difference: f64,
    /// Its interval (Welch 1947).
    pub interval: Interval,
    /// Effect size: the difference in pooled standard deviations, corrected for small samples (Hedges 1981).
    pub effect: f64,
}

/// The difference of the sides' means; `None` with fewer than two boots on a side. `resolution` is the width in which
/// figures are rounded (a bin), 0 for exact ones.
pub fn difference(a: &[f64], b: &[f64], resolution: f64) -> Option<Difference> {
    if a.len() < 2 || b.len() < 2 {
        return None;
    }
    let (a, b) = (Side::new(a, resolution), Side::new(b, resolution));
    let difference = b.mean - a.mean;
    let half = half_width(&a, &b)?;
    let freedom = a.n + b.n - 2.0;
    let pooled = (((a.n - 1.0) * a.variance + (b.n - 1.0) * b.variance) / freedom).sqrt();
    let effect = if difference == 0.0 { 0.0 } else { difference / pooled * (1.0 - 3.0 / (4.0 * freedom - 1.0)) };
    Some(Difference { difference, interval: Interval { low: difference - half, high: difference + half }, effect })
}

/// Half the width of Welch's interval.
fn half_width(a: &Side, b: &Side) -> Option<f64> {
    let (sa, sb) = (a.variance / a.n, b.variance / b.n);
    let sum = sa + sb;
    if sum == 0.0 {
        return Some(0.0);
    }
    let freedom = sum * sum / (sa * sa / (a.n - 1.0) + sb * sb / (b.n - 1.0));
    let t = StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf((1.0 + CONFIDENCE) / 2.0);
    Some(t * sum.sqrt())
}

/// Boots a side after which an interval as spread as these boots would be narrower than ± `wanted`, so that a
/// difference of that size can be told; at least [`FEWEST_BOOTS`], at most 1000 (`None` beyond, or with fewer than two boots on a side).
pub fn boots_needed(a: &[f64], b: &[f64], resolution: f64, wanted: f64) -> Option<usize> {
    if a.len() < 2 || b.len() < 2 {
        return None;
    }
    let (a, b) = (Side::new(a, resolution), Side::new(b, resolution));
    let narrow = |n: &usize| {
        let with = |side: Side| Side { n: *n as f64, ..side };
        half_width(&with(a), &with(b)).is_some_and(|half| half < wanted)
    };
    (FEWEST_BOOTS..=MOST_ASKED).find(narrow)
}

#[cfg(test)]
mod tests {
    use super::super::random::Random;
    use super::*;

    #[test]
    fn r5_does_not_separate_the_kernels() {
        let found = difference(&[126.0, 113.0, 65.0], &[67.0, 71.0, 89.0], 0.0).unwrap();
        assert!(found.interval.contains(0.0), "{found:?}");
        let needed = boots_needed(&[126.0, 113.0, 65.0], &[67.0, 71.0, 89.0], 0.0, 25.7).unwrap();
        assert!((6..=12).contains(&needed), "{needed}");
    }

    #[test]
    fn few_or_equal_figures_do_not_divide_by_nothing() {
        assert_eq!(difference(&[1.0], &[1.0, 2.0], 0.0), None);
        let equal = difference(&[5.0; 3], &[5.0; 3], 0.0).unwrap();
        assert_eq!((equal.difference, equal.effect, equal.interval), (0.0, 0.0, Interval { low: 0.0, high: 0.0 }));
        // All boots in one bin, the other side in the next: no more than rounding.
        let step = difference(&[10_999.0; 3], &[11_999.0; 3], 1000.0).unwrap();
        assert!(step.interval.low > 0.0 && step.interval.low < 500.0, "{step:?}");
        assert_eq!(boots_needed(&[0.0, 1e9, 0.0], &[0.0, 1e9, 0.0], 0.0, 1.0), None);
    }

    /// Two equal set-ups whose boots differ are told apart in at most 5 % of comparisons.
    #[test]
    fn false_differences_are_as_rare_as_stated() {
        let mut random = Random::new(23);
        for boots in [3, 5] {
            // Maxima of boots are skewed: Gumbel.
            let mut side = || (0..boots).map(|_| 50.0 - 8.0 * (-random.unit().ln()).ln()).collect::<Vec<f64>>();
            let wrong =
                (0..4000).filter(|_| !difference(&side(), &side(), 0.0).unwrap().interval.contains(0.0)).count();
            assert!(wrong <= 220, "{boots} boots: {wrong} of 4000");
        }
    }
}
