//! Printing what is wrong with input files.

use super::{Common, Format};
use crate::exit::Exit;
use latlab_core::diagnostic::{Diagnostics, JsonDiagnostic, Severity, Style};
use serde::Serialize;
use std::io::{IsTerminal, Write};

/// `--format json` of a command that stopped at its input.
#[derive(Debug, Serialize)]
struct Stopped {
    diagnostics: Vec<JsonDiagnostic>,
}

/// Shows errors and warnings: text on stderr, or one JSON object on stdout.
pub(super) fn print(common: &Common, found: &Diagnostics) {
    match common.format {
        Format::Text => print_text(found),
        Format::Json => print_json(&Stopped { diagnostics: found.to_json() }),
    }
}

/// Shows warnings of a command that goes on: on stderr, so that stdout stays the command's own.
pub(super) fn print_warnings(common: &Common, found: &Diagnostics) {
    if common.format == Format::Text && !found.is_empty() {
        print_text(found);
    }
}

/// On stderr; nothing can be done where that is closed.
pub(super) fn print_text(found: &Diagnostics) {
    let _ = writeln!(std::io::stderr(), "{}\n", found.render(style()));
}

/// On stdout, one line.
pub(super) fn print_json(value: &impl Serialize) {
    let mut out = std::io::stdout().lock();
    if serde_json::to_writer(&mut out, value).is_ok() {
        let _ = writeln!(out);
    }
}

/// The exit code of diagnostics: 0 without errors, else whose fault they are.
pub(super) fn exit(found: &Diagnostics) -> Exit {
    if !found.has_errors() {
        Exit::Success
    } else if found.only_usage() {
        Exit::Usage
    } else {
        Exit::InputFile
    }
}

/// `1 error, 2 warnings`; empty where there is nothing.
pub(super) fn count(found: &Diagnostics) -> String {
    let number = |severity| found.iter().filter(|d| d.severity == severity).count();
    let word = |number: usize, word: &str| match number {
        0 => None,
        1 => Some(format!("1 {word}")),
        _ => Some(format!("{number} {word}s")),
    };
    let words = [word(number(Severity::Error), "error"), word(number(Severity::Warning), "warning")];
    words.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn style() -> Style {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if std::io::stderr().is_terminal() && !no_color { Style::Colour } else { Style::Plain }
}
