//! The rt-tests with a sender and a receiver: pmqtest, ptsematest, svsematest, sigwaittest.

use super::collect::{Context, Family};
use super::line::Line;
use super::measurement::{Kind, Measurement, Thread};
use super::number::{Decimal, Unit, after, take_count};
use std::collections::BTreeMap;

/// The tools; all but the first print the same lines.
const TOOLS: [&str; 4] = ["pmqtest", "ptsematest", "svsematest", "sigwaittest"];
/// More pairs than any machine runs.
const MAX_PAIRS: usize = 4096;

/// Reads pair lines.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    run: Option<Run>,
}

#[derive(Debug)]
struct Run {
    line: u64,
    tool: Option<&'static str>,
    pairs: BTreeMap<u64, Pair>,
    damaged: Option<(u64, u64)>,
}

#[derive(Debug, Default)]
struct Pair {
    id: Option<u64>,
    priority: Option<u64>,
    interval_us: Option<u64>,
    cpu: Option<u64>,
    timeouts: Option<u64>,
    cycles: Option<u64>,
    min: Option<Decimal>,
    avg: Option<Decimal>,
    max: Option<Decimal>,
}

/// A number after a name in a line.
fn field(text: &[u8], name: &[u8]) -> Option<u64> {
    let at = after(text, name)?;
    take_count(text[at..].trim_ascii_start()).map(|(value, _)| value)
}

impl Pair {
    /// `#0: ID1358, P1, CPU1, I1000; #1: ID1359, P1, CPU0, TO 0, Cycles 300`
    fn settings(&mut self, sender: &[u8], receiver: &[u8]) -> bool {
        self.id = field(sender, b"ID");
        self.priority = field(sender, b", P");
        self.interval_us = field(sender, b", I");
        self.cpu = field(receiver, b"CPU");
        self.timeouts = field(receiver, b"TO ");
        self.cycles = field(receiver, b"Cycles");
        self.cycles.is_some()
    }

    /// `#1 -> #0, Min    2, Cur   46, Avg   35, Max   80`
    fn values(&mut self, text: &[u8], ended: bool) -> bool {
        let value = |name: &[u8]| {
            let field = &text[after(text, name)?..];
            let blanks = field.iter().take_while(|byte| **byte == b' ').count();
            let (value, taken) = Decimal::take(&field[blanks..])?;
            let whole = ended || blanks + taken >= 5 || blanks + taken < field.len();
            whole.then_some(value)
        };
        self.min = value(b"Min");
        self.avg = value(b"Avg");
        self.max = value(b"Max");
        self.min.is_some() && self.max.is_some()
    }
}

impl Pairs {
    fn close(&mut self, context: &mut Context) {
        let Some(run) = self.run.take() else { return };
        let timeouts = run.pairs.values().any(|pair| pair.timeouts.is_some());
        let tool = run.tool.or_else(|| context.hinted(&TOOLS)).or(timeouts.then_some("pmqtest"));
        let mut measurement = Measurement::new(tool.unwrap_or("ptsematest"), "rt-tests-pairs", Kind::Latency, run.line);
        if tool.is_none() {
            measurement
                .warn("ptsematest, svsematest and sigwaittest print the same lines: which one it was is not stated");
        }
        let first = run.pairs.values().next();
        measurement.priority = first.and_then(|pair| pair.priority);
        measurement.interval_us = first.and_then(|pair| pair.interval_us);
        for (number, pair) in run.pairs {
            let mut thread = Thread { cpu: pair.cpu, cycles: pair.cycles, ..Thread::new(number) };
            if pair.cycles != Some(0) {
                thread.min_ns = pair.min.and_then(|min| min.nanoseconds(Unit::Micro));
                thread.mean_ns = pair.avg.and_then(|avg| avg.nanoseconds_f64(Unit::Micro));
                thread.max_ns = pair.max.and_then(|max| max.nanoseconds(Unit::Micro));
                if pair.max.is_none() {
                    measurement.incomplete(format!("pair {number}: the line with its values is missing or cut"));
                }
            }
            if pair.cycles.is_none() {
                measurement.incomplete(format!("pair {number}: the line with its cycles is missing"));
            }
            if let Some(timeouts) = pair.timeouts.filter(|timeouts| *timeouts > 0) {
                measurement.warn(format!("pair {number}: {timeouts} messages timed out"));
            }
            measurement.threads.push(thread);
        }
        if let Some((lines, first)) = run.damaged {
            measurement.incomplete(format!("{lines} damaged lines are left out, the first at line {first}"));
        }
        context.found(measurement);
    }

    fn pair(&mut self, number: u64, line: u64, context: &Context) -> Option<&mut Pair> {
        let run = self.run.get_or_insert_with(|| Run {
            line,
            tool: context.command(&TOOLS).map(|command| command.tool),
            pairs: BTreeMap::new(),
            damaged: None,
        });
        if run.pairs.len() >= MAX_PAIRS && !run.pairs.contains_key(&number) {
            return None;
        }
        Some(run.pairs.entry(number).or_default())
    }
}

impl Family for Pairs {
    fn line(&mut self, line: Line<'_>, context: &mut Context) -> bool {
        let Some(text) = line.text.strip_prefix(b"#") else { return false };
        let Some((number, taken)) = take_count(text) else { return false };
        let rest = &text[taken..];
        let good = if rest.starts_with(b": ID") {
            let Some(split) = memchr::memmem::find(rest, b"; #") else { return false };
            let (sender, receiver) = rest.split_at(split);
            let mut pair = Pair::default();
            let good = pair.settings(sender, receiver);
            let known = self.run.as_ref().and_then(|run| run.pairs.get(&(number / 2)));
            if known.is_some_and(|known| known.max.is_some() && (known.id != pair.id || known.cycles > pair.cycles)) {
                self.close(context);
            }
            if let Some(slot) = self.pair(number / 2, line.number, context) {
                *slot = pair;
            }
            good
        } else if let Some(target) = rest.strip_prefix(b" -> #") {
            let sender = take_count(target).map_or(number / 2, |(sender, _)| sender / 2);
            self.pair(sender, line.number, context).is_none_or(|pair| pair.values(target, line.ended))
        } else {
            return false;
        };
        if !good && let Some(run) = &mut self.run {
            run.damaged.get_or_insert((0, line.number)).0 += 1;
        }
        true
    }

    fn finish(&mut self, context: &mut Context) {
        self.close(context);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_a_pair() {
        let mut pair = Pair::default();
        assert!(pair.settings(b": ID1358, P1, CPU1, I1000", b"; #1: ID1359, P1, CPU0, TO 0, Cycles 300"));
        assert_eq!((pair.id, pair.priority, pair.interval_us, pair.cpu), (Some(1358), Some(1), Some(1000), Some(0)));
        assert_eq!((pair.timeouts, pair.cycles), (Some(0), Some(300)));
    }
}
