//! L-moments: robust, closed form; the start of the likelihood fit and its cross-check.

use super::gev::Gev;
use statrs::function::gamma::gamma;

/// First four L-moments of a sample: λ1, λ2 and the ratios τ3, τ4 (Hosking 1990, JRSS B 52).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LMoments {
    /// Mean.
    pub mean: f64,
    /// Half the expected difference of two values, ≥ 0.
    pub scale: f64,
    /// τ3, -1..1.
    pub skewness: f64,
    /// τ4, -0.25..1.
    pub kurtosis: f64,
}

/// L-moments of `data` by unbiased probability-weighted moments; `None` with fewer than four values or all of them equal.
pub fn l_moments(data: &[f64]) -> Option<LMoments> {
    let mut sorted = data.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    l_moments_of_sorted(&sorted)
}

pub(super) fn l_moments_of_sorted(sorted: &[f64]) -> Option<LMoments> {
    if sorted.len() < 4 {
        return None;
    }
    let n = sorted.len() as f64;
    let mut b = [0.0; 4];
    for (i, x) in sorted.iter().enumerate() {
        let i = i as f64;
        b[0] += x;
        b[1] += x * i / (n - 1.0);
        b[2] += x * i * (i - 1.0) / ((n - 1.0) * (n - 2.0));
        b[3] += x * i * (i - 1.0) * (i - 2.0) / ((n - 1.0) * (n - 2.0) * (n - 3.0));
    }
    let [b0, b1, b2, b3] = b.map(|sum| sum / n);
    let scale = 2.0 * b1 - b0;
    // Rounding leaves a remainder of equal values.
    if scale <= 1e-12 * b0.abs() || !scale.is_finite() {
        return None;
    }
    Some(LMoments {
        mean: b0,
        scale,
        skewness: (6.0 * b2 - 6.0 * b1 + b0) / scale,
        kurtosis: (20.0 * b3 - 30.0 * b2 + 12.0 * b1 - b0) / scale,
    })
}

impl Gev {
    /// The distribution with these L-moments (Hosking, Wallis & Wood 1985, Technometrics 27; the equation for the shape
    /// is solved, not approximated). `None` where no shape in -1..1 fits.
    pub fn by_l_moments(moments: &LMoments) -> Option<Gev> {
        // Hosking's k = −shape; τ3 falls with k.
        let skewness = |k: f64| 2.0 * ratio(3.0, k) - 3.0;
        let (mut low, mut high) = (-0.999, 0.999);
        if !(skewness(high) < moments.skewness && moments.skewness < skewness(low)) {
            return None;
        }
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            match skewness(middle) > moments.skewness {
                true => low = middle,
                false => high = middle,
            }
        }
        let k = (low + high) / 2.0;
        // At k = 0 the Gumbel limit: scale λ2 / ln 2, location mean − γ · scale.
        let (scale, shift) = if k.abs() < 1e-7 {
            (moments.scale / std::f64::consts::LN_2, 0.577_215_664_901_532_9)
        } else {
            let g = gamma(1.0 + k);
            (moments.scale * k / (g * -(-k * std::f64::consts::LN_2).exp_m1()), (1.0 - g) / k)
        };
        Some(Gev { location: moments.mean - scale * shift, scale, shape: -k })
    }
}

/// (1 − b^−k) / (1 − 2^−k), with its limit at 0.
fn ratio(b: f64, k: f64) -> f64 {
    match k.abs() < 1e-9 {
        true => b.ln() / std::f64::consts::LN_2,
        false => (-k * b.ln()).exp_m1() / (-k * std::f64::consts::LN_2).exp_m1(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn too_little_or_equal_values_have_none() {
        assert_eq!(l_moments(&[1.0, 2.0, 3.0]), None);
        assert_eq!(l_moments(&[7.1; 50]), None);
        assert_eq!(l_moments(&[1.0, 2.0, 3.0, f64::INFINITY]), None);
    }

    #[test]
    fn of_one_to_five_by_hand() {
        let m = l_moments(&[5.0, 1.0, 4.0, 2.0, 3.0]).unwrap();
        assert!((m.mean - 3.0).abs() < 1e-12 && (m.scale - 1.0).abs() < 1e-12, "{m:?}");
        assert!(m.skewness.abs() < 1e-12 && m.kurtosis.abs() < 1e-12, "{m:?}");
    }

    proptest! {
        /// An evenly spread sample of a known distribution gives it back.
        #[test]
        fn finds_the_distribution(location in -100f64..100.0, scale in 0.5f64..50.0, shape in -0.4f64..0.3) {
            let truth = Gev { location, scale, shape };
            let n = 20_000;
            let sample: Vec<f64> = (0..n).map(|i| truth.exceeded_with((f64::from(i) + 0.5) / f64::from(n))).collect();
            let found = Gev::by_l_moments(&l_moments(&sample).unwrap()).unwrap();
            prop_assert!((found.shape - shape).abs() < 0.01, "{:?}", found);
            prop_assert!((found.scale / scale - 1.0).abs() < 0.01 && ((found.location - location) / scale).abs() < 0.01, "{:?}", found);
        }
    }
}
