//! The TOML parser's errors in words that name the remedy.

use crate::diagnostic::{Diagnostic, Span, nearest};

/// Typographic quotes, as text processors write them.
const CURLY: [char; 6] = ['\u{201c}', '\u{201d}', '\u{201e}', '\u{2018}', '\u{2019}', '\u{201a}'];

pub(super) fn explain(message: &str, span: Span) -> Diagnostic {
    let found = span.text().to_owned();
    let message = message.trim_end_matches(", expected nothing");
    let not_toml = |span| Diagnostic::error(span, format!("not TOML: {message}"));
    if found.contains('\n') {
        return not_toml(span);
    }
    if message.starts_with("invalid unquoted key") {
        return match found.chars().next() {
            Some(':') => not_toml(span).help("TOML writes `key = value`, and tables as `[table]`"),
            Some('/') => not_toml(span).help("a comment begins with `#`"),
            _ => not_toml(span),
        };
    }
    if message.starts_with("invalid boolean") || message.starts_with("string values must be quoted") {
        return value(&found, span);
    }
    // `inf` and `nan` are what the parser guesses of words that begin with these letters.
    if message.starts_with("invalid float") && found.starts_with(|c: char| c.is_alphabetic()) {
        return value(&found, span);
    }
    // A CPU list without quotes begins like a date.
    if message.starts_with("invalid date") {
        return value(&found, span);
    }
    if message.starts_with("unexpected key or value") && found.is_empty() {
        return not_toml(span).help("one `key = value` or `[table]` stands on a line, with nothing behind it");
    }
    not_toml(span)
}

/// A value that is no TOML value; most probably its quotes are missing.
fn value(found: &str, span: Span) -> Diagnostic {
    if found.is_empty() {
        return Diagnostic::error(span, "a value is missing after `=`");
    }
    let diagnostic = Diagnostic::error(span, format!("`{found}` is no TOML value"));
    if found.contains(CURLY) {
        let straight = found.trim_matches(CURLY);
        return diagnostic.label("typographic quotes").help(format!("write \"{straight}\", with straight quotes"));
    }
    let lower = found.to_lowercase();
    if matches!(lower.as_str(), "yes" | "no" | "on" | "off") {
        return diagnostic.help(format!("write `true` or `false`, or \"{found}\" in quotes if text is meant"));
    }
    if let Some(name) = nearest(&lower, ["true", "false"]) {
        return diagnostic
            .label(format!("write `{name}`"))
            .help("TOML has `true` and `false`, in small letters and without quotes");
    }
    diagnostic.label("text must be quoted").help(format!("write \"{found}\""))
}
