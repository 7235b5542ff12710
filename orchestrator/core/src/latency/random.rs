//! Pseudo-random numbers for resampling: the same data always gives the same figures.

/// SplitMix64 (Steele, Lea, Flood 2014): passes BigCrush, one word of state.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// The sequence of `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in the open interval (0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Uniform in `0..end`; 0 for an empty range. The bias of the multiplication is below 2^-32 for any series that fits in memory.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let product = u128::from(self.next()) * end as u128;
        usize::try_from(product >> 64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    /// First words of Vigna's reference `splitmix64.c` for the seed 1234567.
    #[test]
    fn follows_the_reference() {
        let mut random = Random::new(1_234_567);
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!([random.next(), random.next(), random.next()], expected);
    }

    #[test]
    fn stays_in_range_and_spreads() {
        let mut random = Random::new(7);
        let mut counts = [0u32; 10];
        for _ in 0..10_000 {
            let unit = random.unit();
            assert!(unit > 0.0 && unit < 1.0);
            counts[random.below(10)] += 1;
        }
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
        assert_eq!(random.below(0), 0);
    }
}
