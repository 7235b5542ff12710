//! An exact probability: 0.9999 of 10,000 samples is 9999, which binary floating point misses.

use std::fmt;

/// A decimal fraction in 0..=1, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probability {
    numerator: u64,
    denominator: u64,
    text: String,
}

/// A text that is no probability.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no quantile: expected a decimal between 0 and 1 with at most 15 digits, like 0.999")]
pub struct BadProbability {
    /// The text.
    pub text: String,
}

impl Probability {
    /// Reads `0.9999`, `.5`, `1`, `1.0`.
    pub fn parse(text: &str) -> Result<Self, BadProbability> {
        let bad = || BadProbability { text: text.to_owned() };
        let (whole, digits) = text.split_once('.').unwrap_or((text, ""));
        let is_number = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
        if !is_number(whole) || !is_number(digits) || (whole.is_empty() && digits.is_empty()) || digits.len() > 15 {
            return Err(bad());
        }
        let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| bad())? };
        let fraction: u64 = if digits.is_empty() { 0 } else { digits.parse().map_err(|_| bad())? };
        let denominator = digits.bytes().fold(1, |product: u64, _| product * 10);
        match (whole, fraction) {
            (1, 0) => Ok(Self { numerator: denominator, denominator, text: text.to_owned() }),
            (0, _) => Ok(Self { numerator: fraction, denominator, text: text.to_owned() }),
            _ => Err(bad()),
        }
    }

    /// Rank of the sample that is the quantile of `total` samples, from 1: ⌈p · total⌉, at least 1.
    /// The inverse of the empirical distribution function (Hyndman & Fan 1996, type 1).
    pub fn rank(&self, total: u64) -> u64 {
        let product = u128::from(self.numerator) * u128::from(total);
        let rank = product.div_ceil(u128::from(self.denominator));
        u64::try_from(rank).unwrap_or(total).max(1)
    }
}

/// As written.
impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
