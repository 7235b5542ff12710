//! The layers of a campaign file: what stands at its top, `[[cell]]` and `[matrix]`.

use super::names::{file_name, value_text};
use super::set::Assignment;
use super::settings::{self, CAMPAIGN_KEYS, Extent, drops};
use super::{MOST_CELLS, MOST_COPIED};
use crate::diagnostic::{Diagnostic, Span};
use crate::document::reader::{Reader, Sink};
use crate::document::values::name;
use crate::document::{Node, Table, Value, nest};
use std::collections::BTreeMap;

/// A `[[cell]]`.
#[derive(Debug, Clone)]
pub(super) struct CellLayer {
    pub(super) name: String,
    pub(super) table: Table,
    pub(super) at: Span,
}

/// An axis of the matrix.
#[derive(Debug, Clone)]
pub(super) struct Axis {
    path: Vec<(String, Span)>,
    values: Vec<Node>,
}

impl Axis {
    /// Key as written, `boot.isolcpus`.
    fn key(&self) -> String {
        self.path.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>().join(".")
    }

    fn last_key(&self) -> &str {
        self.path.last().map_or("", |(key, _)| key)
    }
}

#[derive(Debug)]
pub(super) struct Layers {
    base: Table,
    cells: Vec<CellLayer>,
    axes: Vec<Axis>,
    whole: Span,
}

/// A cell before it is read: its layers laid over each other.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub(super) name: String,
    pub(super) base: Option<String>,
    pub(super) axes: BTreeMap<String, String>,
    pub(super) table: Table,
    /// What tells it from its neighbours: its name, or the value of its last axis.
    pub(super) at: Span,
    /// Where a key that it lacks is missed: its `[[cell]]`, or the file.
    pub(super) home: Span,
}

/// Takes the layers apart and checks each on its own.
pub(super) fn read(file: &Table, set: &[Assignment], whole: Span, sink: &Sink) -> Layers {
    let mut base = file.clone();
    settings::read(&base, whole.clone(), Extent::Layer, CAMPAIGN_KEYS, sink);
    CAMPAIGN_KEYS.iter().for_each(|key| {
        base.remove(key);
    });
    let cells = file.get("cell").map_or_else(Vec::new, |node| cells(node, sink));
    let mut axes = Vec::new();
    if let Some(node) = file.get("matrix") {
        match &node.value {
            Value::Table(table) => collect_axes(table, &mut Vec::new(), &mut axes, sink),
            Value::Damaged => {}
            other => sink.push(
                Diagnostic::error(node.span.clone(), "`matrix` is a table")
                    .label(format!("this is {}", other.kind()))
                    .help("write a `[matrix]` section with one list per axis: `boot.isolcpus = [\"1\", \"none\"]`"),
            ),
        }
    }
    axes.sort_by_key(|axis: &Axis| axis.path.last().map_or(0, |(_, span)| span.range.start));
    for axis in &axes {
        for value in &axis.values {
            settings::read(&nest(&axis.path, value.clone()), value.span.clone(), Extent::Layer, &[], sink);
        }
    }
    axes.retain(|axis| !set.iter().any(|assignment| replaces(assignment, axis)));
    Layers { base, cells, axes, whole }
}

/// Whether `--set` takes an axis' place: the same key, a table around it, or an alternative of it.
fn replaces(set: &Assignment, axis: &Axis) -> bool {
    let keys = |path: &[(String, Span)]| path.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
    let (set_keys, axis_keys) = (keys(&set.path), keys(&axis.path));
    if axis_keys.starts_with(&set_keys) {
        return true;
    }
    let (Some((_, parents)), Some((axis_last, axis_parents))) = (set_keys.split_last(), axis_keys.split_last()) else {
        return false;
    };
    let layer = set.table();
    let entry = match parents {
        [] => layer.entries().first(),
        _ => match layer.at(parents).map(|node| &node.value) {
            Some(Value::Table(table)) => table.entries().first(),
            _ => None,
        },
    };
    parents == axis_parents && entry.is_some_and(|entry| drops(parents, entry).contains(&axis_last.as_str()))
}

fn cells(node: &Node, sink: &Sink) -> Vec<CellLayer> {
    let Value::Array(items) = &node.value else {
        if node.value != Value::Damaged {
            sink.push(
                Diagnostic::error(node.span.clone(), "`cell` is a list of tables")
                    .label(format!("this is {}", node.value.kind()))
                    .help("begin each cell with `[[cell]]`, in double brackets"),
            );
        }
        return Vec::new();
    };
    if items.len() > MOST_CELLS {
        let message = format!("the campaign has {} cells, more than {MOST_CELLS}", items.len());
        sink.push(Diagnostic::error(node.span.clone(), message));
        return Vec::new();
    }
    let mut cells: Vec<CellLayer> = Vec::new();
    for item in items {
        let Some(mut reader) = Reader::of_node(item, "cell", sink) else { continue };
        let Value::Table(table) = &item.value else { continue };
        settings::read(table, item.span.clone(), Extent::Layer, &["name"], sink);
        if !reader.has("name") {
            reader.missing("name", "each `[[cell]]` has a name, which stands in the results: `name = \"isolated\"`");
        }
        let Some(cell_name) = reader.field("name", name) else { continue };
        let at = table.get("name").map_or_else(|| item.span.clone(), |node| node.span.clone());
        if let Some(first) = cells.iter().find(|cell| cell.name == cell_name) {
            sink.push(
                Diagnostic::error(at.clone(), format!("two cells are called `{cell_name}`"))
                    .also(first.at.clone(), "first here")
                    .help("results are kept by cell name: give each its own"),
            );
        }
        let mut table = table.clone();
        table.remove("name");
        cells.push(CellLayer { name: cell_name, table, at });
    }
    cells
}

