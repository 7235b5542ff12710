//! The tree: order of the file kept, a span on everything.

use crate::diagnostic::{Source, Span};
use std::sync::Arc;
use toml::de::{DeTable, DeValue};

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Where.
    pub span: Span,
}

/// A TOML value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Text.
    String(String),
    /// A whole number; too large ones are clamped.
    Integer(i128),
    /// A number with a fraction.
    Float(f64),
    /// `true` or `false`.
    Boolean(bool),
    /// A date or time.
    Datetime,
    /// A list.
    Array(Vec<Node>),
    /// A table.
    Table(Table),
    /// Could not be read; the syntax error is already reported.
    Damaged,
}

impl Value {
    /// What it is, with article, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::String(_) => "text",
            Self::Integer(_) => "a whole number",
            Self::Float(_) => "a number with a fraction",
            Self::Boolean(_) => "a boolean",
            Self::Datetime => "a date or time",
            Self::Array(_) => "a list",
            Self::Table(_) => "a table",
            Self::Damaged => "unreadable",
        }
    }
}

/// A key with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub key_span: Span,
    /// Its value.
    pub node: Node,
}

/// A table in the order of the file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    entries: Vec<Entry>,
}

impl Table {
    /// The entries in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry of `key`.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.node)
    }

    /// The value at a path of keys.
    pub fn at<S: AsRef<str>>(&self, path: &[S]) -> Option<&Node> {
        let (last, tables) = path.split_last()?;
        let mut table = self;
        for key in tables {
            match &table.get(key.as_ref())?.value {
                Value::Table(inner) => table = inner,
                _ => return None,
            }
        }
        table.get(last.as_ref())
    }

    /// Takes the entry of `key` out.
    pub fn remove(&mut self, key: &str) -> Option<Entry> {
        let index = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(index))
    }

    /// Sets an entry, in place of one with the same key or at the end.
    pub fn set(&mut self, entry: Entry) {
        match self.entries.iter_mut().find(|old| old.key == entry.key) {
            Some(old) => *old = entry,
            None => self.entries.push(entry),
        }
    }

    /// Lays `upper` over this table: tables are merged, everything else is replaced.
    /// `drops(path, key)` names the keys of the lower table, at the same path, that a key of the upper one puts out of force.
    pub fn overlay(&mut self, upper: &Self, drops: &Drops) {
        self.overlay_at(upper, drops, &mut Vec::new());
    }

    fn overlay_at(&mut self, upper: &Self, drops: &Drops, path: &mut Vec<String>) {
        for entry in &upper.entries {
            for dropped in drops(path, entry) {
                if upper.entry(dropped).is_none() {
                    self.remove(dropped);
                }
            }
        }
        for entry in &upper.entries {
            let lower = self.entries.iter_mut().find(|old| old.key == entry.key);
            match (lower.map(|old| &mut old.node.value), &entry.node.value) {
                (Some(Value::Table(below)), Value::Table(above)) => {
                    path.push(entry.key.clone());
                    below.overlay_at(above, drops, path);
                    path.pop();
                }
                _ => self.set(entry.clone()),
            }
        }
    }

    /// Marks the innermost value at `span` as damaged; false if no value stands there.
    pub(super) fn damage(&mut self, span: &Span) -> bool {
        self.entries.iter_mut().any(|entry| damage(&mut entry.node, span))
    }

    /// Spans of every key `name`, at any depth.
    pub(super) fn keys_named<'a>(&'a self, name: &'a str) -> Box<dyn Iterator<Item = Span> + 'a> {
        Box::new(self.entries.iter().flat_map(move |entry| {
            let own = (entry.key == name).then(|| entry.key_span.clone());
            let inner = match &entry.node.value {
                Value::Table(table) => Some(table.keys_named(name)),
                _ => None,
            };
            own.into_iter().chain(inner.into_iter().flatten())
        }))
    }
}

/// See [`Table::overlay`].
pub type Drops = dyn Fn(&[String], &Entry) -> &'static [&'static str];

/// A table of one value at a path, whose tables carry the spans of the path's keys.
pub fn nest(path: &[(String, Span)], node: Node) -> Table {
    let mut path = path.iter().rev();
    let mut table = Table::default();
    let Some((key, key_span)) = path.next() else { return table };
    table.set(Entry { key: key.clone(), key_span: key_span.clone(), node });
    for (key, key_span) in path {
        let node = Node { value: Value::Table(table), span: key_span.clone() };
        table = Table { entries: vec![Entry { key: key.clone(), key_span: key_span.clone(), node }] };
    }
    table
}

fn damage(node: &mut Node, at: &Span) -> bool {
    let inner = match &mut node.value {
        Value::Table(table) => return table.damage(at),
        Value::Array(list) => list.iter_mut().any(|item| damage(item, at)),
        _ => false,
    };
    let here = !inner && node.span.range.start <= at.range.start && at.range.end <= node.span.range.end;
    if here {
        node.value = Value::Damaged;
    }
    inner || here
}

pub(super) fn table(source: &Arc<Source>, parsed: DeTable<'_>) -> Table {
    let mut entries: Vec<Entry> = parsed
        .into_iter()
        .map(|(key, value)| Entry {
            key_span: Span::new(source, key.span()),
            key: key.into_inner().into_owned(),
            node: node(source, value),
        })
        .collect();
    entries.sort_by_key(|entry| entry.key_span.range.start);
    Table { entries }
}

fn node(source: &Arc<Source>, parsed: toml::Spanned<DeValue<'_>>) -> Node {
    let span = Span::new(source, parsed.span());
    let value = match parsed.into_inner() {
        DeValue::String(text) => Value::String(text.into_owned()),
        DeValue::Integer(number) => Value::Integer(integer(number.as_str(), number.radix())),
        DeValue::Float(number) => Value::Float(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(value) => Value::Boolean(value),
        DeValue::Datetime(_) => Value::Datetime,
        DeValue::Array(list) => Value::Array(list.into_iter().map(|item| node(source, item)).collect()),
        DeValue::Table(inner) => Value::Table(table(source, inner)),
    };
    Node { value, span }
}

fn integer(text: &str, radix: u32) -> i128 {
    i128::from_str_radix(text, radix).unwrap_or(if text.starts_with('-') { i128::MIN } else { i128::MAX })
}
