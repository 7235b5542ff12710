//! Offers every line to every format, and keeps what they found.

use super::command::Command;
use super::line::{Line, Next, Taker};
use super::measurement::Measurement;
use super::{Format, Options, Reason, Refusal, json};

/// A text format that is read line by line.
pub(super) trait Family {
    /// Takes the line if it belongs to this format.
    fn line(&mut self, line: Line<'_>, context: &mut Context) -> bool;
    /// Takes whole lines of a layout that it knows from the lines before, from the start of `bytes`; gives how many
    /// bytes and lines. Only for speed: lines that it leaves come one by one.
    fn bulk(&mut self, bytes: &[u8], context: &mut Context) -> (usize, u64) {
        let _ = (bytes, context);
        (0, 0)
    }
    /// The stream has ended, or another format's run begins.
    fn finish(&mut self, context: &mut Context);
}

/// Bins and threads that one file may hold; more is refused, so that no file can fill the memory.
const MAX_BINS: usize = 32 << 20;
const MAX_THREADS: usize = 1 << 19;

/// What the formats share.
#[derive(Debug, Default)]
pub(super) struct Context {
    found: Vec<Measurement>,
    /// The last command line seen.
    command: Option<Command>,
    /// Why a recognised output held no data: the first reason counts.
    no_data: Option<Refusal>,
    bins: usize,
    threads: usize,
    too_large: bool,
    /// The file's name.
    name: String,
    /// Bins are not asked for: only what the checks need is kept.
    pub(super) without_bins: bool,
    /// `--as`: values are nanoseconds although nothing in the file says so.
    pub(super) nanoseconds: bool,
}

impl Context {
    /// A run is complete: keeps it, if anything was measured.
    pub(super) fn found(&mut self, mut measurement: Measurement) {
        if measurement.has_data() {
            measurement.check();
            if self.without_bins {
                for thread in &mut measurement.threads {
                    self.bins = self.bins.saturating_sub(thread.bins.len());
                    thread.bins = Vec::new();
                }
            }
            self.found_bound(measurement);
        } else {
            let tool = measurement.tool;
            self.no_data(measurement.line, format!("{tool} output without a sample"));
        }
    }

    /// A run whose result is that nothing was above a bound: kept without a number.
    pub(super) fn found_bound(&mut self, measurement: Measurement) {
        self.threads += measurement.threads.len().max(1);
        self.too_large |= self.threads > MAX_THREADS;
        if !self.too_large {
            self.found.push(measurement);
        }
    }

    /// An output was recognised, but holds no data.
    pub(super) fn no_data(&mut self, line: u64, what: impl Into<String>) {
        self.no_data.get_or_insert_with(|| Refusal { reason: Reason::NoData(what.into()), line: Some(line) });
    }

    /// Has the file more than may be kept?
    pub(super) fn is_full(&self) -> bool {
        self.too_large
    }

    /// May `count` more bins be kept?
    pub(super) fn room_for_bins(&mut self, count: usize) -> bool {
        self.bins += count;
        self.too_large |= self.bins > MAX_BINS;
        !self.too_large
    }

