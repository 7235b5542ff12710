//! Numbers as the tools print them, without allocation and without rounding on the way.

/// A decimal number, exact: `digits / 10^scale`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decimal {
    negative: bool,
    /// All digits read as one number; at most 38 digits are kept.
    digits: u128,
    scale: u32,
}

/// Powers of ten that a `u128` holds.
const MAX_DIGITS: u32 = 38;

impl Decimal {
    /// Reads a number from the start of `text`: sign, digits, point, digits; gives it and the bytes it took.
    /// No exponent, no `nan`, no `inf`: the tools print those only where there is no value.
    #[inline]
    pub(super) fn take(text: &[u8]) -> Option<(Self, usize)> {
        match take_count(text) {
            Some((digits, taken)) if text.get(taken) != Some(&b'.') => {
                Some((Self { negative: false, digits: u128::from(digits), scale: 0 }, taken))
            }
            _ => Self::take_any(text),
        }
    }

    /// With a sign, a fraction, or more digits than 64 bits hold.
    fn take_any(text: &[u8]) -> Option<(Self, usize)> {
        let negative = text.first() == Some(&b'-');
        let mut at = usize::from(negative || text.first() == Some(&b'+'));
        let (mut digits, mut scale, mut kept, mut seen, mut point) = (0u128, 0u32, 0u32, false, false);
        while let Some(&byte) = text.get(at) {
            match byte {
                b'0'..=b'9' => {
                    seen = true;
                    if kept < MAX_DIGITS {
                        digits = digits * 10 + u128::from(byte - b'0');
                        kept += u32::from(digits > 0);
                        scale += u32::from(point);
                    } else if !point {
                        return None;
                    }
                }
                b'.' if !point => point = true,
                _ => break,
            }
            at += 1;
        }
        // More than any fraction the tools print; keeps the power of ten below in range.
        (seen && scale <= MAX_DIGITS).then_some((Self { negative, digits, scale }, at))
    }

    /// Reads all of `text` (blanks around it allowed).
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let text = text.trim_ascii();
        let (value, taken) = Self::take(text)?;
        (taken == text.len()).then_some(value)
    }

    /// The value times `10^shift`, rounded to the nearest integer.
    fn scaled(self, shift: u32) -> Option<i128> {
        let magnitude = if shift >= self.scale {
            self.digits.checked_mul(10u128.checked_pow(shift - self.scale)?)?
        } else {
            let divisor = 10u128.checked_pow(self.scale - shift)?;
            self.digits / divisor + u128::from(self.digits % divisor >= divisor.div_ceil(2))
        };
        let magnitude = i128::try_from(magnitude).ok()?;
        Some(if self.negative { -magnitude } else { magnitude })
    }

    /// As whole nanoseconds, from a value in `unit`.
    pub(super) fn nanoseconds(self, unit: Unit) -> Option<i64> {
        i64::try_from(self.scaled(unit.shift())?).ok()
    }

    /// As nanoseconds with their fraction, from a value in `unit`: the nearest `f64`.
    pub(super) fn nanoseconds_f64(self, unit: Unit) -> Option<f64> {
        let sign = if self.negative { "-" } else { "" };
        format!("{sign}{}e{}", self.digits, i64::from(unit.shift()) - i64::from(self.scale)).parse().ok()
    }

    /// As a count: not negative, no fraction.
    pub(super) fn count(self) -> Option<u64> {
        let value = self.scaled(0)?;
        (10u128.checked_pow(self.scale)?.checked_mul(value.unsigned_abs())? == self.digits)
            .then(|| u64::try_from(value).ok())
            .flatten()
    }

    /// In thousandths: not negative, finer fractions rounded.
    pub(super) fn thousandths(self) -> Option<u64> {
        u64::try_from(self.scaled(3)?).ok()
    }

    /// Is it below zero?
    pub(super) fn is_negative(self) -> bool {
        self.negative && self.digits > 0
    }
}

/// Unit of a printed time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Unit {
    /// Nanoseconds.
    Nano,
    /// Microseconds, what nearly all tools print.
    #[default]
    Micro,
    /// Milliseconds.
    Milli,
    /// Seconds.
    Second,
}

impl Unit {
    fn shift(self) -> u32 {
        match self {
            Self::Nano => 0,
            Self::Micro => 3,
            Self::Milli => 6,
            Self::Second => 9,
        }
    }

    /// Nanoseconds in one of it.
    pub(super) fn nanoseconds(self) -> u64 {
        10u64.pow(self.shift())
    }

    /// By its printed name.
    pub(super) fn named(name: &[u8]) -> Option<Self> {
        match name.trim_ascii() {
            b"ns" | b"nanoseconds" => Some(Self::Nano),
            b"us" | b"usec" | b"microseconds" => Some(Self::Micro),
            b"ms" | b"msec" | b"milliseconds" => Some(Self::Milli),
            b"s" | b"sec" | b"seconds" => Some(Self::Second),
            _ => None,
        }
    }
}

