//! Diagnostics in one line each, for tables of expected messages.

use super::Diagnostics;

/// `line:column text | message | label | help`, one per diagnostic; secondary labels as `~ line:column label`.
pub(crate) fn lines(found: &Diagnostics) -> Vec<String> {
    let json = found.to_json();
    json.into_iter()
        .map(|d| {
            let text = d.at.text.replace('\n', "\\n");
            let mut line = format!("{}:{} {text} | {}", d.at.line, d.at.column, d.message);
            if !d.at.label.is_empty() {
                line += &format!(" | {}", d.at.label);
            }
            for place in d.related {
                line += &format!(" ~ {}:{} {}", place.line, place.column, place.label);
            }
            if let Some(help) = d.help {
                line += &format!(" | {help}");
            }
            line
        })
        .collect()
}
