//! `--only key=a,b`: several for one key are alternatives, those for different keys must all hold.

use super::Resolved;
use super::names::value_text;
use crate::diagnostic::{Diagnostic, Source, Span, nearest};
use crate::document::reader::Sink;

/// The cells that every `--only` chooses; `None` together with an error.
pub(super) fn choose(mut cells: Vec<Resolved>, only: &[(String, Vec<String>)], sink: &Sink) -> Option<Vec<Resolved>> {
    let mut good = true;
    let mut keys: Vec<&String> = Vec::new();
    only.iter().for_each(|(key, _)| {
        if !keys.contains(&key) {
            keys.push(key);
        }
    });
    for key in keys {
        let values: Vec<Vec<String>> = cells.iter().map(|cell| values(cell, key)).collect();
        let options = only.iter().filter(|(other, _)| other == key).map(|(_, wanted)| wanted);
        // A CPU list and a cell's name hold commas themselves: the whole text counts where it is a value.
        let split = |wanted: &Vec<String>| {
            let whole = wanted.join(",");
            if values.iter().flatten().any(|value| *value == whole) { vec![whole] } else { wanted.clone() }
        };
        let wanted: Vec<String> = options.flat_map(split).collect();
        for missing in wanted.iter().filter(|wanted| !values.iter().flatten().any(|value| value == *wanted)) {
            good = false;
            sink.push(no_match(key, missing, &values, &cells));
        }
        let mut chosen = values.iter().map(|values| values.iter().any(|value| wanted.contains(value)));
        cells.retain(|_| chosen.next().unwrap_or(false));
    }
    if good && cells.is_empty() {
        let text = only.iter().map(|(key, values)| format!("{key}={}", values.join(","))).collect::<Vec<_>>().join(" ");
        let source = Source::option("--only", &text);
        sink.push(Diagnostic::error(Span::new(&source, 0..text.len()), "no cell matches all of these"));
        good = false;
    }
    good.then_some(cells)
}

/// What a cell is known by under a key: its names for `cell`, else the value of its axis or setting.
fn values(cell: &Resolved, key: &str) -> Vec<String> {
    if key == "cell" {
        let own = Some(cell.cell.name.clone());
        return own.into_iter().chain(cell.base.clone()).collect();
    }
    let axes = &cell.cell.axes;
    if let Some(value) = axes.get(key) {
        return vec![value.clone()];
    }
    let path: Vec<&str> = key.split('.').collect();
    if let Some(node) = cell.table.at(&path) {
        return vec![value_text(path.last().unwrap_or(&""), node)];
    }
    let short = axes.iter().filter(|(axis, _)| axis.rsplit('.').next() == Some(key)).map(|(_, value)| value.clone());
    short.collect()
}

fn no_match(key: &str, missing: &str, values: &[Vec<String>], cells: &[Resolved]) -> Diagnostic {
    let source = Source::option("--only", &format!("{key}={missing}"));
    let at = |range| Span::new(&source, range);
    let mut known: Vec<&str> = values.iter().flatten().map(String::as_str).collect();
    known.sort_unstable();
    known.dedup();
    if known.is_empty() {
        let mut keys: Vec<&str> = vec!["cell"];
        keys.extend(cells.iter().flat_map(|cell| cell.cell.axes.keys().map(String::as_str)));
        keys.sort_unstable();
        keys.dedup();
        let keys_text = keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
        let diagnostic = Diagnostic::error(at(0..key.len()), format!("no cell has `{key}`"));
        let diagnostic = match nearest(key, keys.iter().copied()) {
            Some(near) => diagnostic.label(format!("did you mean `{near}`?")),
            None => diagnostic,
        };
        return diagnostic
            .help(format!("choose by {keys_text}, or by any key that the campaign sets, such as `boot.kernel`"));
    }
    let diagnostic =
        Diagnostic::error(at(key.len() + 1..source.text.len()), format!("no cell has {key} = \"{missing}\""));
    let diagnostic = match nearest(missing, known.iter().copied()) {
        Some(near) => diagnostic.label(format!("did you mean \"{near}\"?")),
        None => diagnostic,
    };
    let shown = known.iter().take(20).map(|value| format!("\"{value}\"")).collect::<Vec<_>>().join(", ");
    let more =
        known.len().checked_sub(20).filter(|more| *more > 0).map_or(String::new(), |more| format!(" and {more} more"));
    diagnostic.help(format!("there are: {shown}{more}"))
}
