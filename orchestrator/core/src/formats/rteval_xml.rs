//! rteval's `summary.xml`.

use super::Reason;
use super::command::Command;
use super::measurement::{Kind, Measurement, Thread};
use super::number::{Decimal, Unit, count};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use std::io::BufRead;

/// Larger summaries are refused: 128 CPUs with 10,000 buckets need a quarter of it.
const MAX_BYTES: u64 = 256 << 20;
/// More CPUs than any machine has, and more buckets than one CPU has.
const MAX_THREADS: usize = 8192;
const MAX_BINS: usize = 4 << 20;
const MAX_DEPTH: usize = 64;

/// Why a summary could not be read.
pub(super) enum Failure {
    Io(std::io::Error),
    Refused(Reason),
}

#[derive(Default)]
struct Summary {
    version: Option<String>,
    is_rteval: bool,
    /// Names of the open elements.
    open: Vec<Vec<u8>>,
    text: Vec<u8>,
    found: Vec<Measurement>,
    run: Option<Measurement>,
    thread: Option<Thread>,
    unit: Unit,
    buckets: Vec<(Decimal, u64)>,
    bins: usize,
    system_samples: Option<u64>,
    damaged: u64,
}

/// Reads a summary.
pub(super) fn read(reader: impl BufRead, without_bins: bool) -> Result<Vec<Measurement>, Failure> {
    let mut xml = Reader::from_reader(reader.take(MAX_BYTES));
    let mut summary = Summary::default();
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        match xml.read_event_into(&mut buffer) {
            Ok(Event::Start(element)) => summary.start(&element),
            Ok(Event::Empty(element)) => {
                summary.start(&element);
                summary.end();
            }
            Ok(Event::Text(text)) => summary.text.extend_from_slice(&text.as_bytes()[..text.len().min(256)]),
            Ok(Event::End(_)) => summary.end(),
            Ok(Event::Eof) => break,
            Ok(_) => {}
            Err(quick_xml::Error::Io(error)) => {
                return Err(Failure::Io(std::io::Error::new(error.kind(), error.to_string())));
            }
            Err(_) => {
                summary.damaged += 1;
                break;
            }
        }
        if summary.bins > MAX_BINS || summary.open.len() > MAX_DEPTH {
            return Err(Failure::Refused(Reason::TooLarge));
        }
    }
    if xml.buffer_position() >= MAX_BYTES {
        return Err(Failure::Refused(Reason::TooLarge));
    }
    let mut found = summary.finish().map_err(Failure::Refused)?;
    if without_bins {
        found.iter_mut().flat_map(|run| &mut run.threads).for_each(|thread| thread.bins = Vec::new());
    }
    Ok(found)
}

impl Summary {
    fn start(&mut self, element: &BytesStart<'_>) {
        let name = element.local_name().as_ref().as_bytes().to_vec();
        let attribute = |wanted: &str| {
            let found = element.try_get_attribute(wanted).ok().flatten()?;
            found.normalized_value(quick_xml::XmlVersion::Implicit1_0).ok().map(std::borrow::Cow::into_owned)
        };
        match name.as_slice() {
            b"rteval" => {
                self.is_rteval = true;
                self.version = attribute("version");
            }
            b"cyclictest" | b"timerlat" if self.within(b"Measurements") => {
                self.close_run();
                let mut run = Measurement::new("rteval", "rteval-xml", Kind::Latency, 1);
                run.tool_version.clone_from(&self.version);
                let command = attribute("command_line").and_then(|line| Command::find(line.as_bytes()));
                let number = |short, long| command.as_ref().and_then(|command| command.number(short, long));
                run.interval_us = number('i', "interval");
                run.priority = number('p', "priority").or(number('p', "prio"));
                self.run = Some(run);
            }
            b"abort_report" => {
                let reason = attribute("reason").unwrap_or_default();
                if let Some(run) = &mut self.run {
                    run.incomplete(format!("the measurement was aborted: {}", super::number::shown(reason.as_bytes())));
                }
            }
            b"core" | b"system" if self.run.is_some() => {
                let mut thread = Thread::new(0);
                if name == b"core" {
                    thread.cpu = attribute("id").and_then(|id| count(id.as_bytes()));
                    thread.thread = thread.cpu.unwrap_or(0);
                    let priority = attribute("priority").and_then(|priority| count(priority.as_bytes()));
                    if let Some(run) = &mut self.run {
                        run.priority = run.priority.or(priority);
                    }
                }
                self.thread = Some(thread);
                self.unit = Unit::Micro;
            }
            b"bucket" => {
                self.bins += 1;
                let index = attribute("index").and_then(|index| Decimal::parse(index.as_bytes()));
                let value = attribute("value").and_then(|value| count(value.as_bytes()));
                match (index, value) {
                    (Some(index), Some(value)) => self.buckets.push((index, value)),
                    _ => self.damaged += 1,
                }
            }
            b"minimum" | b"maximum" | b"mean" => {
                if let Some(unit) = attribute("unit").and_then(|unit| Unit::named(unit.as_bytes())) {
                    self.unit = unit;
                }
            }
            _ => {}
        }
        self.text.clear();
        self.open.push(name);
    }

