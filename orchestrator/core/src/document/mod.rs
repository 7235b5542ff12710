//! TOML text as a tree whose every key and value knows where it stands, and typed reading from it that finds all errors at once.

pub mod reader;
mod tree;
pub mod values;

pub use tree::{Drops, Entry, Node, Table, Value, nest};

use crate::diagnostic::{Diagnostic, Diagnostics, Source, Span, nearest};
use std::sync::Arc;
use toml::de::DeTable;

/// Largest campaign or target file, in bytes.
pub const LARGEST_FILE: usize = 1 << 20;
/// Syntax errors looked at in one file: the rest of a garbage file says nothing new.
const MOST_SYNTAX_ERRORS: usize = 20;

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
    let mut diagnostics = Diagnostics::default();
    let mut broken = false;
    for error in errors.iter().take(MOST_SYNTAX_ERRORS) {
        let span = Span::new(&source, error.span().unwrap_or(0..0));
        if error.message().starts_with("duplicate key") {
            diagnostics.push(duplicate_key(&root, span));
        } else {
            let damaged = root.damage(&span);
            broken |= !damaged;
            diagnostics.push(syntax_error(error.message(), span, damaged));
        }
    }
    if errors.len() > MOST_SYNTAX_ERRORS {
        let message = format!("{} syntax errors in all: is this the right file?", errors.len());
        diagnostics.push(Diagnostic::error(Span::whole(&source), message));
    }
    if broken { Err(diagnostics) } else { Ok(Document { source, root, errors: diagnostics }) }
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

fn syntax_error(message: &str, span: Span, is_value: bool) -> Diagnostic {
    let found = span.text().to_owned();
    if !is_value {
        return Diagnostic::error(span, format!("not TOML: {message}"));
    }
    let lower = found.to_lowercase();
    if lower.is_empty() {
        return Diagnostic::error(span, "a value is missing after `=`");
    }
    if let Some(name) = nearest(&lower, ["true", "false"]).filter(|_| !lower.contains(' ')) {
        return Diagnostic::error(span, format!("`{found}` is no TOML value"))
            .label(format!("write `{name}`"))
            .help("TOML has `true` and `false`, in small letters and without quotes");
    }
    if matches!(lower.as_str(), "yes" | "no" | "on" | "off") {
        return Diagnostic::error(span, format!("`{found}` is no TOML value"))
            .help(format!("write `true` or `false`, or \"{found}\" in quotes if text is meant"));
    }
    if found.contains('\n') || message.starts_with("invalid basic string") || message.starts_with("invalid literal") {
        return Diagnostic::error(span, format!("not TOML: {message}"));
    }
    Diagnostic::error(span, format!("`{found}` is no TOML value"))
        .label("text must be quoted")
        .help(format!("write \"{found}\""))
}
