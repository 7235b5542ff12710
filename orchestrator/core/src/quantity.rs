//! Quantities as text for people. Campaign words and units, no locale.

use crate::latency::Value;

/// Sum that stays at the end of the range instead of passing it: figures come from boards.
pub(crate) fn total(values: impl IntoIterator<Item = u64>) -> u64 {
    values.into_iter().fold(0, u64::saturating_add)
}

/// `43,200,000`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Microseconds without the unit: whole where they are whole, else one decimal, rounded up in the last digit
/// (a latency must not look smaller than it was): `117`, `15.4`.
pub fn micros(ns: u64) -> String {
    let tenths = ns.div_ceil(100);
    match tenths % 10 {
        0 => (tenths / 10).to_string(),
        tenth => format!("{}.{tenth}", tenths / 10),
    }
}

/// `117 us`; from one second on as a duration.
pub fn latency(ns: u64) -> String {
    match ns {
        0..1_000_000_000 => format!("{} us", micros(ns)),
        _ => duration(ns),
    }
}

/// `117 us`, `> 200 us` where no upper bound is known, `≤ 16 us` where only that is.
pub fn value(value: Value) -> String {
    match value.at_most_ns {
        None => format!("> {}", latency(value.at_least_ns)),
        Some(ns) if value.is_exact() => latency(ns),
        Some(ns) => format!("≤ {}", latency(ns)),
    }
}

/// Two leading units: `12 h`, `1 h 5 min`, `2.5 s`, `20 ms`.
pub fn duration(ns: u64) -> String {
    const MS: u64 = 1_000_000;
    const S: u64 = 1000 * MS;
    let pair = |large: u64, large_unit: &str, small: u64, small_unit: &str| match small {
        0 => format!("{large} {large_unit}"),
        _ => format!("{large} {large_unit} {small} {small_unit}"),
    };
    match ns {
        _ if ns >= 86_400 * S => pair(ns / (86_400 * S), "d", ns / (3600 * S) % 24, "h"),
        _ if ns >= 3600 * S => pair(ns / (3600 * S), "h", ns / (60 * S) % 60, "min"),
        _ if ns >= 60 * S => pair(ns / (60 * S), "min", ns / S % 60, "s"),
        _ if ns >= S => decimal(ns, S, "s"),
        _ if ns >= MS => decimal(ns, MS, "ms"),
        _ => decimal(ns, 1000, "us"),
    }
}

fn decimal(ns: u64, unit_ns: u64, unit: &str) -> String {
    let tenths = u128::from(ns) * 10 / u128::from(unit_ns);
    match tenths % 10 {
        0 => format!("{} {unit}", tenths / 10),
        tenth => format!("{}.{tenth} {unit}", tenths / 10),
    }
}

/// `99.8 %`, rounded down: 99.97 % must not read as 100 %.
pub fn percent(share: f64) -> String {
    let tenths = (share * 1000.0 + 1e-9).floor() / 10.0;
    format!("{tenths:.1} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_as_a_person_writes() {
        assert_eq!([0, 999, 1000, 43_200_000].map(count), ["0", "999", "1,000", "43,200,000"]);
        assert_eq!([0, 1, 117_000, 15_301, 15_999].map(micros), ["0", "0.1", "117", "15.4", "16"]);
        assert_eq!(
            [
                43_200_000_000_000,
                3_900_000_000_000,
                61_000_000_000,
                2_550_000_000,
                20_000_000,
                1_500,
                90_000_000_000_000
            ]
            .map(duration),
            ["12 h", "1 h 5 min", "1 min 1 s", "2.5 s", "20 ms", "1.5 us", "1 d 1 h"]
        );
        assert_eq!([0.9997, 1.0, 0.0, 0.29].map(percent), ["99.9 %", "100.0 %", "0.0 %", "29.0 %"]);
        assert_eq!(value(Value { at_least_ns: 200_000, at_most_ns: None }), "> 200 us");
    }
}
