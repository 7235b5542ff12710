//! Durations as people write them: `12h`, `1ms`, `1d 12h`, `1.5s`.

use jiff::{Span, SpanRelativeTo};

/// One microsecond, in ns.
pub const US: u64 = 1_000;
/// One millisecond, in ns.
pub const MS: u64 = 1_000_000;
/// One second, in ns.
pub const SECOND: u64 = 1_000_000_000;
/// One minute, in ns.
pub const MINUTE: u64 = 60 * SECOND;
/// One hour, in ns.
pub const HOUR: u64 = 60 * MINUTE;
/// One day, in ns.
pub const DAY: u64 = 24 * HOUR;
/// 365 days, in ns.
pub const YEAR: u64 = 365 * DAY;

/// A duration's text in ns; negative where the text says so. Days have 24 hours. `None`: no duration, or months and years, whose length varies.
pub fn parse_duration(text: &str) -> Option<i128> {
    let span: Span = text.trim().parse().ok()?;
    let duration = span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?;
    Some(duration.as_nanos())
}

/// The shortest exact text of a duration that [`parse_duration`] reads back: `1500us`, `12h`, `1d 12h`.
pub fn format_duration(ns: u64) -> String {
    const UNITS: [(&str, u64); 7] =
        [("d", DAY), ("h", HOUR), ("m", MINUTE), ("s", SECOND), ("ms", MS), ("us", US), ("ns", 1)];
    if ns == 0 {
        return "0s".to_owned();
    }
    // Below a minute one unit is enough: an interval of 1500us is not "1ms 500us".
    if ns < MINUTE {
        let (name, unit) = UNITS.iter().skip(3).find(|(_, unit)| ns.is_multiple_of(*unit)).unwrap_or(&("ns", 1));
        return format!("{}{name}", ns / unit);
    }
    let mut rest = ns;
    let mut words = Vec::new();
    for (name, unit) in UNITS {
        if rest >= unit {
            words.push(format!("{}{name}", rest / unit));
            rest %= unit;
        }
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_engineers_write() {
        for (text, ns) in [
            ("12h", Some(12 * HOUR)),
            ("1ms", Some(MS)),
            ("250us", Some(250 * US)),
            ("250µs", Some(250 * US)),
            ("500ns", Some(500)),
            ("3d", Some(3 * DAY)),
            ("1w", Some(7 * DAY)),
            ("1d 12h", Some(36 * HOUR)),
            ("1.5s", Some(1500 * MS)),
            ("10 s", Some(10 * SECOND)),
            ("90", None),
            ("", None),
            ("1y", None),
            ("12 parsecs", None),
            ("99999999999999999999h", None),
        ] {
            assert_eq!(parse_duration(text), ns.map(i128::from), "{text}");
        }
        assert_eq!(parse_duration("-1s"), Some(-i128::from(SECOND)));
    }

    #[test]
    fn writes_the_shortest() {
        for (ns, text) in [
            (0, "0s"),
            (1500 * US, "1500us"),
            (MS, "1ms"),
            (90 * SECOND, "1m 30s"),
            (12 * HOUR, "12h"),
            (36 * HOUR, "1d 12h"),
            (1, "1ns"),
        ] {
            assert_eq!(format_duration(ns), text);
        }
    }

    proptest! {
        #[test]
        fn text_reads_back(ns in 0..10 * YEAR) {
            prop_assert_eq!(parse_duration(&format_duration(ns)), Some(i128::from(ns)));
        }

        #[test]
        fn no_text_panics(text in ".{0,40}") {
            let _ = parse_duration(&text);
        }
    }
}
