//! Latency counts that lose no magnitude: linear bins, then logarithmic tail
//! bins (16 per octave, so a bin is at most 6.25 % wide) up to 2^48 ns (78 h).

use serde::{Deserialize, Serialize};

/// Tail bins in one power of two.
const PER_OCTAVE: u32 = 16;
/// The tail's first octave starts at 2^8 ns: smaller values always fall into a linear bin of ≥ 256 ns range or the first tail bin.
const FIRST_OCTAVE: u32 = 8;
/// The tail's last octave ends at 2^48 ns; larger values are counted in its last bin.
const LAST_OCTAVE: u32 = 47;
/// Number of tail bins.
pub const TAIL_BINS: usize = ((LAST_OCTAVE - FIRST_OCTAVE + 1) * PER_OCTAVE) as usize;

/// The tail bin that counts `latency_ns`.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "below TAIL_BINS")]
pub const fn tail_index(latency_ns: u64) -> usize {
    let value = if latency_ns < 1 << FIRST_OCTAVE { 1 << FIRST_OCTAVE } else { latency_ns };
    let octave = value.ilog2();
    if octave > LAST_OCTAVE {
        return TAIL_BINS - 1;
    }
    let sub = (value >> (octave - 4)) & (PER_OCTAVE as u64 - 1);
    ((octave - FIRST_OCTAVE) * PER_OCTAVE) as usize + sub as usize
}

/// Smallest latency that tail bin `index` counts, in ns (the first one also counts anything smaller).
#[expect(clippy::cast_possible_truncation, reason = "below TAIL_BINS")]
pub const fn tail_lower_ns(index: usize) -> u64 {
    let octave = FIRST_OCTAVE + index as u32 / PER_OCTAVE;
    let sub = index as u64 % PER_OCTAVE as u64;
    (PER_OCTAVE as u64 + sub) << (octave - 4)
}

/// Smallest latency above tail bin `index`, in ns; the last bin has no upper edge and gives `u64::MAX`.
pub const fn tail_upper_ns(index: usize) -> u64 {
    if index + 1 >= TAIL_BINS { u64::MAX } else { tail_lower_ns(index + 1) }
}

/// Counts of latencies of one thread, or of several merged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    /// Width of a linear bin, in ns.
    pub bin_width_ns: u64,
    /// Linear bins: `bins[i]` counts latencies in `i*width .. (i+1)*width`.
    pub bins: Vec<u64>,
    /// Tail bins, [`TAIL_BINS`] of them, for latencies of at least `bins.len() * width`.
    pub tail: Vec<u64>,
    /// Wake-ups before the programmed time: errors of clock or timer, in no bin.
    pub negative: u64,
}

/// Two histograms that cannot be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DifferentBins;

impl std::fmt::Display for DifferentBins {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("histograms with different bins cannot be merged")
    }
}

impl std::error::Error for DifferentBins {}

impl Histogram {
    /// An empty histogram of `bins` linear bins of `bin_width_ns`.
    pub fn new(bin_width_ns: u64, bins: usize) -> Self {
        Self { bin_width_ns: bin_width_ns.max(1), bins: vec![0; bins], tail: vec![0; TAIL_BINS], negative: 0 }
    }

    /// Counts one latency.
    pub fn record(&mut self, latency_ns: i64) {
        let Ok(latency_ns) = u64::try_from(latency_ns) else {
            self.negative += 1;
            return;
        };
        let bin = usize::try_from(latency_ns / self.bin_width_ns).unwrap_or(usize::MAX);
        match self.bins.get_mut(bin) {
            Some(count) => *count += 1,
            None => self.tail[tail_index(latency_ns)] += 1,
        }
    }

    /// Samples in bins and tail; the number of measured wake-ups, apart from negative ones.
    pub fn total(&self) -> u64 {
        self.bins.iter().sum::<u64>() + self.overflow()
    }

    /// Samples beyond the linear bins.
    pub fn overflow(&self) -> u64 {
        self.tail.iter().sum()
    }

    /// First latency that no linear bin counts, in ns.
    pub fn range_ns(&self) -> u64 {
        self.bin_width_ns.saturating_mul(self.bins.len() as u64)
    }

    /// Adds `other`, exactly.
    pub fn merge(&mut self, other: &Self) -> Result<(), DifferentBins> {
        if self.bin_width_ns != other.bin_width_ns
            || self.bins.len() != other.bins.len()
            || self.tail.len() != other.tail.len()
        {
            return Err(DifferentBins);
        }
        let add = |mine: &mut [u64], theirs: &[u64]| mine.iter_mut().zip(theirs).for_each(|(a, b)| *a += b);
        add(&mut self.bins, &other.bins);
        add(&mut self.tail, &other.tail);
        self.negative += other.negative;
        Ok(())
    }

    /// Non-empty bins in ascending order as (lower edge, upper edge, count), in ns; tail bins included, their lower edge at least [`Self::range_ns`].
    pub fn occupied(&self) -> impl DoubleEndedIterator<Item = (u64, u64, u64)> + '_ {
        let (width, range) = (self.bin_width_ns, self.range_ns());
        let linear = self.bins.iter().enumerate().map(move |(i, n)| (i as u64 * width, (i as u64 + 1) * width, *n));
        let tail = self.tail.iter().enumerate().map(move |(i, n)| (tail_lower_ns(i).max(range), tail_upper_ns(i), *n));
        linear.chain(tail).filter(|(_, _, count)| *count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tail_edges_meet() {
        for index in 0..TAIL_BINS - 1 {
            let upper = tail_upper_ns(index);
            assert_eq!(tail_index(upper), index + 1);
            assert_eq!(tail_index(upper - 1), index);
        }
        assert_eq!(tail_index(u64::MAX), TAIL_BINS - 1);
        assert_eq!(tail_index(0), 0);
    }

    #[test]
    fn one_step_either_side_of_the_range() {
        let mut h = Histogram::new(1000, 10);
        for latency in [0, 999, 9_999, 10_000, -1] {
            h.record(latency);
        }
        assert_eq!((h.bins[0], h.bins[9], h.overflow(), h.negative, h.total()), (2, 1, 1, 1, 4));
    }

    proptest! {
        #[test]
        fn no_sample_lacks_a_magnitude(latency in 0u64..1 << 47, width in 1u64..5000, bins in 1usize..300) {
            let mut h = Histogram::new(width, bins);
            h.record(i64::try_from(latency).unwrap());
            let (lower, upper, count) = h.occupied().next().unwrap();
            prop_assert_eq!(count, 1);
            prop_assert!(latency < upper);
            prop_assert!(latency >= lower || latency < 256);
            if latency >= h.range_ns().max(256) {
                prop_assert!((upper - lower) * 16 <= latency);
            }
        }

        #[test]
        fn merging_equals_recording_together(a in prop::collection::vec(-10i64..50_000, 0..60), b in prop::collection::vec(-10i64..50_000, 0..60)) {
            let fill = |samples: &[i64]| { let mut h = Histogram::new(100, 200); samples.iter().for_each(|s| h.record(*s)); h };
            let mut merged = fill(&a);
            merged.merge(&fill(&b)).unwrap();
            prop_assert_eq!(merged, fill(&[a, b].concat()));
        }
    }
}
