//! oslat's text table: a column for each CPU, a row for each bucket; the last bucket also counts what lies beyond.

use super::collect::{Context, Family};
use super::line::Line;
use super::measurement::{Kind, Measurement, Thread};
use super::number::{Decimal, Unit, count, words};

/// More CPUs than any machine has.
const MAX_CPUS: usize = 8192;

/// Reads tables.
#[derive(Debug, Default)]
pub(super) struct Oslat {
    version: Option<String>,
    head: Option<u64>,
    run: Option<Run>,
}

#[derive(Debug)]
struct Run {
    line: u64,
    threads: Vec<Thread>,
    last_edge: Option<u64>,
    width: Option<u64>,
    /// A row is missing before this line.
    gap: Option<u64>,
    with_overflow: bool,
    statistics: u8,
    priority: Option<u64>,
    damaged: Option<(u64, u64)>,
}

impl Run {
    fn damage(&mut self, line: u64) {
        self.damaged.get_or_insert((0, line)).0 += 1;
    }

    /// `    001 (us):\t 426829052 426240622`, the last one ending in `(including overflows)`.
    fn bucket(&mut self, label: &[u8], values: &[u8], line: u64, context: &mut Context) {
        let edge =
            Decimal::parse(label.strip_suffix(b"(us)").unwrap_or(label)).and_then(|edge| edge.nanoseconds(Unit::Micro));
        let overflow = values.ends_with(b"(including overflows)");
        let values = values.strip_suffix(b"(including overflows)").unwrap_or(values);
        let counts: Option<Vec<u64>> = words(values).take(MAX_CPUS + 1).map(count).collect();
        let edge = edge
            .and_then(|edge| u64::try_from(edge).ok())
            .filter(|edge| self.last_edge.is_none_or(|last| *edge > last));
        let (Some(edge), Some(counts)) = (edge, counts.filter(|counts| counts.len() == self.threads.len())) else {
            return self.damage(line);
        };
        // All buckets are printed, the first one begins at one width.
        let step = edge - self.last_edge.unwrap_or(0);
        if *self.width.get_or_insert(step) != step {
            self.gap.get_or_insert(line);
        }
        self.width = self.width.map(|width| width.min(step));
        self.last_edge = Some(edge);
        self.with_overflow |= overflow;
        if !context.room_for_bins(counts.iter().filter(|n| **n > 0).count()) {
            return;
        }
        for (thread, n) in self.threads.iter_mut().zip(counts) {
            if overflow {
                thread.overflow = Some(n);
            } else if let Some(binned) = thread.binned.checked_add(n).filter(|_| n > 0) {
                thread.binned = binned;
                thread.bins.push((edge, n));
            }
        }
    }

    /// `     Minimum:\t 1 1 1 (us)`
    fn statistic(&mut self, name: &[u8], values: &[u8], line: Line<'_>) {
        // The unit ends the line: without it the last number may be cut.
        if !line.ended && !values.ends_with(b"(us)") {
            return self.damage(line.number);
        }
        let values = values.strip_suffix(b"(us)").unwrap_or(values);
        let values: Vec<Option<Decimal>> = words(values).take(MAX_CPUS + 1).map(Decimal::parse).collect();
        if values.len() != self.threads.len() || values.contains(&None) {
            return self.damage(line.number);
        }
        self.statistics = self.statistics.saturating_add(1);
        for (thread, value) in self.threads.iter_mut().zip(values) {
            let ns = value.and_then(|value| value.nanoseconds(Unit::Micro));
            match name {
                b"Minimum" => thread.min_ns = ns,
                b"Maximum" => thread.max_ns = ns,
                _ => thread.mean_ns = value.and_then(|value| value.nanoseconds_f64(Unit::Micro)),
            }
        }
    }
}

impl Oslat {
    fn close(&mut self, context: &mut Context) {
        let Some(run) = self.run.take() else { return };
        let mut measurement = Measurement::new("oslat", "oslat-text", Kind::Noise, run.line);
        measurement.tool_version = self.version.take();
        measurement.priority = run.priority;
        measurement.threads = run.threads;
        let width = run.width.unwrap_or(1000);
        for thread in &mut measurement.threads {
            thread.bin_width_ns = run.last_edge.map(|_| width);
        }
        if let Some((lines, first)) = run.damaged {
            measurement.incomplete(format!("{lines} damaged lines are left out, the first at line {first}"));
        }
        if let Some(line) = run.gap {
            measurement.incomplete(format!("line {line}: a bucket before this one is missing"));
        }
        if run.statistics < 3 {
            measurement.incomplete("minimum, average and maximum are missing: the file is cut");
        } else if !run.with_overflow {
            measurement.warn("the last bucket is not marked: it may hold larger values");
        }
        context.found(measurement);
    }
}

impl Family for Oslat {
    fn line(&mut self, line: Line<'_>, context: &mut Context) -> bool {
        let text = line.text;
        if let Some(version) = text.strip_prefix(b"oslat V ") {
            self.close(context);
            self.version = Some(super::number::shown(version));
            self.head = Some(line.number);
            return true;
        }
        let Some(colon) = memchr::memchr(b':', text) else { return false };
        let (name, values) = (text[..colon].trim_ascii(), text[colon + 1..].trim_ascii());
        match name {
            b"Core" if self.run.is_none() || self.head.is_some() => {
                let cpus: Option<Vec<u64>> = words(values).take(MAX_CPUS).map(count).collect();
                let Some(cpus) = cpus.filter(|cpus| !cpus.is_empty()) else { return false };
                let threads = (0u64..).zip(cpus).map(|(number, cpu)| Thread { cpu: Some(cpu), ..Thread::new(number) });
                self.run = Some(Run {
                    line: self.head.take().unwrap_or(line.number),
                    threads: threads.collect(),
                    last_edge: None,
                    width: None,
                    gap: None,
                    with_overflow: false,
                    statistics: 0,
                    priority: None,
                    damaged: None,
                });
                return true;
            }
            _ => {}
        }
        let Some(run) = &mut self.run else {
            return self.head.is_some() && text.starts_with(b"Test ");
        };
        match name {
            b"Minimum" | b"Average" | b"Maximum" => run.statistic(name, values, line),
            b"CPU Freq" | b"Counter Freq" | b"Max-Min" | b"Duration" => {}
            _ if name.ends_with(b"(us)") => run.bucket(name.trim_ascii(), values, line.number, context),
            _ => return false,
        }
        true
    }

    fn finish(&mut self, context: &mut Context) {
        if self.run.is_none()
            && let Some(line) = self.head
        {
            context.no_data(line, "oslat began, but printed no table");
        }
        self.close(context);
    }
}
