//! Whether a run ended as it began: first against last third.

use super::blocks::{Entry, Series};
use super::stated::{NotApplicable, Stated, Test};
use super::stationarity::mid_ranks;
use crate::units::{MINUTE, SECOND};
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal};

/// Fewest block maxima in a third.
const FEWEST: usize = 10;

/// First and last third of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// Size of the blocks whose maxima are compared, in ns.
    pub block_ns: u64,
    /// First third.
    pub first: Third,
    /// Last third.
    pub last: Third,
    /// Whether maxima of one third tend to be larger: Mann–Whitney.
    pub test: Test,
}

/// A third of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Third {
    /// Median of its block maxima, in ns.
    pub median_ns: u64,
    /// Its maximum, in ns.
    pub max_ns: u64,
}

/// Compares the thirds of `series` by maxima of the longest of 1 min, 10 s and the run's own blocks that gives each third ten.
pub fn drift(series: &Series) -> Stated<Drift> {
    let fitting = [MINUTE, 10 * SECOND, series.block_ns].into_iter().find_map(|block_ns| {
        let maxima = series.grouped(block_ns);
        (maxima.len() / 3 >= FEWEST).then_some((block_ns, maxima))
    });
    let Some((block_ns, maxima)) = fitting else {
        return Err(NotApplicable::because(format!("only {} closed blocks", series.len()))).into();
    };
    let (first, last) = (&maxima[..maxima.len() / 3], &maxima[maxima.len() - maxima.len() / 3..]);
    let values = |part: &[Entry]| part.iter().map(|m| m.max_ns as f64).collect::<Vec<_>>();
    let test = mann_whitney(&values(first), &values(last));
    Stated::Figure(Drift { block_ns, first: third(first), last: third(last), test })
}

fn third(part: &[Entry]) -> Third {
    let mut maxima: Vec<u64> = part.iter().map(|m| m.max_ns).collect();
    maxima.sort_unstable();
    Third {
        median_ns: maxima.get(maxima.len().saturating_sub(1) / 2).copied().unwrap_or(0),
        max_ns: maxima.last().copied().unwrap_or(0),
    }
}

/// Mann–Whitney test (1947), two-sided, normal approximation with correction for ties and continuity; the statistic is
/// U of `a`: pairs in which its value is the larger one, ties counted half. p is 1 where it cannot be computed.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Test {
    let all = [a, b].concat();
    let ranks = mid_ranks(&all);
    let (m, k, n) = (a.len() as f64, b.len() as f64, all.len() as f64);
    let u = ranks[..a.len()].iter().sum::<f64>() - m * (m + 1.0) / 2.0;
    let mut sorted = ranks;
    sorted.sort_unstable_by(f64::total_cmp);
    let ties: f64 = sorted.chunk_by(|x, y| x == y).map(|tied| tied.len() as f64).map(|t| t * t * t - t).sum();
    let variance = m * k / 12.0 * (n + 1.0 - ties / (n * (n - 1.0)));
    if a.is_empty() || b.is_empty() || variance.is_nan() || variance <= 0.0 {
        return Test { statistic: u, p: 1.0 };
    }
    let z = ((u - m * k / 2.0).abs() - 0.5).max(0.0) / variance.sqrt();
    Test { statistic: u, p: (2.0 * Normal::standard().sf(z)).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::super::blocks::testing::series;
    use super::super::random::Random;
    use super::*;

    fn noisy(blocks: u32, rise: f64) -> Series {
        let mut random = Random::new(9);
        let value = |i: u32| 40_000.0 + 5_000.0 * random.unit() + rise * f64::from(i) / f64::from(blocks);
        series((0..blocks).map(value).collect::<Vec<_>>().iter().map(|v| format!("{v:.0}").parse().unwrap()))
    }

    #[test]
    fn a_rise_is_seen_and_noise_is_not() {
        let still = drift(&noisy(7200, 0.0));
        assert!(still.figure().is_some_and(|d| d.test.p > 0.05 && d.block_ns == MINUTE), "{still:?}");
        let rising = drift(&noisy(7200, 3_000.0));
        assert!(rising.figure().is_some_and(|d| d.test.p < 1e-6 && d.last.median_ns > d.first.median_ns), "{rising:?}");
        assert_eq!(drift(&noisy(300, 0.0)).figure().map(|d| d.block_ns), Some(10 * SECOND));
        assert!(drift(&noisy(29, 0.0)).figure().is_none());
        assert!(drift(&Series::default()).figure().is_none());
    }

    #[test]
    fn empty_or_equal_sides_say_nothing() {
        for (a, b) in [(&[][..], &[][..]), (&[1.0], &[]), (&[], &[1.0]), (&[2.0; 9], &[2.0; 9])] {
            assert_eq!(mann_whitney(a, b).p, 1.0, "{a:?} {b:?}");
        }
    }
}
