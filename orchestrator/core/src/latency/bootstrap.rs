//! Differences of quantiles with an interval, by block bootstrap.

use super::probability::Probability;
use super::random::Random;
use super::slices::Slice;
use super::stated::{CONFIDENCE, Interval, NotApplicable};
use std::collections::BTreeSet;

/// Resamples: the ends of a 95 % interval are then the 25th from either side.
const REPETITIONS: usize = 999;
/// Fewest slices of a side.
const FEWEST: usize = 10;

/// Counts of many slices over the same bins.
struct Table {
    ends: Vec<u64>,
    rows: Vec<Vec<u64>>,
}

impl Table {
    fn new(slices: &[Slice]) -> Self {
        let ends: BTreeSet<u64> = slices.iter().flat_map(|slice| slice.keys().copied()).collect();
        let ends: Vec<u64> = ends.into_iter().collect();
        let row = |slice: &Slice| ends.iter().map(|end| slice.get(end).copied().unwrap_or(0)).collect();
        let rows = slices.iter().map(row).collect();
        Self { ends, rows }
    }

    /// The quantile of as many rows drawn with replacement.
    fn resampled(&self, q: &Probability, random: &mut Random) -> f64 {
        let mut sums = vec![0u64; self.ends.len()];
        for _ in 0..self.rows.len() {
            let row = &self.rows[random.below(self.rows.len())];
            sums.iter_mut().zip(row).for_each(|(sum, count)| *sum += count);
        }
        let rank = q.rank(sums.iter().sum());
        let mut seen = 0;
        let at = sums.iter().position(|count| {
            seen += count;
            seen >= rank
        });
        at.and_then(|at| self.ends.get(at)).map_or(0.0, |end| *end as f64)
    }
}

/// Interval for the difference (`b` − `a`, in ns) of the quantiles `q` of two runs: percentile interval over resamples
/// of whole slices (Künsch 1989; Lahiri, Resampling Methods for Dependent Data, 2003), so that bursts stay together. It
/// knows only the variation within these runs, not that between boots.
pub fn quantile_difference(a: &[Slice], b: &[Slice], q: &Probability, seed: u64) -> Result<Interval, NotApplicable> {
    let fewest = a.len().min(b.len());
    if fewest < FEWEST {
        return Err(NotApplicable::because(format!("only {fewest} slices of a minute, {FEWEST} are needed")));
    }
    let (a, b) = (Table::new(a), Table::new(b));
    let mut random = Random::new(seed);
    let mut differences: Vec<f64> =
        (0..REPETITIONS).map(|_| b.resampled(q, &mut random) - a.resampled(q, &mut random)).collect();
    differences.sort_unstable_by(f64::total_cmp);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "25 of 1000")]
    let outside = ((1.0 - CONFIDENCE) / 2.0 * (REPETITIONS + 1) as f64).round() as usize;
    Ok(Interval { low: differences[outside - 1], high: differences[REPETITIONS - outside] })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A minute in which most samples are near 10 us and about one in a thousand, in bursts, is up to `worst` us.
    fn minute(random: &mut Random, worst: usize) -> Slice {
        let mut slice = Slice::from([(9_999, 59_900)]);
        while random.unit() < 0.7 {
            *slice.entry((10 + random.below(worst)) as u64 * 1000 + 999).or_default() += 60;
        }
        slice
    }

    #[test]
    fn covers_no_difference_as_often_as_stated_and_finds_a_planted_one() {
        let q = Probability::parse("0.999").unwrap();
        let mut random = Random::new(17);
        let mut run = |worst| (0..60).map(|_| minute(&mut random, worst)).collect::<Vec<_>>();
        let mut covered = 0;
        for seed in 0..25 {
            let (a, b) = (run(40), run(40));
            covered += u32::from(quantile_difference(&a, &b, &q, seed).unwrap().contains(0.0));
        }
        assert!(covered >= 21, "{covered} of 25");
        // 7/3 bursts of 60 a minute: one sample in a thousand is 3/7 of them, so the quantile lies at 4/7 of the range.
        let found = quantile_difference(&run(40), &run(200), &q, 1).unwrap();
        assert!(found.low > 0.0 && found.contains(160_000.0 * 4.0 / 7.0), "{found:?}");
        assert!(quantile_difference(&run(40)[..9], &run(40), &q, 1).is_err());
    }
}
