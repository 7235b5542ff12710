//! What is wrong with an input file: where, what was found, what is allowed, and the nearest known name.

mod render;
mod suggest;
#[cfg(test)]
pub(crate) mod testing;

pub use render::Style;
pub use suggest::nearest;

use serde::Serialize;
use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

/// Most diagnostics that are shown of one load.
const MOST_SHOWN: usize = 40;
/// Most diagnostics that are kept of one load: a large garbage file could give hundreds of thousands.
const MOST_KEPT: usize = 400;

/// A text that spans point into.
#[derive(Debug, PartialEq, Eq)]
pub struct Source {
    /// File name as the user gave it, or the option (`--set`).
    pub name: String,
    /// Whole text.
    pub text: String,
    /// Where it came from.
    pub origin: Origin,
}

/// Where a [`Source`] came from: decides between "input file" and "usage" as the fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Origin {
    /// An option of the command line.
    CommandLine,
    /// A name on the command line of a file that is wrong or missing.
    FileName,
    /// A file.
    File,
}

/// By name only: a text of a megabyte is not to be hashed for each of its spans.
impl Hash for Source {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl Source {
    /// A file's text.
    pub fn file(name: &str, text: &str) -> Arc<Self> {
        Arc::new(Self { name: name.to_owned(), text: text.to_owned(), origin: Origin::File })
    }

    /// The same text where it names a file that is wrong or missing: then the file is at fault, not the option.
    pub fn as_file_name(&self) -> Arc<Self> {
        let origin = if self.origin == Origin::CommandLine { Origin::FileName } else { self.origin };
        Arc::new(Self { name: self.name.clone(), text: self.text.clone(), origin })
    }

    /// An option's argument.
    pub fn option(name: &str, text: &str) -> Arc<Self> {
        Arc::new(Self { name: name.to_owned(), text: text.to_owned(), origin: Origin::CommandLine })
    }
}

/// A piece of a source, as byte range.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Span {
    /// The text.
    pub source: Arc<Source>,
    /// Bytes of it; always on character boundaries inside the text.
    pub range: Range<usize>,
}

impl Span {
    /// A span, moved onto character boundaries and into the text if it is not.
    pub fn new(source: &Arc<Source>, range: Range<usize>) -> Self {
        let text = &source.text;
        let start = floor_boundary(text, range.start);
        let end = floor_boundary(text, range.end.max(range.start)).max(start);
        Self { source: Arc::clone(source), range: start..end }
    }

    /// The file as a whole.
    pub fn whole(source: &Arc<Source>) -> Self {
        Self::new(source, 0..0)
    }

    /// The text of the span.
    pub fn text(&self) -> &str {
        self.source.text.get(self.range.clone()).unwrap_or_default()
    }

    /// Line and column of the start, both from 1, the column in characters.
    pub fn line_column(&self) -> (usize, usize) {
        let before = self.source.text.get(..self.range.start).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }
}

fn floor_boundary(text: &str, index: usize) -> usize {
    let index = index.min(text.len());
    (0..=index).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0)
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The file cannot be used.
    Error,
    /// Probably not what was meant.
    Warning,
}

/// A span with what is to be said about it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// A few words beside the marked text; may be empty.
    pub text: String,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Diagnostic {
    /// How bad.
    pub severity: Severity,
    /// What is wrong, in one line.
    pub message: String,
    /// The offending text.
    pub primary: Label,
    /// Other places that matter.
    pub secondary: Vec<Label>,
    /// What is allowed, or the nearest known name.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error at `span`.
    pub fn error(span: Span, message: impl Into<String>) -> Self {
        let primary = Label { span, text: String::new() };
        Self { severity: Severity::Error, message: message.into(), primary, secondary: Vec::new(), help: None }
    }

    /// A warning at `span`.
    pub fn warning(span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(span, message) }
    }

    /// Words beside the offending text.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.primary.text = text.into();
        self
    }

    /// Another place that matters.
    #[must_use]
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Self {
        self.secondary.push(Label { span, text: text.into() });
        self
    }

    /// The remedy.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }
}

/// Diagnostics of one load, in the order found, each once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    seen: HashSet<Diagnostic>,
}

impl Diagnostics {
    /// Adds one, unless the same was already said or there are enough.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if !self.is_full() && self.seen.insert(diagnostic.clone()) {
            self.list.push(diagnostic);
        }
    }

    /// All of them, in the order found.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.list.iter()
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// So many that no more are kept.
    pub fn is_full(&self) -> bool {
        self.list.len() >= MOST_KEPT
    }

    /// None at all.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether one of them is an error.
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|d| d.severity == Severity::Error)
    }

    /// Whether every error points at an option of the command line, so that no file is at fault.
    pub fn only_usage(&self) -> bool {
        let mut errors = self.list.iter().filter(|d| d.severity == Severity::Error);
        self.has_errors() && errors.all(|d| d.primary.span.source.origin == Origin::CommandLine)
    }

    /// In the order of the text: what stands first is shown first; the command line before files.
    pub fn sort(&mut self) {
        let place = |d: &Diagnostic| {
            let span = &d.primary.span;
            (span.source.origin, span.source.name.clone(), span.range.start)
        };
        self.list.sort_by_cached_key(place);
    }

    /// For people: each with file, line, column, the offending text and the remedy.
    pub fn render(&self, style: Style) -> String {
        let mut shown: Vec<String> = self.list.iter().take(MOST_SHOWN).map(|d| render::render(d, style)).collect();
        if let Some(more) = self.list.len().checked_sub(MOST_SHOWN).filter(|more| *more > 0) {
            let or_more = if self.is_full() { " or more" } else { "" };
            shown.push(format!("... and {more}{or_more} others"));
        }
        shown.join("\n\n")
    }

    /// For programs.
    pub fn to_json(&self) -> Vec<JsonDiagnostic> {
        self.list.iter().take(MOST_SHOWN).map(render::json).collect()
    }
}

impl Extend<Diagnostic> for Diagnostics {
    fn extend<I: IntoIterator<Item = Diagnostic>>(&mut self, iter: I) {
        iter.into_iter().for_each(|d| self.push(d));
    }
}

impl FromIterator<Diagnostic> for Diagnostics {
    fn from_iter<I: IntoIterator<Item = Diagnostic>>(iter: I) -> Self {
        let mut all = Self::default();
        all.extend(iter);
        all
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}

/// A diagnostic as `--format json` prints it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JsonDiagnostic {
    /// How bad.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// Where.
    #[serde(flatten)]
    pub at: JsonPlace,
    /// Other places that matter.
    pub related: Vec<JsonPlace>,
    /// The remedy.
    pub help: Option<String>,
}

/// A place in a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JsonPlace {
    /// File name, or the option.
    pub file: String,
    /// Line from 1.
    pub line: usize,
    /// Column from 1, in characters.
    pub column: usize,
    /// Text that is marked.
    pub text: String,
    /// What is said about it.
    pub label: String,
}
