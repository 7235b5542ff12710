//! LAVA and Linaro test-definitions: one result line for each number.
//!
//! `t0-max-latency pass 88 us`, LAVA's own signals in a job log, and the `Test Case` lines of its result mails.

use super::collect::{Context, Family};
use super::line::Line;
use super::measurement::{Kind, Layer, Measurement, Thread};
use super::number::{Decimal, Unit, count, words};
use std::collections::BTreeMap;

/// Test names that say which tool the numbers are from.
const TOOLS: [&str; 11] = [
    "rtla-timerlat",
    "rtla-osnoise",
    "cyclictest",
    "cyclicdeadline",
    "signaltest",
    "pmqtest",
    "ptsematest",
    "svsematest",
    "sigwaittest",
    "oslat",
    "jitterdebugger",
];
/// More threads than any machine runs.
const MAX_THREADS: usize = 4096;
/// Mail lines are folded at 76 characters with a trailing `=`.
const FOLDED: usize = 70;

/// Reads result lines.
#[derive(Debug, Default)]
pub(super) struct Lava {
    run: Option<Run>,
    /// `Test Case <id>` whose `Measurement:` follows.
    case: Option<Vec<u8>>,
    /// Start of a folded mail line.
    folded: Option<Vec<u8>>,
    tool: Option<&'static str>,
    head: Option<u64>,
}

#[derive(Debug)]
struct Run {
    line: u64,
    source: Source,
    threads: BTreeMap<(u64, Option<Layer>), Values>,
    tool: Option<&'static str>,
    failed: bool,
    damaged: Option<(u64, u64)>,
}

/// The three ways a result is written; a job log may hold the same one in two of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Line,
    Signal,
    Mail,
}

#[derive(Debug, Default, Clone, PartialEq)]
struct Values {
    min: Option<(Decimal, Unit)>,
    avg: Option<(Decimal, Unit)>,
    max: Option<(Decimal, Unit)>,
}

/// A thread by its number, and the layer where it is named.
type Name = (u64, Option<Layer>);

/// `t3-max-latency` → (3, "max"); without a thread's name it is thread 0; `irq3-…` is timerlat's interrupt.
fn latency_id(id: &[u8]) -> Option<(Name, &[u8])> {
    let rest = id.strip_suffix(b"-latency")?;
    let dash = memchr::memrchr(b'-', rest).map_or(0, |at| at + 1);
    let (before, which) = (&rest[..dash.saturating_sub(1)], &rest[dash..]);
    if !matches!(which, b"min" | b"avg" | b"max") {
        return None;
    }
    let name = before.rsplit(|byte| matches!(byte, b'-' | b'_')).next().unwrap_or_default();
    let digits = name.iter().position(u8::is_ascii_digit).map_or(&b""[..], |at| &name[at..]);
    let layer = name.starts_with(b"irq").then_some(Layer::Irq);
    Some(((count(digits).unwrap_or(0), layer), which))
}

fn tool_of(id: &[u8]) -> Option<&'static str> {
    let name = id.rsplit(|byte| *byte == b'_').next().unwrap_or(id);
    TOOLS.iter().copied().find(|tool| tool.as_bytes() == name)
}

fn is_result(word: &[u8]) -> bool {
    matches!(word, b"pass" | b"fail" | b"skip" | b"unknown")
}

