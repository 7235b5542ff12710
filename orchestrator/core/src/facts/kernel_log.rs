//! The kernel log.

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// Time on the log's clock, in ns since boot; absent without time stamps.
    /// It is `local_clock`, near `CLOCK_MONOTONIC` but stopped in suspend and off by up to some ms.
    pub at_ns: Option<u64>,
    /// Severity 0 (emergency) to 7 (debug); absent in `dmesg` output.
    pub level: Option<u8>,
    /// Text of the message.
    pub text: String,
}

/// Reads lines of syslog(2), `<6>[    5.140900] text`, or of `dmesg`, which leaves the severity out.
pub(super) fn parse(text: &str) -> Vec<LogLine> {
    text.lines().filter(|line| !line.is_empty()).map(line).collect()
}

fn line(line: &str) -> LogLine {
    let (level, rest) = match line.strip_prefix('<').and_then(|l| l.split_once('>')) {
        // Facility in the higher bits.
        Some((priority, rest)) => (priority.parse::<u32>().ok().and_then(|p| u8::try_from(p % 8).ok()), rest),
        None => (None, line),
    };
    match stamped(rest) {
        Some((at_ns, text)) => LogLine { at_ns: Some(at_ns), level, text: text.to_owned() },
        None => LogLine { at_ns: None, level, text: rest.to_owned() },
    }
}

fn stamped(line: &str) -> Option<(u64, &str)> {
    let (stamp, text) = line.strip_prefix('[')?.split_once(']')?;
    let (seconds, fraction) = stamp.trim().split_once('.')?;
    let seconds: u64 = seconds.parse().ok()?;
    let fraction_ns: u64 = format!("{fraction:0<9}").get(..9)?.parse().ok()?;
    let at_ns = seconds.checked_mul(1_000_000_000)?.checked_add(fraction_ns)?;
    Some((at_ns, text.strip_prefix(' ').unwrap_or(text)))
}
