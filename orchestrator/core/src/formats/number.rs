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
            _ => Self::take_short(text).or_else(|| Self::take_any(text)),
        }
    }

    /// A sign and a fraction, with as many digits as 64 bits surely hold.
    #[inline]
    fn take_short(text: &[u8]) -> Option<(Self, usize)> {
        const DIGITS: usize = 18;
        let negative = text.first() == Some(&b'-');
        let from = usize::from(negative);
        let (mut digits, mut at, mut point) = (0u64, from, None);
        while let Some(&byte) = text.get(at) {
            match byte {
                b'0'..=b'9' => digits = digits * 10 + u64::from(byte - b'0'),
                b'.' if point.is_none() => point = Some(at),
                _ => break,
            }
            at += 1;
            if at - from > DIGITS {
                return None;
            }
        }
        let scale = point.map_or(0, |point| at - point - 1);
        let seen = at - from > usize::from(point.is_some());
        let scale = u32::try_from(scale).ok()?;
        seen.then_some((Self { negative, digits: u128::from(digits), scale }, at))
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
        /// Whole numbers up to here, and powers of ten up to the 22nd, are exact: one division rounds once.
        const EXACT: u128 = 1 << 53;
        let (shift, scale) = (unit.shift(), self.scale);
        if self.digits <= EXACT && shift.abs_diff(scale) <= 22 {
            #[expect(clippy::cast_precision_loss, reason = "not above 2^53")]
            let digits = self.digits as f64;
            let power = 10f64.powi(i32::try_from(shift.abs_diff(scale)).ok()?);
            let magnitude = if shift >= scale { digits * power } else { digits / power };
            return Some(if self.negative { -magnitude } else { magnitude });
        }
        let sign = if self.negative { "-" } else { "" };
        format!("{sign}{}e{}", self.digits, i64::from(unit.shift()) - i64::from(self.scale)).parse().ok()
    }

    /// A count as a number.
    pub(super) fn whole(count: u64) -> Self {
        Self { negative: false, digits: u128::from(count), scale: 0 }
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

/// The value of eight digits, the first one in the lowest byte, each as 0 to 9.
#[inline]
const fn eight_digits(digits: u64) -> u64 {
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff
}

/// The high bit of each byte that is no digit, of bytes from which the digit zero was taken (by exclusive or).
#[inline]
const fn no_digits(bytes: u64) -> u64 {
    (((bytes & 0x7f7f_7f7f_7f7f_7f7f) + 0x7676_7676_7676_7676) | bytes) & 0x8080_8080_8080_8080
}

const ZEROS: u64 = 0x3030_3030_3030_3030;

/// Reads a count of at most seven digits from the start of `text`, eight bytes at once; gives it and the bytes it took.
/// `None` also where fewer than eight bytes are left: [`take_count`] reads every count.
#[inline]
pub(super) fn take_short(text: &[u8]) -> Option<(u64, usize)> {
    let bytes = u64::from_le_bytes(*text.first_chunk()?) ^ ZEROS;
    let end = no_digits(bytes).trailing_zeros() & !7;
    if end == 0 || end == 64 {
        return None;
    }
    Some((eight_digits(bytes << (64 - end)), (end / 8) as usize))
}

/// A blank or tab and six digits: the usual column of a histogram row.
#[inline]
pub(super) fn six(column: [u8; 7]) -> Option<u64> {
    let [blank, a, b, c, d, e, f] = column;
    // Leading zeros make it eight.
    let bytes = u64::from_le_bytes([b'0', b'0', a, b, c, d, e, f]) ^ ZEROS;
    (matches!(blank, b' ' | b'\t') && no_digits(bytes) == 0).then(|| eight_digits(bytes))
}

/// Eight characters that hold a count behind blanks (`%8d`).
#[inline]
pub(super) fn padded(field: [u8; 8]) -> Option<u64> {
    const BLANKS: u64 = 0x2020_2020_2020_2020;
    let bytes = u64::from_le_bytes(field);
    // The lowest byte that is no blank begins the digits.
    let from = (bytes ^ BLANKS).trailing_zeros() & !7;
    if from == 64 {
        return None;
    }
    let digits = (bytes ^ ZEROS) >> from << from;
    (no_digits(digits) == 0).then(|| eight_digits(digits))
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
            (b" 012345", Some(12_345)),
            (b"\t999999", Some(999_999)),
            (b"\t000000", Some(0)),
            (b"\t00000a", None),
            (b"\t00000:", None),
            (b"\t00000/", None),
            (b"\t0000\xb01", None),
            (b"0012345", None),
        ] {
            assert_eq!(six(*text), expected, "{}", String::from_utf8_lossy(text));
        }
        for (text, expected) in [
            (&b"0\t000000"[..], Some((0, 1))),
            (b"9999999 x", Some((9_999_999, 7))),
            (b"12345678", None),
            (b"12 4567", None),
            (b" 1234567", None),
            (b"12\xb0\x00-:/5", Some((12, 2))),
        ] {
            assert_eq!(take_short(text), expected, "{}", String::from_utf8_lossy(text));
        }
        for (text, expected) in [
            (b"       0", Some(0)),
            (b"      -5", None),
            (b"12345678", Some(12_345_678)),
            (b"  1 2345", None),
            (b"        ", None),
            (b"     12 ", None),
            (b"    !123", None),
        ] {
            assert_eq!(padded(*text), expected, "{}", String::from_utf8_lossy(text));
        }
    }
}
