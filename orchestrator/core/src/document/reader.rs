//! Typed reading: every key is asked for by name with what it may hold; what nobody asked for is unknown.

use super::{Entry, Node, Table, Value};
use crate::diagnostic::{Diagnostic, Diagnostics, Span, nearest};
use std::cell::RefCell;

/// Why a value is not accepted.
#[derive(Debug)]
pub struct Problem {
    /// In one line; `{}` stands for the key's name.
    pub message: String,
    /// Beside the offending text.
    pub label: String,
    /// What is allowed.
    pub help: String,
    /// Where, if not the whole value.
    pub span: Option<Span>,
}

impl Problem {
    /// A problem of the whole value.
    pub fn new(message: impl Into<String>, label: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), label: label.into(), help: help.into(), span: None }
    }
}

/// What a parser of one value returns: the value, or all its problems (none: they were already reported).
pub type Parsed<T> = Result<T, Vec<Problem>>;

/// Collects diagnostics behind a shared reference.
#[derive(Debug, Default)]
pub struct Sink(RefCell<Diagnostics>);

impl Sink {
    /// Adds one.
    pub fn push(&self, diagnostic: Diagnostic) {
        self.0.borrow_mut().push(diagnostic);
    }

    /// Whether an error was collected.
    pub fn has_errors(&self) -> bool {
        self.0.borrow().has_errors()
    }

    /// See [`Diagnostics::is_full`].
    pub fn is_full(&self) -> bool {
        self.0.borrow().is_full()
    }

    /// Everything collected.
    pub fn into_inner(self) -> Diagnostics {
        self.0.into_inner()
    }
}

/// Reads one table.
#[derive(Debug)]
pub struct Reader<'a> {
    table: &'a Table,
    sink: &'a Sink,
    /// Name of the table in messages, `measure.histogram`; empty at the top.
    path: String,
    known: Vec<&'static str>,
    /// Where the table stands.
    at: Span,
    homes: Homes,
}

/// Tables of a kind of file with the keys that people look for elsewhere; `""` is the top. For errors only.
pub type Homes = &'static [(&'static str, &'static [&'static str])];

impl<'a> Reader<'a> {
    /// A reader of a whole document.
    pub fn new(table: &'a Table, at: Span, sink: &'a Sink) -> Self {
        Self { table, sink, path: String::new(), known: Vec::new(), at, homes: &[] }
    }

    /// A reader of the table `node` with the name `path`; reports what is no table.
    pub fn of_node(node: &'a Node, path: &str, sink: &'a Sink) -> Option<Self> {
        match &node.value {
            Value::Table(table) => {
                Some(Self { table, sink, path: path.to_owned(), known: Vec::new(), at: node.span.clone(), homes: &[] })
            }
            Value::Damaged => None,
            other => {
                sink.push(
                    Diagnostic::error(node.span.clone(), format!("`{path}` is a table"))
                        .label(format!("this is {}", other.kind()))
                        .help(format!("write a `[{path}]` section, or `{{ key = value }}`")),
                );
                None
            }
        }
    }

    /// Knows where keys belong that stand in the wrong table.
    #[must_use]
    pub fn with_homes(mut self, homes: Homes) -> Self {
        self.homes = homes;
        self
    }

    /// Full name of a key.
    pub fn name(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// Whether the key stands there, with whatever value.
    pub fn has(&self, key: &str) -> bool {
        self.table.entry(key).is_some()
    }

    /// Makes keys known that are read elsewhere.
    pub fn know(&mut self, keys: &[&'static str]) {
        self.known.extend(keys);
    }

    /// The entry of a key, which becomes known.
    pub fn entry(&mut self, key: &'static str) -> Option<&'a Entry> {
        self.known.push(key);
        self.table.entry(key)
    }

    /// A value, if the key is there and its value acceptable.
    pub fn field<T>(&mut self, key: &'static str, parse: impl FnOnce(&Node) -> Parsed<T>) -> Option<T> {
        let entry = self.entry(key)?;
        self.parse(&entry.node, &self.name(key), parse)
    }

    /// A reader of an inner table, if it is there.
    pub fn table(&mut self, key: &'static str) -> Option<Reader<'a>> {
        let entry = self.entry(key)?;
        let homes = self.homes;
        Reader::of_node(&entry.node, &self.name(key), self.sink).map(|reader| reader.with_homes(homes))
    }

    /// Entries of a table whose keys are free names.
    pub fn named(&mut self, key: &'static str) -> &'a [Entry] {
        let inner = self.table(key);
        inner.map_or(&[], |reader| reader.table.entries())
    }

    /// Reads any node under a name.
    pub fn parse<T>(&self, node: &Node, name: &str, parse: impl FnOnce(&Node) -> Parsed<T>) -> Option<T> {
        if node.value == Value::Damaged {
            return None;
        }
        match parse(node) {
            Ok(value) => Some(value),
            Err(problems) => {
                for problem in problems {
                    let span = problem.span.unwrap_or_else(|| node.span.clone());
                    let mut diagnostic =
                        Diagnostic::error(span, problem.message.replace("{}", name)).label(problem.label);
                    if !problem.help.is_empty() {
                        diagnostic = diagnostic.help(problem.help);
                    }
                    self.sink.push(diagnostic);
                }
                None
            }
        }
    }

    /// Reports that a key must stand in this table, and what it says.
    pub fn missing(&self, key: &str, what: &str) {
        let name = self.name(key);
        self.sink.push(Diagnostic::error(self.at.clone(), format!("`{name}` is missing")).help(what));
    }

    /// Where diagnostics go.
    pub fn sink(&self) -> &'a Sink {
        self.sink
    }

    /// Reports every key that nobody asked for.
    pub fn finish(self) {
        for entry in self.table.entries() {
            if self.sink.is_full() {
                return;
            }
            if !self.known.contains(&entry.key.as_str()) {
                let diagnostic = unknown(&entry.key_span, "key", &entry.key, &self.path, &self.known);
                let home = self.homes.iter().find(|(_, keys)| keys.contains(&entry.key.as_str()));
                self.sink.push(match home {
                    Some((path, _)) if *path == self.path => diagnostic,
                    Some(("", _)) => diagnostic
                        .label("belongs to the top of the file")
                        .help("move it above the first `[table]`: a line belongs to the `[table]` above it"),
                    Some((path, _)) => diagnostic
                        .label(format!("belongs to `[{path}]`"))
                        .help(format!("write it below `[{path}]`, or as `{path}.{}` at the top", entry.key)),
                    None => diagnostic,
                });
            }
        }
    }
}

/// An unknown name in the table `path` (empty at the top): the nearest known one if there is one, and all of them.
pub fn unknown(span: &Span, what: &str, found: &str, path: &str, known: &[&str]) -> Diagnostic {
    let mut sorted = known.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let listed = sorted.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let place = if path.is_empty() { "here".to_owned() } else { format!("in `{path}`") };
    let all =
        if listed.is_empty() { format!("nothing is allowed {place}") } else { format!("allowed {place}: {listed}") };
    let diagnostic = Diagnostic::error(span.clone(), format!("unknown {what} `{found}`"));
    match nearest(found, sorted.iter().copied()) {
        Some(name) => diagnostic.label(format!("did you mean `{name}`?")).help(all),
        None => diagnostic.help(all),
    }
}
