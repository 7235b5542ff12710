//! The generalised extreme-value distribution.

use serde::{Deserialize, Serialize};

/// Below this |shape| the Gumbel limit is used: the difference is then beyond double precision.
const GUMBEL: f64 = 1e-9;

/// Generalised extreme-value distribution (Coles 2001, §3.1.3). SciPy's `genextreme` has `c` = −shape.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Gev {
    /// μ, in the unit of the data.
    pub location: f64,
    /// σ > 0, in the unit of the data.
    pub scale: f64,
    /// ξ: above 0 the tail is heavy, at 0 exponential (Gumbel), below 0 it ends.
    pub shape: f64,
}

impl Gev {
    /// −ln F(x): 0 above the upper end, infinite below the lower end.
    fn minus_ln_cdf(&self, x: f64) -> f64 {
        let y = (x - self.location) / self.scale;
        if self.shape.abs() < GUMBEL {
            return (-y).exp();
        }
        let t = 1.0 + self.shape * y;
        match t > 0.0 {
            true => (-t.ln() / self.shape).exp(),
            false if self.shape < 0.0 => 0.0,
            false => f64::INFINITY,
        }
    }

    /// Probability of a value of at most `x`.
    pub fn cdf(&self, x: f64) -> f64 {
        (-self.minus_ln_cdf(x)).exp()
    }

    /// Probability of a value above `x`, precise where it is small.
    pub fn survival(&self, x: f64) -> f64 {
        -(-self.minus_ln_cdf(x)).exp_m1()
    }

    /// Value that is exceeded with probability `p` (0..1): the return level of 1/p blocks.
    pub fn exceeded_with(&self, p: f64) -> f64 {
        // −ln(1 − p), precise for small p.
        let y = -(-p).ln_1p();
        self.location + self.scale * standard_level(y, self.shape)
    }

    /// Log-likelihood of `data`; −∞ where a value is impossible.
    pub fn log_likelihood(&self, data: &[f64]) -> f64 {
        if self.scale <= 0.0 || !self.scale.is_finite() {
            return f64::NEG_INFINITY;
        }
        let ln_scale = self.scale.ln();
        let one = |x: &f64| {
            let y = (x - self.location) / self.scale;
            if self.shape.abs() < GUMBEL {
                return -ln_scale - y - (-y).exp();
            }
            let t = 1.0 + self.shape * y;
            if t <= 0.0 {
                return f64::NEG_INFINITY;
            }
            let ln_t = t.ln();
            -ln_scale - (1.0 + 1.0 / self.shape) * ln_t - (-ln_t / self.shape).exp()
        };
        data.iter().map(one).sum()
    }
}

/// Level of the standard distribution (location 0, scale 1) where −ln F is `y`.
pub(super) fn standard_level(y: f64, shape: f64) -> f64 {
    match shape.abs() < GUMBEL {
        true => -y.ln(),
        false => (-shape * y.ln()).exp_m1() / shape,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn level_and_probability_are_inverse(location in -1e6f64..1e6, scale in 0.1f64..1e6, shape in -0.5f64..0.8, ln_p in -20f64..-0.05) {
            let gev = Gev { location, scale, shape };
            let p = ln_p.exp();
            let back = gev.survival(gev.exceeded_with(p));
            prop_assert!((back / p - 1.0).abs() < 1e-6, "{} {}", p, back);
            prop_assert!((gev.cdf(gev.exceeded_with(p)) + p - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn impossible_values_have_no_likelihood() {
        let ends = Gev { location: 0.0, scale: 1.0, shape: -0.5 };
        assert_eq!((ends.cdf(2.5), ends.survival(2.5)), (1.0, 0.0));
        assert_eq!(ends.log_likelihood(&[2.5]), f64::NEG_INFINITY);
        let begins = Gev { location: 0.0, scale: 1.0, shape: 0.5 };
        assert_eq!((begins.cdf(-2.5), begins.survival(-2.5)), (0.0, 1.0));
        assert_eq!(Gev { scale: 0.0, ..begins }.log_likelihood(&[1.0]), f64::NEG_INFINITY);
    }
}