/// Reads a count from the start of `text`; gives it and the bytes it took. `None` without a digit or beyond 64 bits.
#[inline]
pub(super) fn take_count(text: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0u64;
    let mut at = 0;
    while let Some(digit) = text.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit <= 9) {
        // 18 digits cannot overflow; only wider ones are checked.
        value = if at < 18 {
            value * 10 + u64::from(digit)
        } else {
            value.checked_mul(10)?.checked_add(u64::from(digit))?
        };
        at += 1;
    }
    (at > 0).then_some((value, at))
}

/// Reads a blank or tab, exactly six digits and another blank or tab from the start of `text`: the usual column of a
/// histogram row, eight bytes at once.
#[inline]
pub(super) fn take_six(text: &[u8]) -> Option<u64> {
    /// In each byte of the six digits.
    const DIGITS: u64 = 0x00ff_ffff_ffff_ff00;
    let eight = u64::from_le_bytes(*text.first_chunk()?);
    let blank = |byte: u64| byte == u64::from(b' ') || byte == u64::from(b'\t');
    let all_digits = (eight & 0x00f0_f0f0_f0f0_f000) == 0x0030_3030_3030_3000
        && ((eight & DIGITS).wrapping_add(0x0006_0606_0606_0600) & 0x00f0_f0f0_f0f0_f000) == 0x0030_3030_3030_3000;
    if !all_digits || !blank(eight & 0xff) || !blank(eight >> 56) {
        return None;
    }
    // The first digit is in the lowest byte. Pairs of digits, then the three pairs.
    let digits = (eight >> 8) & 0x0f0f_0f0f_0f0f;
    let pairs = digits * 10 + (digits >> 8);
    let pair = |shift: u32| (pairs >> shift) & 0xff;
    Some(pair(0) * 10_000 + pair(16) * 100 + pair(32))
}

/// A count that fills all of `text` (blanks around it allowed).
pub(super) fn count(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii();
    let (value, taken) = take_count(text)?;
    (taken == text.len()).then_some(value)
}

/// The words of a line: separated by blanks and tabs.
pub(super) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty())
}

/// The position after `needle` in `hay`.
pub(super) fn after(hay: &[u8], needle: &[u8]) -> Option<usize> {
    memchr::memmem::find(hay, needle).map(|at| at + needle.len())
}

/// Text for a message: valid UTF-8, no control characters, at most 60 characters.
pub(super) fn shown(text: &[u8]) -> String {
    const WIDTH: usize = 60;
    let head = &text[..text.len().min(4 * WIDTH)];
    let clean = String::from_utf8_lossy(head);
    let mut shown: String = clean.chars().map(|c| if c.is_control() { ' ' } else { c }).take(WIDTH).collect();
    if clean.chars().count() > WIDTH || head.len() < text.len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        for (text, unit, expected) in [
            ("12.345", Unit::Micro, Some(12_345)),
            ("-1.204", Unit::Micro, Some(-1_204)),
            ("269999981.0000000000", Unit::Micro, Some(269_999_981_000)),
            ("0.0005", Unit::Micro, Some(1)),
            ("0.0004", Unit::Micro, Some(0)),
            ("9.541", Unit::Second, Some(9_541_000_000)),
            ("204226", Unit::Nano, Some(204_226)),
            ("18446744073709551615", Unit::Nano, None),
            ("-", Unit::Micro, None),
            ("nan", Unit::Micro, None),
            ("-nan", Unit::Micro, None),
            ("1e9", Unit::Micro, None),
            ("", Unit::Micro, None),
            ("1.2.3", Unit::Micro, None),
        ] {
            let value = Decimal::parse(text.as_bytes()).and_then(|value| value.nanoseconds(unit));
            assert_eq!(value, expected, "{text}");
        }
        let mean = Decimal::parse(b"4.40624790712").and_then(|mean| mean.nanoseconds_f64(Unit::Micro));
        assert_eq!(mean, Some(4406.24790712));
    }

    #[test]
    fn counts_are_whole_and_not_negative() {
        for (text, expected) in [("5.0", Some(5)), ("5.5", None), ("-1", None), ("00012", Some(12)), ("-0", Some(0))] {
            assert_eq!(Decimal::parse(text.as_bytes()).and_then(Decimal::count), expected, "{text}");
        }
        assert_eq!(take_count(b"18446744073709551615x"), Some((u64::MAX, 20)));
        assert_eq!(take_count(b"18446744073709551616"), None);
        assert_eq!(take_count(b"x"), None);
        for (text, expected) in [
            (&b" 012345\t"[..], Some(12_345)),
            (b"\t999999 x", Some(999_999)),
            (b"\t000000\t", Some(0)),
            (b"\t0000001\t", None),
            (b"\t00000a\t", None),
            (b"\t00000:\t", None),
            (b"\t00000/\t", None),
            (b"0012345\t", None),
            (b" 012345", None),
        ] {
            assert_eq!(take_six(text), expected, "{}", String::from_utf8_lossy(text));
        }
    }
}
