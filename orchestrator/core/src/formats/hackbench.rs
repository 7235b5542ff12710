//! hackbench: how long a number of messages took.

use super::collect::{Context, Family};
use super::line::Line;
use super::measurement::{Kind, Measurement, Thread};
use super::number::{Decimal, Unit};

/// Reads runs; one log often holds many.
#[derive(Debug, Default)]
pub(super) struct Hackbench {
    /// First line of a run that has no time yet.
    began: Option<u64>,
}

impl Family for Hackbench {
    fn line(&mut self, line: Line<'_>, context: &mut Context) -> bool {
        let text = line.text;
        if text.starts_with(b"Running in ") && memchr::memmem::find(text, b" mode with ").is_some() {
            self.began = Some(line.number);
            return true;
        }
        let (Some(began), Some(time)) = (self.began, text.strip_prefix(b"Time:")) else {
            return self.began.is_some() && text.starts_with(b"Each sender will pass ");
        };
        // Printed with three decimals: fewer at the end of a file are a cut number.
        let time = time.trim_ascii();
        let whole = line.ended || time.iter().rev().take_while(|byte| byte.is_ascii_digit()).count() >= 3;
        let Some(time) = Decimal::parse(time).filter(|time| whole && !time.is_negative()) else { return false };
        let mut measurement = Measurement::new("hackbench", "hackbench-text", Kind::Load, began);
        let ns = time.nanoseconds(Unit::Second);
        measurement.threads.push(Thread {
            min_ns: ns,
            mean_ns: time.nanoseconds_f64(Unit::Second),
            max_ns: ns,
            ..Thread::new(0)
        });
        context.found(measurement);
        self.began = None;
        true
    }

    fn finish(&mut self, context: &mut Context) {
        if let Some(line) = self.began.take() {
            context.no_data(line, "hackbench began, but its time is not there");
        }
    }
}