    fn within(&self, name: &[u8]) -> bool {
        self.open.iter().any(|open| open == name)
    }

    fn end(&mut self) {
        let Some(name) = self.open.pop() else { return };
        let text = std::mem::take(&mut self.text);
        match name.as_slice() {
            b"samples" | b"minimum" | b"maximum" | b"mean" if self.within(b"statistics") => {
                self.statistic(&name, &text)
            }
            b"core" => self.close_core(),
            b"system" if self.thread.is_some() => {
                self.system_samples = self.thread.take().and_then(|thread| thread.cycles);
                self.buckets.clear();
            }
            b"cyclictest" | b"timerlat" => self.close_run(),
            _ => {}
        }
    }

    fn statistic(&mut self, name: &[u8], text: &[u8]) {
        let Some(thread) = &mut self.thread else { return };
        let number = Decimal::parse(text);
        let ns = number.and_then(|number| number.nanoseconds(self.unit));
        match name {
            b"samples" => thread.cycles = number.and_then(Decimal::count),
            b"minimum" => thread.min_ns = ns,
            b"maximum" => thread.max_ns = ns,
            _ => thread.mean_ns = number.and_then(|number| number.nanoseconds_f64(self.unit)),
        }
        self.damaged += u64::from(number.is_none() && !text.trim_ascii().is_empty());
    }

    fn close_core(&mut self) {
        let (Some(mut thread), Some(run)) = (self.thread.take(), &mut self.run) else { return };
        let unit = self.unit;
        let mut bins: Vec<(u64, u64)> = self
            .buckets
            .drain(..)
            .filter(|(_, n)| *n > 0)
            .filter_map(|(bin, n)| Some((u64::try_from(bin.nanoseconds(unit)?).ok()?, n)))
            .collect();
        bins.sort_unstable();
        if !bins.is_empty() {
            run.set_bins(&mut thread, unit.nanoseconds(), bins);
            thread.overflow = thread.cycles.and_then(|cycles| cycles.checked_sub(thread.binned));
        }
        if thread.max_ns.is_none() {
            run.incomplete(format!(
                "CPU {}: no statistics; rteval leaves them out when the maximum lies beyond its buckets",
                thread.thread
            ));
        }
        if run.threads.len() < MAX_THREADS {
            run.threads.push(thread);
        }
    }

    fn close_run(&mut self) {
        if let Some(mut run) = self.run.take() {
            let sum: u128 = run.threads.iter().filter_map(|thread| thread.cycles).map(u128::from).sum();
            if let Some(system) = self.system_samples.take()
                && u128::from(system) != sum
            {
                run.incomplete(format!("the system has {system} samples, the cores listed have {sum}"));
            }
            self.found.push(run);
        }
    }

    fn finish(mut self) -> Result<Vec<Measurement>, Reason> {
        let cut = !self.open.is_empty() || self.damaged > 0;
        self.close_core();
        self.close_run();
        if !self.is_rteval {
            return Err(Reason::UnknownXml);
        }
        self.found.retain(Measurement::has_data);
        if self.found.is_empty() {
            return Err(Reason::NoData("an rteval summary without a latency statistic".to_owned()));
        }
        for run in &mut self.found {
            if cut {
                run.incomplete("the XML is cut or damaged");
            }
            run.check();
        }
        Ok(self.found)
    }
}
