//! Bins brought to a number that can be drawn and read.

use super::{Axis, us};
use crate::result::Bin;
use std::collections::BTreeMap;

/// Most groups of bins in a histogram.
const MOST_GROUPS: u64 = 500;
/// A last bin without an end is drawn so much wider than where it begins.
const OPEN: f64 = 1.07;
/// From this ratio of the largest to a typical latency on, equal steps would hide the typical ones.
const WIDE: f64 = 20.0;

/// Bins of one or several histograms in groups, each whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Groups {
    /// From (inclusive) and to (exclusive), in ns, ascending.
    pub(super) spans: Vec<(u64, u64)>,
}

/// End of a bin for a drawing, in ns.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
pub(super) fn end_ns(bin: &Bin) -> u64 {
    bin.to_ns.unwrap_or_else(|| (bin.from_ns as f64 * OPEN) as u64 + 1)
}

impl Groups {
    /// Groups of the occupied `bins`, each at least `least(from)` wide unless a gap comes first.
    pub(super) fn new<'a>(bins: impl IntoIterator<Item = &'a Bin>, least: impl Fn(u64) -> u64) -> Self {
        let mut edges: BTreeMap<u64, u64> = BTreeMap::new();
        for bin in bins {
            let end = edges.entry(bin.from_ns).or_default();
            *end = (*end).max(end_ns(bin));
        }
        let mut spans: Vec<(u64, u64)> = Vec::new();
        let mut reach = 0;
        for (from, to) in edges {
            match spans.last_mut().filter(|last| from < last.1 || from < reach) {
                Some(last) => last.1 = last.1.max(to),
                None => {
                    spans.push((from, to));
                    reach = from.saturating_add(least(from));
                }
            }
        }
        Self { spans }
    }

    /// As many as a histogram on `axis` can show.
    pub(super) fn for_axis<'a>(bins: impl IntoIterator<Item = &'a Bin> + Clone, logarithmic: bool) -> Self {
        let highest = bins.clone().into_iter().map(end_ns).max().unwrap_or(1);
        let lowest = bins.clone().into_iter().map(|bin| bin.from_ns).min().unwrap_or(0);
        match logarithmic {
            false => Self::new(bins, |_| (highest - lowest) / MOST_GROUPS),
            true => Self::new(bins, |from| from / 24),
        }
    }

    /// Counts of `bins` by group.
    pub(super) fn counts<'a>(&self, bins: impl IntoIterator<Item = &'a Bin>) -> Vec<u64> {
        let mut counts = vec![0u64; self.spans.len()];
        for bin in bins {
            if let Some(count) = self.at(bin.from_ns).and_then(|at| counts.get_mut(at)) {
                *count = count.saturating_add(bin.count);
            }
        }
        counts
    }

    /// Number of the group that `from_ns` lies in or follows.
    pub(super) fn at(&self, from_ns: u64) -> Option<usize> {
        self.spans.partition_point(|(from, _)| *from <= from_ns).checked_sub(1)
    }

    /// Steps of `values` by group, 0 between groups and at the end.
    pub(super) fn steps(&self, values: &[f64]) -> Vec<(f64, f64)> {
        // It rises from nothing.
        let mut steps: Vec<(f64, f64)> = self.spans.first().map(|(from, _)| (us(*from), 0.0)).into_iter().collect();
        let mut end = None;
        for ((from, to), value) in self.spans.iter().zip(values) {
            if let Some(end) = end.filter(|end| end != from) {
                steps.push((us(end), 0.0));
            }
            // A run of equal values is one step.
            if end != Some(*from) || steps.last().is_none_or(|(_, last)| last != value) {
                steps.push((us(*from), *value));
            }
            end = Some(*to);
        }
        steps.extend(end.map(|end| (us(end), 0.0)));
        steps
    }
}

/// Whether latencies up to `highest_ns` need a logarithmic axis, `typical_ns` being their median.
pub(super) fn is_wide(typical_ns: u64, highest_ns: u64) -> bool {
    highest_ns as f64 > WIDE * typical_ns.max(1) as f64
}

/// Median of `bins`: the end of its bin, in ns.
pub(super) fn median_ns(bins: &[Bin]) -> u64 {
    let total: u64 = bins.iter().fold(0, |sum, bin| sum.saturating_add(bin.count));
    let mut seen = 0u64;
    let middle = bins.iter().find(|bin| {
        seen = seen.saturating_add(bin.count);
        seen.saturating_mul(2) >= total
    });
    middle.map_or(1, end_ns)
}

/// The axis of latencies in us.
pub(super) fn latency_axis(label: &str, logarithmic: bool, lowest_ns: u64, highest_ns: u64) -> Axis {
    let highest = us(highest_ns.max(1));
    match logarithmic {
        true => Axis::log(label, us(lowest_ns).max(highest / 1e6).max(0.1), highest * 1.1),
        false => Axis::linear(label, 0.0, highest * 1.05),
    }
}

/// The logarithmic axis of counts of at least one up to `most`.
pub(super) fn count_axis(label: &str, most: f64) -> Axis {
    Axis::log(label, 0.7, most.max(2.0) * 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bin(from_ns: u64, to_ns: u64, count: u64) -> Bin {
        Bin { from_ns, to_ns: Some(to_ns), count }
    }

    #[test]
    fn groups_keep_every_count_and_do_not_cover_gaps() {
        let bins = [bin(10, 11, 1), bin(11, 12, 2), bin(12, 13, 3), bin(1000, 1062, 4)];
        let groups = Groups::new(&bins, |_| 2);
        assert_eq!(groups.spans, [(10, 12), (12, 13), (1000, 1062)]);
        assert_eq!(groups.counts(&bins), [3, 3, 4]);
        let steps = groups.steps(&[3.0, 3.0, 4.0]);
        assert_eq!(steps, [(0.01, 0.0), (0.01, 3.0), (0.013, 0.0), (1.0, 4.0), (1.062, 0.0)]);
        assert_eq!((groups.at(9), groups.at(11), groups.at(5000)), (None, Some(0), Some(2)));
    }

    #[test]
    fn the_number_of_groups_is_bounded() {
        let bins: Vec<Bin> = (0..100_000).map(|i| bin(i * 10, i * 10 + 10, 1)).collect();
        for logarithmic in [false, true] {
            let groups = Groups::for_axis(&bins, logarithmic);
            assert!((100..1200).contains(&groups.spans.len()), "{}", groups.spans.len());
            assert_eq!(groups.counts(&bins).iter().sum::<u64>(), 100_000);
        }
        assert_eq!(median_ns(&bins), 500_000);
    }
}
