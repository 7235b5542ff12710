//! rteval's text report: statistics of the system and of each CPU.

use super::collect::{Context, Family};
use super::command::Command;
use super::line::Line;
use super::measurement::{Kind, Measurement, Thread};
use super::number::{Decimal, Unit, after, count, take_count, words};

/// More CPUs than any machine has.
const MAX_CPUS: usize = 8192;

/// Reads reports.
#[derive(Debug, Default)]
pub(super) struct RtevalText {
    version: Option<String>,
    head: Option<u64>,
    interval_us: Option<u64>,
    run: Option<Run>,
}

#[derive(Debug)]
struct Run {
    line: u64,
    section: Section,
    system: Thread,
    cores: Vec<Thread>,
    priority: Option<u64>,
    damaged: Option<(u64, u64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    System,
    Core,
}

impl Run {
    fn new(line: u64) -> Self {
        Self {
            line,
            section: Section::System,
            system: Thread::new(0),
            cores: Vec::new(),
            priority: None,
            damaged: None,
        }
    }

    /// `Samples:           6005785`, `Mean:  5.12us`; the median is not read (rteval prints a wrong one).
    fn statistic(&mut self, name: &[u8], value: &[u8], line: Line<'_>) -> bool {
        let thread = match self.section {
            Section::Core => self.cores.last_mut(),
            Section::System => Some(&mut self.system),
        };
        let Some(thread) = thread else { return false };
        let number = Decimal::take(value);
        let unit = number.map_or(Unit::Micro, |(_, taken)| Unit::named(&value[taken..]).unwrap_or(Unit::Micro));
        // Values end with their unit; without it a last line is cut.
        let number = number.filter(|(_, taken)| line.ended || *taken < value.len()).map(|(number, _)| number);
        let ns = number.and_then(|number| number.nanoseconds(unit));
        match name {
            b"Samples" => thread.cycles = number.and_then(Decimal::count),
            b"Min" => thread.min_ns = ns,
            b"Max" => thread.max_ns = ns,
            b"Mean" => thread.mean_ns = number.and_then(|number| number.nanoseconds_f64(unit)),
            b"Median" | b"Mode" | b"Range" | b"Mean Absolute Dev" | b"Std.dev" => return true,
            _ => return false,
        }
        if number.is_none() {
            self.damaged.get_or_insert((0, line.number)).0 += 1;
        }
        true
    }
}

impl RtevalText {
    fn close(&mut self, context: &mut Context) {
        let Some(mut run) = self.run.take() else { return };
        let mut measurement = Measurement::new("rteval", "rteval-text", Kind::Latency, self.head.unwrap_or(run.line));
        measurement.tool_version.clone_from(&self.version);
        measurement.interval_us = self.interval_us;
        measurement.priority = run.priority;
        if let Some((lines, first)) = run.damaged {
            measurement.incomplete(format!("{lines} damaged values, the first at line {first}"));
        }
        let sum: u128 = run.cores.iter().filter_map(|core| core.cycles).map(u128::from).sum();
        if run.cores.is_empty() {
            measurement.incomplete("only the statistics over all CPUs are there");
            run.cores.push(run.system);
        } else if let Some(system) = run.system.cycles.filter(|system| u128::from(*system) != sum) {
            measurement.incomplete(format!("the system has {system} samples, the CPUs listed have {sum}"));
        }
        for core in &run.cores {
            let missing = core.min_ns.is_none() || core.mean_ns.is_none() || core.max_ns.is_none();
            if core.cycles != Some(0) && missing {
                measurement.incomplete(format!("{}: its minimum, mean or maximum is missing", core.name()));
            }
        }
        measurement.threads = run.cores;
        context.found(measurement);
    }

    fn core(&mut self, line: Line<'_>) -> bool {
        let Some(rest) = line.text.strip_prefix(b"CPU core ") else { return false };
        let Some((cpu, _)) = take_count(rest) else { return false };
        let run = self.run.get_or_insert_with(|| Run::new(line.number));
        run.section = Section::Core;
        if run.cores.len() < MAX_CPUS {
            run.cores.push(Thread { cpu: Some(cpu), ..Thread::new(cpu) });
        }
        if let Some(at) = after(rest, b"Priority:") {
            run.priority = run.priority.or(words(&rest[at..]).next().and_then(count));
        }
        true
    }
}

impl Family for RtevalText {
    fn line(&mut self, line: Line<'_>, context: &mut Context) -> bool {
        let text = line.text;
        if let Some(version) = text.strip_prefix(b"rteval (v") {
            self.close(context);
            let version = version.split(|byte| *byte == b')').next().unwrap_or_default();
            self.version = Some(super::number::shown(version));
            self.head = Some(line.number);
            return true;
        }
        let system = text == b"System:" || (self.head.is_some() && text.starts_with(b"System:"));
        if system || text.starts_with(b"Measurement profile ") {
            self.close(context);
            if system {
                self.run = Some(Run::new(line.number));
            }
            return true;
        }
        if let (Some(_), Some(command)) = (self.head, text.strip_prefix(b"Command:")) {
            self.interval_us = Command::find(command).and_then(|command| command.number('i', "interval"));
            return true;
        }
        if self.core(line) {
            return true;
        }
        let Some(run) = &mut self.run else { return false };
        let Some(colon) = memchr::memchr(b':', text) else { return false };
        text == b"Statistics:" || run.statistic(&text[..colon], text[colon + 1..].trim_ascii(), line)
    }

    fn finish(&mut self, context: &mut Context) {
        if self.run.is_none()
            && let Some(line) = self.head
        {
            context.no_data(line, "an rteval report without a latency statistic");
        }
        self.close(context);
    }
}
