//! `latlab check`: campaign and target files, without contacting a board.

use super::diagnostics::{count, exit, print_json, print_text};
use super::selection::Fitted;
use super::{Common, Format};
use crate::exit::Exit;
use crate::files::{Found, Kind, Library, on_command_line};
use latlab_core::campaign::{self, Overrides};
use latlab_core::diagnostic::{Diagnostics, JsonDiagnostic, Severity};
use latlab_core::target;
use serde::Serialize;
use std::io::Write;

/// Checks campaign and target files: syntax, meaning, and whether a campaign fits the targets that it names.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Files, or names of campaigns and targets.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,
}

/// What was found in one file.
#[derive(Debug, Serialize)]
struct Checked {
    file: String,
    /// `campaign` or `target`; absent where the file cannot be read.
    kind: Option<Kind>,
    /// Its `name`, where it is good.
    name: Option<String>,
    /// Number of cells, of a campaign.
    cells: Option<usize>,
    ok: bool,
    diagnostics: Vec<JsonDiagnostic>,
}

#[derive(Debug, Serialize)]
struct Report {
    ok: bool,
    files: Vec<Checked>,
}

/// Runs the verb.
pub(super) fn run(common: &Common, args: &Args) -> Exit {
    let library = Library::of_user();
    let mut code = Exit::Success;
    let mut files = Vec::new();
    for asked in &args.files {
        let (checked, found) = check(&library, asked);
        code = Exit::combine([code, exit(&found)]);
        if common.format == Format::Text {
            show(&checked, &found);
        }
        files.push(checked);
    }
    let ok = files.iter().all(|file| file.ok);
    if common.format == Format::Json {
        print_json(&Report { ok, files });
    }
    code
}

fn show(checked: &Checked, found: &Diagnostics) {
    if !found.is_empty() {
        print_text(found);
    }
    let what = match (&checked.kind, &checked.name, checked.cells) {
        (Some(_), Some(name), Some(1)) => format!("campaign {name}, 1 cell"),
        (Some(_), Some(name), Some(cells)) => format!("campaign {name}, {cells} cells"),
        (Some(_), Some(name), None) => format!("target {name}"),
        (Some(kind), None, _) => kind.word().to_owned(),
        (None, ..) => String::new(),
    };
    let outcome = match (checked.ok, found.is_empty()) {
        (true, true) => "ok".to_owned(),
        (true, false) => format!("ok, {}", count(found)),
        (false, _) => count(found),
    };
    let separator = if what.is_empty() { "" } else { ": " };
    let _ = writeln!(std::io::stdout(), "{}: {what}{separator}{outcome}", checked.file);
}

fn check(library: &Library, asked: &str) -> (Checked, Diagnostics) {
    let mut checked =
        Checked { file: asked.to_owned(), kind: None, name: None, cells: None, ok: false, diagnostics: Vec::new() };
    let found = match library.find_either(asked, &on_command_line("command line", asked)) {
        Err(found) => found,
        Ok((kind, file)) => {
            checked.kind = Some(kind);
            checked.file.clone_from(&file.name);
            content(library, kind, &file, &mut checked)
        }
    };
    checked.ok = !found.has_errors();
    checked.diagnostics = found.to_json();
    (checked, found)
}

fn content(library: &Library, kind: Kind, file: &Found, checked: &mut Checked) -> Diagnostics {
    if kind == Kind::Target {
        return match target::load(&file.name, &file.text) {
            Err(found) => found,
            Ok(loaded) => {
                checked.name = Some(loaded.target.name);
                loaded.warnings
            }
        };
    }
    match campaign::load(&file.name, &file.text, &Overrides::default()) {
        Err(found) => found,
        Ok(loaded) => {
            let mut found = loaded.warnings.clone();
            let fitted = Fitted::new(library, &loaded);
            found.extend(fitted.found);
            // The file is right; that it cannot be run yet is only to be known.
            found.extend(fitted.unsupported.into_iter().map(|misfit| {
                let cells = misfit.cells.join(", ");
                let mut diagnostic = misfit.diagnostic.label(format!("cell {cells}"));
                diagnostic.severity = Severity::Warning;
                diagnostic
            }));
            found.sort();
            checked.name = Some(loaded.campaign.name);
            checked.cells = Some(loaded.campaign.cells.len());
            found
        }
    }
}
