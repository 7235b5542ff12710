//! How cells are called, and how values are shown in their names.

use super::loads::IDLE;
use crate::document::{Node, Value};

/// Longest cell name, in bytes: it becomes part of a directory name.
const LONGEST: usize = 120;

/// How a value is shown in cell names and matched by `--only`.
pub(super) fn value_text(key: &str, node: &Node) -> String {
    match &node.value {
        Value::String(text) if text.is_empty() => "none".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() && key == "load" => IDLE.to_owned(),
        Value::Array(items) if items.is_empty() => "none".to_owned(),
        Value::Array(items) => items.iter().map(|item| value_text("", item)).collect::<Vec<_>>().join("+"),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Boolean(value) => value.to_string(),
        Value::Table(table) => {
            let parts = table.entries().iter().map(|entry| format!("{}={}", entry.key, value_text("", &entry.node)));
            parts.collect::<Vec<_>>().join("+")
        }
        Value::Datetime | Value::Damaged => node.span.text().to_owned(),
    }
}

/// A cell's name, fit for a file name.
pub(super) fn file_name(name: &str) -> String {
    if name.is_empty() {
        return "default".to_owned();
    }
    let fit = |c: char| if c.is_ascii_alphanumeric() || "._-+=,@".contains(c) { c } else { '_' };
    name.chars().map(fit).take(LONGEST).collect()
}
