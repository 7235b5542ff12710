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

/// Reads `/dev/kmsg` records (`6,339,5140900,-;text`, continuation lines indented) or `dmesg` lines (`[    5.140900] text`).
pub(super) fn parse(text: &str) -> Vec<LogLine> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with(' ')).map(line).collect()
}

fn line(line: &str) -> LogLine {
    kmsg(line).or_else(|| dmesg(line)).unwrap_or_else(|| LogLine { at_ns: None, level: None, text: line.to_owned() })
}

fn kmsg(line: &str) -> Option<LogLine> {
    let (prefix, text) = line.split_once(';')?;
    let mut fields = prefix.split(',');
    let priority: u32 = fields.next()?.parse().ok()?;
    let _sequence: u64 = fields.next()?.parse().ok()?;
    let at_us: u64 = fields.next()?.parse().ok()?;
    let level = u8::try_from(priority % 8).ok();
    Some(LogLine { at_ns: at_us.checked_mul(1000), level, text: text.to_owned() })
}

fn dmesg(line: &str) -> Option<LogLine> {
    let (level, rest) = match line.strip_prefix('<').and_then(|l| l.split_once('>')) {
        Some((priority, rest)) => (priority.parse::<u32>().ok().and_then(|p| u8::try_from(p % 8).ok()), rest),
        None => (None, line),
    };
    let (stamp, text) = rest.strip_prefix('[')?.split_once(']')?;
    let (seconds, fraction) = stamp.trim().split_once('.')?;
    let seconds: u64 = seconds.parse().ok()?;
    let fraction_ns: u64 = format!("{fraction:0<9}").get(..9)?.parse().ok()?;
    let at_ns = seconds.checked_mul(1_000_000_000)?.checked_add(fraction_ns)?;
    Some(LogLine { at_ns: Some(at_ns), level, text: text.strip_prefix(' ').unwrap_or(text).to_owned() })
}
