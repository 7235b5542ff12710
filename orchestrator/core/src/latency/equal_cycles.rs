//! Maxima at equal sample counts: a maximum grows with the number of samples, so that of a longer run is larger for no other reason.

use super::blocks::{Entry, Series};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Maxima of stretches of a run, each of (at least) so many wake-ups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EqualMaximum {
    /// Wake-ups of a stretch.
    pub cycles: u64,
    /// Stretches: one begins at each closed block, so they overlap.
    pub stretches: u64,
    /// Smallest of the maxima, in ns.
    pub lowest_ns: u64,
    /// Median of the maxima, in ns: what a run of that length typically shows.
    pub median_ns: u64,
    /// Largest of the maxima, in ns.
    pub highest_ns: u64,
}

/// Maxima of all stretches of `series` with `cycles` wake-ups, whole blocks; `None` when the series has fewer.
pub fn maximum_at(series: &Series, cycles: u64) -> Option<EqualMaximum> {
    let entries: Vec<&Entry> = series.entries().collect();
    let mut maxima = Vec::new();
    // Numbers of the blocks of the stretch, their maxima falling: the first is the largest.
    let mut falling: VecDeque<usize> = VecDeque::new();
    let (mut end, mut held) = (0, 0u64);
    for (start, first) in entries.iter().enumerate() {
        while held < cycles.max(1) {
            let Some(entry) = entries.get(end) else { return summary(cycles, maxima) };
            while falling.back().is_some_and(|last| entries[*last].max_ns <= entry.max_ns) {
                falling.pop_back();
            }
            falling.push_back(end);
            held += entry.cycles;
            end += 1;
        }
        maxima.extend(falling.front().map(|largest| entries[*largest].max_ns));
        if falling.front() == Some(&start) {
            falling.pop_front();
        }
        held -= first.cycles;
    }
    summary(cycles, maxima)
}

fn summary(cycles: u64, mut maxima: Vec<u64>) -> Option<EqualMaximum> {
    maxima.sort_unstable();
    Some(EqualMaximum {
        cycles,
        stretches: maxima.len() as u64,
        lowest_ns: *maxima.first()?,
        median_ns: *maxima.get((maxima.len() - 1) / 2)?,
        highest_ns: *maxima.last()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::blocks::testing::series;
    use proptest::prelude::*;

    #[test]
    fn a_lone_peak_is_in_few_short_stretches() {
        let series = series((0..100).map(|i| if i == 99 { 500 } else { 10 }));
        let found = maximum_at(&series, 10_000).unwrap();
        assert_eq!((found.stretches, found.lowest_ns, found.median_ns, found.highest_ns), (91, 10, 10, 500));
        let whole = maximum_at(&series, 100_000).unwrap();
        assert_eq!((whole.stretches, whole.lowest_ns, whole.highest_ns), (1, 500, 500));
        assert_eq!(maximum_at(&series, 100_001), None);
        assert_eq!(maximum_at(&Series::default(), 1), None);
    }

    proptest! {
        #[test]
        fn agrees_with_trying_every_stretch(maxima in prop::collection::vec(0u64..50, 1..40), blocks in 1usize..45) {
            let mut all: Vec<u64> = maxima.windows(blocks).map(|w| *w.iter().max().unwrap()).collect();
            all.sort_unstable();
            let found = maximum_at(&series(maxima), blocks as u64 * 1000);
            prop_assert_eq!(found.map(|f| (f.lowest_ns, f.median_ns, f.highest_ns)),
                all.first().map(|lowest| (*lowest, all[(all.len() - 1) / 2], all[all.len() - 1])));
        }
    }
}