    /// The one of `tools` that the file is named after.
    pub(super) fn hinted(&self, tools: &[&'static str]) -> Option<&'static str> {
        tools.iter().copied().find(|tool| self.name.contains(tool))
    }

    /// The last command line, if it is one of `tools`. A run takes it when it begins: later ones are other runs'.
    pub(super) fn command(&self, tools: &[&str]) -> Option<Command> {
        self.command.as_ref().filter(|command| tools.contains(&command.tool)).cloned()
    }
}

/// Reads a stream of lines into measurements.
pub(super) struct Collector {
    families: Vec<Box<dyn Family>>,
    /// The format that took the last line: asked first.
    active: usize,
    context: Context,
    document: Option<json::Document>,
    accepts_json: Option<Format>,
    only: Option<Format>,
    /// Line of a help text, and whether it follows a rejected option.
    help: Option<u64>,
    bad_option: Option<String>,
    binary: bool,
    any_text: bool,
}

impl Collector {
    pub(super) fn new(options: Options<'_>) -> Self {
        let only = options.only;
        // Each reader once: two formats have the same one as another.
        let own = |format: &Format| !matches!(format, Format::CyclictestNs | Format::Jitterdebugger);
        let families = Format::ALL
            .iter()
            .filter(|format| only.map_or_else(|| own(format), |only| only == **format))
            .filter_map(|format| format.family())
            .collect();
        let nanoseconds = only == Some(Format::CyclictestNs);
        Self {
            families,
            active: 0,
            context: Context {
                nanoseconds,
                name: options.name.to_owned(),
                without_bins: options.without_bins,
                ..Context::default()
            },
            document: None,
            accepts_json: only,
            only,
            help: None,
            bad_option: None,
            binary: false,
            any_text: false,
        }
    }

    fn offer(&mut self, line: Line<'_>) -> bool {
        let Some(active) = self.families.get_mut(self.active) else { return false };
        if active.line(line, &mut self.context) {
            return true;
        }
        for (index, family) in self.families.iter_mut().enumerate() {
            if index != self.active && family.line(line, &mut self.context) {
                self.active = index;
                return true;
            }
        }
        false
    }

    fn unclaimed(&mut self, line: Line<'_>) {
        if let Some(command) = Command::find(line.text).filter(Command::has_options) {
            self.context.command = Some(command);
        }
        if memchr::memmem::find(line.text, b": invalid option").is_some()
            || memchr::memmem::find(line.text, b": unrecognized option").is_some()
        {
            self.bad_option.get_or_insert_with(|| super::number::shown(line.text));
        }
        if line.text.starts_with(b"Usage:") || line.text.starts_with(b"usage:") {
            self.help.get_or_insert(line.number);
        }
        self.binary |= memchr::memchr(0, line.text).is_some();
    }

    /// The stream has ended: what was found, in file order, or why there is nothing.
    pub(super) fn finish(mut self) -> Result<Vec<Measurement>, Refusal> {
        if let Some(document) = self.document.take() {
            self.close(document);
        }
        for family in &mut self.families {
            family.finish(&mut self.context);
        }
        let context = self.context;
        if context.too_large {
            return Err(Refusal { reason: Reason::TooLarge, line: None });
        }
        let mut found = context.found;
        if !found.is_empty() {
            found.sort_by_key(|measurement| measurement.line);
            return Ok(found);
        }
        let whole = |reason| Refusal { reason, line: None };
        Err(match (self.help, context.no_data) {
            (Some(line), _) => Refusal { reason: Reason::Help(self.bad_option), line: Some(line) },
            (None, Some(Refusal { reason: Reason::BrokenJson(_), .. })) if self.binary => whole(Reason::Binary),
            (None, Some(refusal)) => refusal,
            (None, None) if !self.any_text => whole(Reason::Empty),
            (None, None) if self.binary => whole(Reason::Binary),
            (None, None) => whole(self.only.map_or(Reason::Unknown, Reason::NotThat)),
        })
    }

    /// A JSON document has ended, or the stream within it. It replaces a run of the same tool that came before it
    /// in the same file as text (jitterdebugger prints both).
    fn close(&mut self, document: json::Document) {
        let line = document.line;
        match document.measurement(self.accepts_json, &mut self.context) {
            Ok(mut measurement) => {
                if measurement.tool == "jitterdebugger" {
                    self.families.iter_mut().for_each(|family| family.finish(&mut self.context));
                    supersede(&mut self.context.found, &mut measurement);
                }
                self.context.found(measurement);
            }
            Err(reason) => {
                self.context.no_data.get_or_insert(Refusal { reason, line: Some(line) });
            }
        }
    }
}

/// Takes the status lines before a document out of the results, and says where they disagree with it.
fn supersede(found: &mut Vec<Measurement>, document: &mut Measurement) {
    let Some(status) = found.pop_if(|last| last.tool == document.tool) else { return };
    for thread in &status.threads {
        let same = document.threads.iter().find(|other| other.thread == thread.thread);
        if same.is_none_or(|other| other.cycles != thread.cycles) {
            document.warn(format!(
                "thread {}: the status line states {} cycles, the JSON {}",
                thread.thread,
                thread.cycles.map_or_else(|| "no".to_owned(), |cycles| cycles.to_string()),
                same.and_then(|other| other.cycles).map_or_else(|| "none".to_owned(), |cycles| cycles.to_string()),
            ));
        }
    }
    document.line = status.line;
}

impl Taker for Collector {
    fn line(&mut self, line: Line<'_>) -> Next {
        if !line.text.is_empty() {
            self.any_text = true;
            if !self.offer(line) {
                self.unclaimed(line);
            }
        }
        if self.context.too_large { Next::Stop } else { Next::Line }
    }

    fn bulk(&mut self, bytes: &[u8]) -> (usize, u64) {
        let context = &mut self.context;
        self.families.get_mut(self.active).map_or((0, 0), |family| family.bulk(bytes, context))
    }

    fn document(&mut self, bytes: &[u8], line: u64) -> (usize, bool) {
        self.any_text = true;
        let mut document = self.document.take().unwrap_or_else(|| json::Document::new(line));
        let taken = document.push(bytes, &mut self.context);
        let goes_on = !document.ended() && !self.context.too_large;
        if goes_on {
            self.document = Some(document);
        } else {
            self.close(document);
        }
        (taken, goes_on)
    }
}