fn collect_axes(table: &Table, path: &mut Vec<(String, Span)>, axes: &mut Vec<Axis>, sink: &Sink) {
    for entry in table.entries() {
        path.push((entry.key.clone(), entry.key_span.clone()));
        match &entry.node.value {
            Value::Array(values) if values.is_empty() => sink.push(
                Diagnostic::error(entry.node.span.clone(), format!("axis `{}` has no value", entry.key))
                    .help("give at least one value, or remove the axis"),
            ),
            Value::Array(values) if values.len() > MOST_CELLS => sink.push(
                Diagnostic::error(entry.key_span.clone(), format!("axis `{}` has {} values", entry.key, values.len()))
                    .label(format!("a campaign has at most {MOST_CELLS} cells")),
            ),
            Value::Array(values) => {
                let values = values.iter().filter(|value| value.value != Value::Damaged).cloned().collect();
                axes.push(Axis { path: path.clone(), values });
            }
            Value::Table(inner) => collect_axes(inner, path, axes, sink),
            Value::Damaged => {}
            other => sink.push(
                Diagnostic::error(entry.node.span.clone(), format!("axis `{}` is a list of values", entry.key))
                    .label(format!("this is {}", other.kind()))
                    .help(format!("write [{}], or move the key out of `[matrix]`", entry.node.span.text())),
            ),
        }
        path.pop();
    }
}

impl Layers {
    /// Every load that the file defines, with where.
    pub(super) fn load_names(&self) -> Vec<(String, Span)> {
        let tables = std::iter::once(&self.base).chain(self.cells.iter().map(|cell| &cell.table));
        let loads = tables.filter_map(|table| match table.get("loads").map(|node| &node.value) {
            Some(Value::Table(loads)) => Some(loads),
            _ => None,
        });
        let mut names: Vec<(String, Span)> = Vec::new();
        for entry in loads.flat_map(Table::entries) {
            if !names.iter().any(|(name, _)| *name == entry.key) {
                names.push((entry.key.clone(), entry.key_span.clone()));
            }
        }
        names
    }

    /// Every cell in the order of the file, the last axis turning fastest.
    pub(super) fn drafts(&self, set: &[Assignment], sink: &Sink) -> Vec<Draft> {
        let factors = self.axes.iter().map(|axis| axis.values.len());
        let count = factors.fold(self.cells.len().max(1), usize::saturating_mul);
        if count > MOST_CELLS {
            let at = self.axes.first().and_then(|axis| axis.path.first()).map_or(&self.whole, |(_, span)| span);
            sink.push(
                Diagnostic::error(at.clone(), format!("the campaign has {count} cells, more than {MOST_CELLS}"))
                    .help("each value of an axis multiplies the number of cells"),
            );
            return Vec::new();
        }
        let size = self.whole.source.text.len();
        if size.saturating_mul(count) > MOST_COPIED {
            let message = format!("{count} cells of a file of {size} bytes are too much");
            sink.push(Diagnostic::error(self.whole.clone(), message).help("make two campaigns of it"));
            return Vec::new();
        }
        let mut drafts = Vec::with_capacity(count);
        if self.cells.is_empty() {
            let draft = Draft {
                name: String::new(),
                base: None,
                axes: BTreeMap::new(),
                table: self.base.clone(),
                at: self.whole.clone(),
                home: self.whole.clone(),
            };
            self.multiply(draft, &self.axes, &mut drafts);
        }
        for cell in &self.cells {
            let mut table = self.base.clone();
            table.overlay(&cell.table, &drops);
            let draft = Draft {
                name: cell.name.clone(),
                base: Some(cell.name.clone()),
                axes: BTreeMap::new(),
                table,
                at: cell.at.clone(),
                home: cell.at.clone(),
            };
            self.multiply(draft, &self.axes, &mut drafts);
        }
        for draft in &mut drafts {
            for assignment in set {
                draft.table.overlay(&assignment.table(), &drops);
            }
            draft.name = file_name(&draft.name);
        }
        drafts
    }

    fn multiply(&self, draft: Draft, axes: &[Axis], drafts: &mut Vec<Draft>) {
        let Some((axis, rest)) = axes.split_first() else {
            drafts.push(draft);
            return;
        };
        for value in &axis.values {
            let mut next = draft.clone();
            let text = value_text(axis.last_key(), value);
            let comma = if next.name.is_empty() { "" } else { "," };
            next.name = format!("{}{comma}{}={text}", next.name, self.short(axis));
            next.axes.insert(axis.key(), text);
            next.table.overlay(&nest(&axis.path, value.clone()), &drops);
            next.at = value.span.clone();
            self.multiply(next, rest, drafts);
        }
    }

    /// The last part of an axis' key, where no other axis has the same; else the whole.
    fn short(&self, axis: &Axis) -> String {
        let same = self.axes.iter().filter(|other| other.last_key() == axis.last_key()).count();
        if same > 1 { axis.key() } else { axis.last_key().to_owned() }
    }
}
