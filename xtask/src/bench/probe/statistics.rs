//! Medians, and intervals of ratios.
#![expect(clippy::cast_precision_loss, reason = "counts of rounds, and of samples of a few seconds")]

/// The median; 0 of nothing.
pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        count if count % 2 == 1 => sorted[count / 2],
        count => f64::midpoint(sorted[count / 2 - 1], sorted[count / 2]),
    }
}

/// A ratio and its 95 % interval.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ratio {
    pub(super) middle: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Ratio {
    /// Whether it is at most `goal`; `None` where it is above but its interval is not.
    pub(super) fn at_most(&self, goal: f64) -> Option<bool> {
        (self.middle <= goal || self.low > goal).then_some(self.middle <= goal)
    }

    /// What to add to the goal where that cannot be told.
    pub(super) fn doubt(&self, goal: f64) -> &'static str {
        if self.at_most(goal).is_none() { ", within the spread" } else { "" }
    }
}

impl std::fmt::Display for Ratio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.3} ({:.3} to {:.3})", self.middle, self.low, self.high)
    }
}

/// Median of the ratios of pairs; the interval is that of the sign test: order statistics, no shape assumed.
pub(super) fn ratio(pairs: &[(f64, f64)]) -> Ratio {
    let mut ratios: Vec<f64> = pairs.iter().map(|(ours, theirs)| ours / theirs).collect();
    ratios.sort_by(f64::total_cmp);
    let count = ratios.len() as f64;
    // Normal approximation of the binomial's 2.5 % point; all of them where there are too few for 95 %.
    let rank = (count / 2.0 - 0.98 * count.sqrt() - 0.5).max(0.0).floor();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank below the number of rounds")]
    let rank = (rank as usize).min(ratios.len().saturating_sub(1));
    let at = |place: usize| ratios.get(place).copied().unwrap_or(f64::NAN);
    Ratio { middle: median(&ratios), low: at(rank), high: at(ratios.len().saturating_sub(1 + rank)) }
}

/// Mean of a histogram of 1 us bins, in us, at the bins' middles.
pub(super) fn mean_us(counts: &[u64]) -> f64 {
    let sum: f64 = (0u32..).zip(counts).map(|(bin, count)| (f64::from(bin) + 0.5) * *count as f64).sum();
    sum / counts.iter().sum::<u64>().max(1) as f64
}

/// Quantile of a histogram of 1 us bins, in us, interpolated in its bin.
pub(super) fn quantile_us(counts: &[u64], quantile: f64) -> f64 {
    let wanted = counts.iter().sum::<u64>() as f64 * quantile;
    let mut below = 0.0;
    for (bin, count) in (0u32..).zip(counts) {
        let count = *count as f64;
        if count > 0.0 && below + count >= wanted {
            return f64::from(bin) + (wanted - below) / count;
        }
        below += count;
    }
    counts.len() as f64
}

/// Largest difference between two distributions (Kolmogorov-Smirnov).
pub(super) fn distance(a: &[u64], b: &[u64]) -> f64 {
    let (all_a, all_b) = (a.iter().sum::<u64>().max(1) as f64, b.iter().sum::<u64>().max(1) as f64);
    let (mut sum_a, mut sum_b, mut largest) = (0.0, 0.0, 0.0f64);
    for bin in 0..a.len().max(b.len()) {
        sum_a += a.get(bin).copied().unwrap_or(0) as f64 / all_a;
        sum_b += b.get(bin).copied().unwrap_or(0) as f64 / all_b;
        largest = largest.max((sum_a - sum_b).abs());
    }
    largest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_and_means_of_bins() {
        let counts = [0, 2, 0, 2];
        assert!((mean_us(&counts) - 2.5).abs() < 1e-9);
        assert!((quantile_us(&counts, 0.5) - 2.0).abs() < 1e-9);
        assert!((quantile_us(&counts, 0.75) - 3.5).abs() < 1e-9);
        assert!((distance(&counts, &[4]) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn the_interval_of_a_ratio_is_by_rank() {
        let pairs: Vec<(f64, f64)> = (1..=25).map(|i| (f64::from(i), 10.0)).collect();
        let found = ratio(&pairs);
        assert!((found.middle - 1.3).abs() < 1e-9);
        assert_eq!([found.at_most(1.3), found.at_most(1.0), found.at_most(0.7)], [Some(true), None, Some(false)]);
        assert!((found.low - 0.8).abs() < 1e-9 && (found.high - 1.8).abs() < 1e-9, "{found}");
        let few = ratio(&[(1.0, 1.0), (3.0, 1.0)]);
        assert!((few.low - 1.0).abs() < 1e-9 && (few.high - 3.0).abs() < 1e-9);
    }
}
