//! Whether block maxima look like a generalised extreme-value distribution at all.

use super::gev::Gev;
use super::lmoments::l_moments_of_sorted;
use crate::latency::random::Random;
use crate::latency::stated::Test;

/// Samples drawn for a p-value: a true 0.05 comes out as 0.05 ± 0.01.
const REPETITIONS: u32 = 499;

/// Anderson–Darling statistic of `sorted` data against `gev` (Anderson & Darling 1954): weighs the tails more than Kolmogorov–Smirnov.
pub fn anderson_darling(sorted: &[f64], gev: &Gev) -> f64 {
    let n = sorted.len();
    // A value outside the support would be infinitely bad; the smallest double keeps the order.
    let ln = |p: f64| p.max(f64::MIN_POSITIVE).ln();
    let term = |i: usize| (2 * i + 1) as f64 * (ln(gev.cdf(sorted[i])) + ln(gev.survival(sorted[n - 1 - i])));
    -(n as f64) - (0..n).map(term).sum::<f64>() / n as f64
}

/// Anderson–Darling test of `data` against the distribution with their L-moments. As the distribution was fitted, the
/// p-value comes from samples of it that are fitted in the same way (parametric bootstrap; Stute et al. 1993). `None` where no distribution can be fitted.
pub fn goodness_of_fit(data: &[f64], seed: u64) -> Option<Test> {
    let fitted_statistic = |sorted: &[f64]| {
        let gev = Gev::by_l_moments(&l_moments_of_sorted(sorted)?)?;
        Some((anderson_darling(sorted, &gev), gev))
    };
    let mut sorted = data.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let (statistic, gev) = fitted_statistic(&sorted)?;
    let mut random = Random::new(seed);
    let mut worse = 0;
    for _ in 0..REPETITIONS {
        sorted.fill_with(|| gev.exceeded_with(random.unit()));
        sorted.sort_unstable_by(f64::total_cmp);
        // A sample that cannot be fitted is as strange as can be.
        worse += u32::from(fitted_statistic(&sorted).is_none_or(|(drawn, _)| drawn >= statistic));
    }
    Some(Test { statistic, p: f64::from(worse + 1) / f64::from(REPETITIONS + 1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_its_own_and_rejects_a_mixture() {
        let mut random = Random::new(3);
        let gev = Gev { location: 40.0, scale: 3.0, shape: 0.1 };
        let own: Vec<f64> = (0..200).map(|_| gev.exceeded_with(random.unit())).collect();
        assert!(goodness_of_fit(&own, 1).unwrap().p > 0.05);
        // Every tenth block holds another disturbance, far above.
        let mixed: Vec<f64> = own.iter().enumerate().map(|(i, x)| if i % 10 == 0 { 150.0 + x } else { *x }).collect();
        assert!(goodness_of_fit(&mixed, 1).unwrap().p < 0.01);
        assert_eq!(goodness_of_fit(&[5.0; 100], 1), None);
    }

    /// The p-value of true data is uniform: one in twenty is below 0.05.
    #[test]
    fn rejects_true_data_as_often_as_stated() {
        let mut random = Random::new(11);
        let gev = Gev { location: 40.0, scale: 3.0, shape: 0.0 };
        let rejected = (0..100u64).filter(|seed| {
            let data: Vec<f64> = (0..40).map(|_| gev.exceeded_with(random.unit())).collect();
            goodness_of_fit(&data, *seed).unwrap().p < 0.05
        });
        let rejected = rejected.count();
        assert!((1..=12).contains(&rejected), "{rejected} of 100");
    }
}
