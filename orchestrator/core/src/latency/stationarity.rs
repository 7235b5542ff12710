//! Tests that a series of block maxima neither drifts nor remembers: the ground that an extreme-value fit stands on.

use super::stated::Test;
use statrs::distribution::{ChiSquared, ContinuousCDF, Normal};

/// Mann–Kendall test against a trend (Mann 1945, Kendall 1975), two-sided, with correction for ties and continuity; the
/// statistic is Kendall's S. Rank-based: one wild value does not decide. p is 1 with fewer than three values.
pub fn mann_kendall(values: &[f64]) -> Test {
    let n = values.len() as f64;
    let sign = |(a, b): (&f64, &f64)| f64::from(u8::from(b > a)) - f64::from(u8::from(b < a));
    let s: f64 = (0..values.len()).map(|i| values[i + 1..].iter().map(|b| sign((&values[i], b))).sum::<f64>()).sum();
    let ties: f64 = tie_sizes(values).map(|t| t * (t - 1.0) * (2.0 * t + 5.0)).sum();
    let variance = (n * (n - 1.0) * (2.0 * n + 5.0) - ties) / 18.0;
    if values.len() < 3 || variance <= 0.0 {
        return Test { statistic: s, p: 1.0 };
    }
    let z = (s.abs() - 1.0).max(0.0) / variance.sqrt();
    Test { statistic: s, p: (2.0 * Normal::standard().sf(z)).min(1.0) }
}

fn tie_sizes(values: &[f64]) -> impl Iterator<Item = f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let sizes: Vec<f64> = sorted.chunk_by(|a, b| a == b).map(|tied| tied.len() as f64).collect();
    sizes.into_iter()
}

/// Ljung–Box test (1978) against autocorrelation up to `lags`, on mid-ranks instead of values: block maxima may have no
/// variance to speak of, their ranks have. p is 1 where it cannot be computed (few values, all equal).
pub fn ljung_box(values: &[f64], lags: usize) -> Test {
    let ranks = mid_ranks(values);
    let n = ranks.len() as f64;
    let mean = ranks.iter().sum::<f64>() / n;
    let deviations: Vec<f64> = ranks.iter().map(|rank| rank - mean).collect();
    let variance: f64 = deviations.iter().map(|d| d * d).sum();
    let lags = lags.min(values.len().saturating_sub(1));
    if lags == 0 || variance <= 0.0 {
        return Test { statistic: 0.0, p: 1.0 };
    }
    let correlation = |lag: usize| {
        let pairs = deviations.iter().zip(&deviations[lag..]);
        pairs.map(|(a, b)| a * b).sum::<f64>() / variance
    };
    let sum: f64 = (1..=lags).map(|lag| correlation(lag).powi(2) / (n - lag as f64)).sum();
    let statistic = n * (n + 2.0) * sum;
    let distribution = ChiSquared::new(lags as f64).expect("at least one lag");
    Test { statistic, p: distribution.sf(statistic) }
}

/// Rank of each value from 1; equal values share the mean of their ranks.
pub(super) fn mid_ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for tied in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let rank = before as f64 + (tied.len() as f64 + 1.0) / 2.0;
        tied.iter().for_each(|index| ranks[*index] = rank);
        before += tied.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::super::random::Random;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn edges_decide_nothing() {
        for values in [&[][..], &[1.0], &[5.0; 50]] {
            assert_eq!(mann_kendall(values).p, 1.0);
            assert!(ljung_box(values, 10).p > 0.2, "{values:?}");
        }
    }

    #[test]
    fn planted_drift_and_memory_are_found() {
        let mut random = Random::new(5);
        let noise: Vec<f64> = (0..200).map(|_| random.unit()).collect();
        let drift: Vec<f64> = noise.iter().enumerate().map(|(i, x)| x + i as f64 / 200.0).collect();
        assert!(mann_kendall(&drift).p < 1e-6 && mann_kendall(&noise).p > 0.05);
        let mut last = 0.0;
        let memory: Vec<f64> = noise
            .iter()
            .map(|x| {
                last = 0.6 * last + x;
                last
            })
            .collect();
        assert!(ljung_box(&memory, 10).p < 1e-6 && ljung_box(&noise, 10).p > 0.05);
    }

    proptest! {
        #[test]
        fn only_order_matters(values in prop::collection::vec(1u32..50, 3..60)) {
            let plain: Vec<f64> = values.iter().map(|v| f64::from(*v)).collect();
            let stretched: Vec<f64> = plain.iter().map(|v| v.powi(3) + 7.0).collect();
            prop_assert_eq!(mann_kendall(&plain), mann_kendall(&stretched));
            prop_assert_eq!(ljung_box(&plain, 5), ljung_box(&stretched, 5));
            let mut reversed = plain.clone();
            reversed.reverse();
            prop_assert_eq!(mann_kendall(&plain).statistic, -mann_kendall(&reversed).statistic);
            let ranks = mid_ranks(&plain);
            let n = plain.len() as f64;
            prop_assert!((ranks.iter().sum::<f64>() - n * (n + 1.0) / 2.0).abs() < 1e-6);
        }
    }
}
