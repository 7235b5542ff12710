//! cyclictest's text output, and that of the tools with the same status lines (signaltest, cyclicdeadline,
//! jitterdebugger `-v`): status lines, their live redraw, `-v` samples, histogram blocks, several runs in one log.

mod build;
mod histogram;
mod status;
mod tally;

use super::collect::{Context, Family};
use super::command::Command;
use super::line::Line;
use histogram::{Footer, FooterLine, Rows};
use status::{Damaged, Status};
use std::collections::BTreeMap;
use tally::{Sample, Tallies};

/// More threads than any machine runs; keeps a garbage file from filling the memory.
const MAX_THREADS: usize = 4096;

/// The tools that print these status lines.
const TOOLS: [&str; 3] = ["cyclictest", "signaltest", "cyclicdeadline"];

/// Reads cyclictest text.
#[derive(Debug, Default)]
pub(super) struct Cyclictest {
    run: Option<Run>,
    /// `policy:` was printed, so a status line must follow.
    policy_line: Option<u64>,
    /// Rows may follow.
    in_rows: bool,
    /// Status lines follow that SIGUSR1 asked for in the middle of a run.
    in_snapshot: bool,
}

/// One run as it is read.
#[derive(Debug)]
struct Run {
    line: u64,
    command: Option<Command>,
    status: BTreeMap<u64, Status>,
    samples: Tallies,
    rows: Option<Rows>,
    footer: Footer,
    /// Damaged status lines: how many, and the first one's number.
    damaged: Option<(u64, u64)>,
    /// Rows were cut out by hand (`...`), at this line.
    elided: Option<u64>,
    deadline: bool,
    /// The status lines are from the middle of the run.
    snapshot: bool,
    /// Rows began without their heading: rows before them may be cut off.
    headless: bool,
}

impl Run {
    fn new(line: u64, context: &Context) -> Self {
        Self {
            line,
            command: context.command(&TOOLS),
            status: BTreeMap::new(),
            samples: Tallies::default(),
            rows: None,
            footer: Footer::default(),
            damaged: None,
            elided: None,
            deadline: false,
            snapshot: false,
            headless: false,
        }
    }

    /// Does a status line belong to another run than this one?
    fn is_foreign(&self, status: &Status) -> bool {
        if self.rows.is_some() || self.footer.any() || self.footer.break_value.is_some() {
            return true;
        }
        let another_kind =
            self.status.values().next().is_some_and(|known| known.is_jitterdebugger() != status.is_jitterdebugger());
        another_kind
            || self.status.get(&status.thread).is_some_and(|known| {
                let started = known.cycles > 0 || known.pid != Some(0);
                (started && known.pid != status.pid) || status.cycles < known.cycles
            })
    }
}

impl Cyclictest {
    fn run(&mut self, line: u64, context: &Context) -> &mut Run {
        self.run.get_or_insert_with(|| Run::new(line, context))
    }

    fn close(&mut self, context: &mut Context) {
        self.in_rows = false;
        if let Some(run) = self.run.take() {
            self.policy_line = None;
            let measurement = build::measurement(run, context.nanoseconds);
            context.found(measurement);
        }
    }

    fn status(&mut self, status: Status, line: u64, context: &mut Context) {
        if self.run.as_ref().is_some_and(|run| run.is_foreign(&status)) {
            self.close(context);
        }
        let snapshot = self.in_snapshot;
        let run = self.run(line, context);
        run.snapshot = snapshot;
        if run.status.len() < MAX_THREADS || run.status.contains_key(&status.thread) {
            run.status.insert(status.thread, status);
        }
    }

    fn sample(&mut self, sample: Sample, line: u64, context: &mut Context) {
        let restarts = |run: &Run| {
            !run.status.is_empty() || run.samples.get(sample.thread).is_some_and(|t| t.restarts_at(sample.cycle))
        };
        if self.run.as_ref().is_some_and(restarts) {
            self.close(context);
        }
        self.run(line, context).samples.count(sample, context);
    }

    fn heading(&mut self, line: u64, context: &mut Context) {
        if self.run.as_ref().is_some_and(|run| run.rows.is_some()) {
            self.close(context);
        }
        self.run(line, context).rows.get_or_insert_with(Rows::new);
        self.in_rows = true;
    }

