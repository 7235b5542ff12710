//! TOML text as a tree whose every key and value knows where it stands, and typed reading from it that finds all errors at once.

pub mod reader;
mod syntax;
mod tree;
pub mod values;

pub use tree::{Drops, Entry, Node, Table, Value, nest};

use crate::diagnostic::{Diagnostic, Diagnostics, Source, Span};
use std::collections::HashSet;
use std::sync::Arc;
use toml::de::DeTable;

/// Largest campaign or target file, in bytes.
pub const LARGEST_FILE: usize = 1 << 20;
/// A file with more syntax errors is garbage, and the first few say so.
const MOST_SYNTAX_ERRORS: usize = 40;
/// What is shown of garbage.
const SHOWN_OF_GARBAGE: usize = 3;

/// A file's bytes as text, or why they are none.
pub fn decode<'a>(name: &str, bytes: &'a [u8]) -> Result<&'a str, Diagnostics> {
    let whole = || Span::whole(&Source::file(name, ""));
    let refuse =
        |message: String, help: &str| Err([Diagnostic::error(whole(), message).help(help)].into_iter().collect());
    if bytes.len() > LARGEST_FILE {
        let message = format!("file of more than {LARGEST_FILE} bytes (1 MiB)");
        return refuse(message, "campaign and target files are smaller; is this the right file?");
    }
    match std::str::from_utf8(bytes) {
        Err(error) => {
            let message = format!("not a text file: byte {} is not valid UTF-8", error.valid_up_to());
            refuse(message, "campaign and target files are TOML, in UTF-8; is this the right file?")
        }
        Ok(text) => match text.find('\0') {
            Some(at) => refuse(format!("not a text file: byte {at} is NUL"), "is this the right file?"),
            None => Ok(text),
        },
    }
}

/// A parsed document.
#[derive(Debug)]
pub struct Document {
    /// Its text.
    pub source: Arc<Source>,
    /// Its content; values that could not be read are [`Value::Damaged`].
    pub root: Table,
    /// Syntax errors. The content can be trusted around them.
    pub errors: Diagnostics,
}

/// Parses TOML. `Err`: the structure itself is broken, so that nothing can be said about the content.
pub fn parse(name: &str, text: &str) -> Result<Document, Diagnostics> {
    decode(name, text.as_bytes())?;
    let source = Source::file(name, text);
    let (parsed, errors) = DeTable::parse_recoverable(text);
    let mut root = tree::table(&source, parsed.into_inner());
    let garbage = errors.len() > MOST_SYNTAX_ERRORS;
    let mut found = Diagnostics::default();
    let mut repeated = Diagnostics::default();
    let mut broken = garbage;
    let mut shown = HashSet::new();
    let mut errors: Vec<_> =
        errors.iter().map(|error| (Span::new(&source, error.span().unwrap_or(0..0)), error)).collect();
    errors.sort_by_key(|(span, _)| span.range.start);
    for (span, error) in errors.iter().take(if garbage { SHOWN_OF_GARBAGE } else { MOST_SYNTAX_ERRORS }) {
        if error.message().starts_with("duplicate key") {
            repeated.push(duplicate_key(&root, span.clone()));
        } else {
            broken |= !root.damage(span);
            // The first error of a line causes the others on it.
            if shown.insert(span.line_column().0) {
                found.push(syntax::explain(error.message(), span.clone()));
            }
        }
    }
    if garbage {
        let message = format!("{} syntax errors in all", errors.len());
        found.push(Diagnostic::error(Span::whole(&source), message).help("is this the right file?"));
    }
    if !broken || found.is_empty() {
        // Behind a broken structure, keys seem to be repeated that are not.
        found.extend(repeated);
    }
    if broken { Err(found) } else { Ok(Document { source, root, errors: found }) }
}

fn duplicate_key(root: &Table, span: Span) -> Diagnostic {
    let key = span.text().to_owned();
    let first = root.keys_named(&key).find(|first| first.range.start < span.range.start);
    let diagnostic = Diagnostic::error(span, format!("`{key}` is given twice")).label("again here");
    match first {
        Some(first) => diagnostic.also(first, "first given here"),
        None => diagnostic.help("a key, or a table such as `[measure]`, may stand only once"),
    }
}