fn is_id(word: &[u8]) -> bool {
    word.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

impl Lava {
    fn close(&mut self, context: &mut Context) {
        let Some(run) = self.run.take() else { return };
        let tool = run.tool.or(self.tool).unwrap_or("lava");
        let mut measurement = Measurement::new(tool, "lava-lines", Kind::Latency, run.line);
        for ((number, layer), values) in run.threads {
            let ns = |value: Option<(Decimal, Unit)>| value.and_then(|(value, unit)| value.nanoseconds(unit));
            let mut thread = Thread { layer, ..Thread::new(number) };
            thread.min_ns = ns(values.min);
            thread.mean_ns = values.avg.and_then(|(avg, unit)| avg.nanoseconds_f64(unit));
            thread.max_ns = ns(values.max);
            if thread.max_ns.is_none() {
                measurement.incomplete(format!("{}: no maximum", thread.name()));
            }
            measurement.threads.push(thread);
        }
        if run.failed {
            measurement.warn("a result of this test is not a pass");
        }
        if let Some((lines, first)) = run.damaged {
            measurement.incomplete(format!("{lines} damaged values are left out, the first at line {first}"));
        }
        context.found(measurement);
    }

    fn value(&mut self, id: &[u8], value: &[u8], unit: &[u8], source: Source, line: u64, context: &mut Context) {
        self.head.get_or_insert(line);
        let Some((thread, which)) = latency_id(id) else { return };
        if self.run.as_ref().is_some_and(|run| run.source != source) {
            return;
        }
        let number = Decimal::parse(value).zip(Unit::named(unit));
        let taken = |values: &Values| match which {
            b"min" => values.min.is_some(),
            b"avg" => values.avg.is_some(),
            _ => values.max.is_some(),
        };
        if self.run.as_ref().and_then(|run| run.threads.get(&thread)).is_some_and(taken) {
            self.close(context);
        }
        let run = self.run.get_or_insert_with(|| Run {
            line,
            source,
            threads: BTreeMap::new(),
            tool: None,
            failed: false,
            damaged: None,
        });
        if number.is_none() {
            run.damaged.get_or_insert((0, line)).0 += 1;
        }
        if run.threads.len() >= MAX_THREADS && !run.threads.contains_key(&thread) {
            return;
        }
        let values = run.threads.entry(thread).or_default();
        match which {
            b"min" => values.min = number,
            b"avg" => values.avg = number,
            _ => values.max = number,
        }
    }

    fn result(&mut self, id: &[u8], result: &[u8]) {
        if let Some(tool) = tool_of(id) {
            match &mut self.run {
                Some(run) => run.tool = run.tool.or(Some(tool)),
                None => self.tool = Some(tool),
            }
        }
        if matches!(result, b"fail" | b"failed")
            && (tool_of(id).is_some() || latency_id(id).is_some())
            && let Some(run) = &mut self.run
        {
            run.failed = true;
        }
    }

    /// `<id> pass|fail|skip [<value> <unit>]`
    fn result_line(&mut self, line: Line<'_>, context: &mut Context) -> bool {
        let mut words = words(line.text);
        let (Some(id), Some(result)) = (words.next(), words.next()) else { return false };
        if !is_result(result) || !is_id(id) {
            return false;
        }
        match (words.next(), words.next(), words.next()) {
            (None, ..) if self.head.is_some() || tool_of(id).is_some() => {
                self.head.get_or_insert(line.number);
            }
            (Some(value), Some(unit), None)
                if value.first().is_some_and(|byte| byte.is_ascii_digit() || *byte == b'-') =>
            {
                self.value(id, value, unit, Source::Line, line.number, context);
            }
            _ => return false,
        }
        self.result(id, result);
        true
    }

    /// `<LAVA_SIGNAL_TESTCASE TEST_CASE_ID=t0-max-latency RESULT=pass UNITS=us MEASUREMENT=88>`
    fn signal(&mut self, line: Line<'_>, context: &mut Context) -> bool {
        let Some(at) = memchr::memmem::find(line.text, b"LAVA_SIGNAL_TESTCASE") else { return false };
        let field = |name: &[u8]| {
            words(&line.text[at..])
                .find_map(|word| word.strip_prefix(name))
                .map(|value| value.strip_suffix(b">").unwrap_or(value))
        };
        let Some(id) = field(b"TEST_CASE_ID=") else { return true };
        if let (Some(value), Some(unit)) = (field(b"MEASUREMENT="), field(b"UNITS=")) {
            self.value(id, value, unit, Source::Signal, line.number, context);
        }
        self.result(id, field(b"RESULT=").unwrap_or_default());
        true
    }

    /// `Test Case t0-max-latency: Test passed`, then `Measurement: 88.0 us`.
    fn mail(&mut self, text: &[u8], line: u64, context: &mut Context) -> bool {
        if let Some(rest) = text.strip_prefix(b"Test Case ") {
            let Some(colon) = memchr::memchr(b':', rest) else { return false };
            let (id, result) = (&rest[..colon], rest[colon + 1..].trim_ascii());
            self.head.get_or_insert(line);
            self.result(id, result.strip_prefix(b"Test ").unwrap_or(result));
            self.case = Some(id.to_vec());
            return true;
        }
        let Some(rest) = text.strip_prefix(b"Measurement:") else { return false };
        let Some(id) = self.case.take() else { return false };
        let mut words = words(rest);
        if let (Some(value), Some(unit)) = (words.next(), words.next()) {
            self.value(&id, value, unit, Source::Mail, line, context);
        }
        true
    }
}

impl Family for Lava {
    fn line(&mut self, line: Line<'_>, context: &mut Context) -> bool {
        if let Some(mut text) = self.folded.take() {
            text.extend_from_slice(line.text);
            if self.mail(&text, line.number, context) {
                return true;
            }
        }
        if line.text.len() >= FOLDED && line.text.len() <= 2 * FOLDED && line.text.ends_with(b"=") {
            self.folded = Some(line.text[..line.text.len() - 1].to_vec());
            return false;
        }
        if line.text.first().is_none_or(|byte| byte.is_ascii_digit() && line.text.contains(&b'\t')) {
            return false;
        }
        self.mail(line.text, line.number, context) || self.signal(line, context) || self.result_line(line, context)
    }

    fn finish(&mut self, context: &mut Context) {
        if self.run.is_none()
            && let Some(line) = self.head
        {
            context.no_data(line, "LAVA result lines, but none with a latency");
        }
        self.close(context);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_latencies() {
        for (id, expected) in [
            ("t0-min-latency", Some((0, "min"))),
            ("irq3-avg-latency", Some((3, "avg"))),
            ("cyclictest_t12-max-latency", Some((12, "max"))),
            ("max-latency", Some((0, "max"))),
            ("t0-max-latency-cycle", None),
            ("inversion", None),
        ] {
            let found = latency_id(id.as_bytes())
                .map(|((thread, _), which)| (thread, String::from_utf8_lossy(which).into_owned()));
            assert_eq!(found, expected.map(|(thread, which)| (thread, which.to_owned())), "{id}");
        }
    }
}
