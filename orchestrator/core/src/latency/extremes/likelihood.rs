//! Maximum likelihood, and the profile likelihood of a return level.

use super::gev::{Gev, standard_level};
use super::simplex::minimise;
use crate::latency::stated::{CONFIDENCE, Interval};
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// Shapes the likelihood is searched in: beyond −1 it has no maximum (Smith 1985), beyond 1 the mean is infinite.
const SHAPES: std::ops::Range<f64> = -0.99..1.0;

/// A fit by maximum likelihood.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fitted {
    /// The distribution.
    pub gev: Gev,
    /// Log-likelihood of the data.
    pub log_likelihood: f64,
}

/// The distribution under which `data` are most likely, searched from `start`; `None` where the search finds no
/// proper maximum (at the edge of the shapes, or `start` makes the data impossible and so does its Gumbel relative).
pub fn fit(data: &[f64], start: &Gev) -> Option<Fitted> {
    let start = [start.shape, 0.0].map(|shape| Gev { shape, ..*start });
    let start = start.into_iter().find(|gev| gev.log_likelihood(data).is_finite())?;
    // Steps in units of the start's scale.
    let gev = |p: &[f64; 3]| Gev {
        location: start.location + start.scale * p[0],
        scale: start.scale * p[1].exp(),
        shape: start.shape + p[2],
    };
    let (at, lowest) = minimise([0.0; 3], 0.1, |p| cost(&gev(p), data));
    let gev = gev(&at);
    let inside = SHAPES.start + 0.01 < gev.shape && gev.shape < SHAPES.end - 0.01;
    (inside && lowest.is_finite()).then_some(Fitted { gev, log_likelihood: -lowest })
}

fn cost(gev: &Gev, data: &[f64]) -> f64 {
    if SHAPES.contains(&gev.shape) { -gev.log_likelihood(data) } else { f64::INFINITY }
}

/// Level exceeded with probability `p` in a block, with the interval in which the profile likelihood is not
/// significantly lower (Coles 2001, §2.6.6 and §3.3.4). `None` where the likelihood does not fall on one side: the data set no bound there.
pub fn level_interval(data: &[f64], fitted: &Fitted, p: f64) -> Option<Interval> {
    let level = fitted.gev.exceeded_with(p);
    let chi_squared = ChiSquared::new(1.0).expect("one degree of freedom");
    let allowed = fitted.log_likelihood - chi_squared.inverse_cdf(CONFIDENCE) / 2.0;
    let profile = Profile { data, y: -(-p).ln_1p(), fitted };
    Some(Interval { low: profile.edge(level, -1.0, allowed)?, high: profile.edge(level, 1.0, allowed)? })
}

struct Profile<'a> {
    data: &'a [f64],
    /// −ln F at the level.
    y: f64,
    fitted: &'a Fitted,
}

impl Profile<'_> {
    /// Largest log-likelihood with the return level held at `level`, searched from scale and shape of a neighbour.
    fn at(&self, level: f64, from: (f64, f64)) -> ((f64, f64), f64) {
        let gev = |p: &[f64; 2]| {
            let (scale, shape) = (from.0 * p[0].exp(), from.1 + p[1]);
            Gev { location: level - scale * standard_level(self.y, shape), scale, shape }
        };
        let (at, lowest) = minimise([0.0; 2], 0.1, |p| cost(&gev(p), self.data));
        let found = gev(&at);
        ((found.scale, found.shape), -lowest)
    }

    /// Where the profile falls below `allowed`, going from `level` in `direction`.
    fn edge(&self, level: f64, direction: f64, allowed: f64) -> Option<f64> {
        let mut inner = level;
        let mut from = (self.fitted.gev.scale, self.fitted.gev.shape);
        let mut step = self.fitted.gev.scale / 4.0;
        let mut outer = None;
        // 1.5^40 quarter scales: far beyond anything that could be told to a reader.
        for _ in 0..40 {
            let next = inner + direction * step;
            let (here, likelihood) = self.at(next, from);
            if likelihood < allowed {
                outer = Some(next);
                break;
            }
            (inner, from, step) = (next, here, step * 1.5);
        }
        let mut outer = outer?;
        for _ in 0..24 {
            let middle = (inner + outer) / 2.0;
            let (here, likelihood) = self.at(middle, from);
            match likelihood < allowed {
                true => outer = middle,
                false => (inner, from) = (middle, here),
            }
        }
        Some((inner + outer) / 2.0)
    }
}
