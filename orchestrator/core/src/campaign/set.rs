//! `--set key=value`: the value is tried as a string, then as TOML.

use super::head;
use super::settings::{self, CAMPAIGN_KEYS, Extent};
use crate::diagnostic::{Diagnostic, Diagnostics, Source, Span};
use crate::document::reader::Sink;
use crate::document::{self, Node, Table, Value, nest};

/// One `--set`, understood.
#[derive(Debug, Clone)]
pub(super) struct Assignment {
    /// Keys from the top, with their spans in the option's text.
    pub(super) path: Vec<(String, Span)>,
    node: Node,
}

impl Assignment {
    pub(super) fn first_key(&self) -> &str {
        self.path.first().map_or("", |(key, _)| key)
    }

    /// The layer it makes.
    pub(super) fn table(&self) -> Table {
        nest(&self.path, self.node.clone())
    }
}

pub(super) fn parse(set: &[(String, String)], sink: &Sink) -> Vec<Assignment> {
    set.iter().filter_map(|(key, value)| assignment(key, value, sink)).collect()
}

fn assignment(key: &str, value: &str, sink: &Sink) -> Option<Assignment> {
    let source = Source::option("--set", &format!("{key}={value}"));
    let whole = Span::new(&source, 0..source.text.len());
    let bad_key = || {
        Diagnostic::error(whole.clone(), format!("`{key}` is no key"))
            .help("write the key as in the file, with dots: --set measure.priority=80")
    };
    // The key alone, with a value that is always good TOML.
    let Some(path) = document::parse("--set", &format!("{key}=0")).ok().and_then(|parsed| path(&parsed.root, &source))
    else {
        sink.push(bad_key());
        return None;
    };
    let first = path.first().map_or("", |(key, _)| key.as_str());
    if matches!(first, "cell" | "matrix") {
        sink.push(
            Diagnostic::error(whole, format!("`{first}` cannot be set"))
                .help("set the key itself, which replaces it in every cell; choose cells by --only"),
        );
        return None;
    }
    let value_span = Span::new(&source, key.len() + 1..source.text.len());
    let as_text = Assignment { path, node: Node { value: Value::String(value.to_owned()), span: value_span.clone() } };
    let text_errors = errors(&as_text, whole.clone());
    if text_errors.is_empty() {
        return Some(as_text);
    }
    let as_toml = document::parse("--set", &format!("value={value}"))
        .ok()
        .filter(|parsed| parsed.errors.is_empty())
        .and_then(|parsed| {
            let [entry] = parsed.root.entries() else { return None };
            Some(Assignment { node: moved(&entry.node, &value_span), ..as_text.clone() })
        });
    let Some(as_toml) = as_toml else {
        text_errors.into_iter().for_each(|error| sink.push(error));
        return None;
    };
    let toml_errors = errors(&as_toml, whole);
    if toml_errors.is_empty() {
        return Some(as_toml);
    }
    toml_errors.into_iter().for_each(|error| sink.push(error));
    None
}

fn errors(assignment: &Assignment, whole: Span) -> Diagnostics {
    let sink = Sink::default();
    if CAMPAIGN_KEYS.contains(&assignment.first_key()) {
        head::check(&assignment.table(), whole, &sink);
    } else {
        settings::read(&assignment.table(), whole, Extent::Layer, &[], &sink);
    }
    sink.into_inner()
}

/// The path of the only entry, with spans moved to the option's own text.
fn path(root: &Table, source: &std::sync::Arc<Source>) -> Option<Vec<(String, Span)>> {
    let mut path = Vec::new();
    let mut table = root;
    loop {
        let [entry] = table.entries() else { return None };
        path.push((entry.key.clone(), Span::new(source, entry.key_span.range.clone())));
        match &entry.node.value {
            Value::Table(inner) => table = inner,
            Value::Integer(0) => return Some(path),
            _ => return None,
        }
    }
}

/// The node with every span set to the value's place on the command line.
fn moved(node: &Node, to: &Span) -> Node {
    let value = match &node.value {
        Value::Array(items) => Value::Array(items.iter().map(|item| moved(item, to)).collect()),
        Value::Table(table) => {
            let mut inner = Table::default();
            for entry in table.entries() {
                let node = moved(&entry.node, to);
                inner.set(document::Entry { key: entry.key.clone(), key_span: to.clone(), node });
            }
            Value::Table(inner)
        }
        other => other.clone(),
    };
    Node { value, span: to.clone() }
}