    fn footer(&mut self, line: Line<'_>, context: &mut Context) -> bool {
        let mut read = self.run(line.number, context).footer.line(line);
        if read == FooterLine::Repeated {
            self.close(context);
            read = self.run(line.number, context).footer.line(line);
        }
        self.in_rows = false;
        read != FooterLine::Other
    }

    fn digits(&mut self, line: Line<'_>, context: &mut Context) -> bool {
        if self.in_rows
            && let Some(rows) = self.run.as_mut().and_then(|run| run.rows.as_mut())
            && rows.row(line, context)
        {
            return true;
        }
        if let Some(sample) = Sample::read(line.text, line.ended) {
            self.sample(sample, line.number, context);
            return true;
        }
        // A row in a notation that no version prints (`000,012`).
        let numbers = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b' ' | b'\t' | b',' | b'.');
        if let Some(rows) = self.run.as_mut().filter(|_| self.in_rows).and_then(|run| run.rows.as_mut())
            && line.text.iter().all(numbers)
        {
            rows.damaged.get_or_insert((0, line.number)).0 += 1;
            return true;
        }
        if !self.in_rows && Rows::looks_like_row(line.text) {
            self.heading(line.number, context);
            self.run(line.number, context).headless = true;
            return self.digits(line, context);
        }
        false
    }

    fn words(&mut self, line: Line<'_>, context: &mut Context) -> bool {
        if line.text.starts_with(b"policy:") {
            self.policy_line.get_or_insert(line.number);
            return true;
        }
        match Status::read(line.text, line.ended) {
            Ok(Some(status)) => {
                self.status(status, line.number, context);
                true
            }
            Err(Damaged) => {
                context.no_data(line.number, "a status line (T:) that is cut or damaged");
                if let Some(run) = &mut self.run {
                    run.damaged.get_or_insert((0, line.number)).0 += 1;
                }
                false
            }
            Ok(None) => {
                if line.text == b"..." {
                    self.elided(line.number);
                } else if line.text.starts_with(b"deadline thread") {
                    self.run(line.number, context).deadline = true;
                }
                false
            }
        }
    }

    fn elided(&mut self, line: u64) {
        if let Some(run) = self.run.as_mut().filter(|_| self.in_rows) {
            run.elided.get_or_insert(line);
        }
    }
}

impl Family for Cyclictest {
    fn line(&mut self, line: Line<'_>, context: &mut Context) -> bool {
        match line.text.first() {
            Some(b'0'..=b'9') => self.digits(line, context),
            Some(b'#') => {
                let text = line.text[1..].trim_ascii();
                if text == b"Histogram" {
                    self.heading(line.number, context);
                    return true;
                }
                if text.starts_with(b"cyclictest current status") {
                    self.in_snapshot = true;
                    return true;
                }
                if text.starts_with(b"-----") && self.in_snapshot {
                    self.in_snapshot = false;
                    return true;
                }
                is_footer(text) && self.footer(line, context)
            }
            _ => self.words(line, context),
        }
    }

    fn bulk(&mut self, bytes: &[u8], context: &mut Context) -> (usize, u64) {
        match &mut self.run {
            Some(Run { rows: Some(rows), .. }) if self.in_rows => rows.bulk(bytes, context),
            Some(run) if run.rows.is_none() && run.status.is_empty() => run.samples.bulk(bytes, context),
            _ => (0, 0),
        }
    }

    fn finish(&mut self, context: &mut Context) {
        let policy = self.policy_line;
        if self.run.is_none()
            && let Some(line) = policy
        {
            context.no_data(line, "cyclictest's policy line, but no status line (T:) and no histogram");
        }
        self.close(context);
    }
}

/// Cheap look at a comment, so that other tools' headers do not open a run here.
fn is_footer(text: &[u8]) -> bool {
    [&b"Total:"[..], b"Min Lat", b"Avg Lat", b"Max Lat", b"Histogram Over", b"Thread ", b"Break ", b"SMIs:"]
        .iter()
        .any(|start| text.starts_with(start))
}
