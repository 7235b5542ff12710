//! Campaign files: text → checked [`model::Campaign`].
//!
//! Layers, each over the one before: file → `[[cell]]` → `[matrix]` axes → `--set` → duplicates dropped → `--only`.
//! They are laid over each other as parsed tables, and every cell is then read by one function, so that an error points at
//! the entry that caused it, whichever layer it stands in.

mod combinations;
mod conditions;
mod fit;
mod from_cyclictest;
mod gate;
mod head;
mod layers;
mod loads;
pub mod model;
mod names;
mod only;
mod set;
mod settings;
#[cfg(test)]
mod tests;

pub(crate) use fit::thread_count;
pub use fit::{Misfit, MisfitKind, fit};
pub use from_cyclictest::{CannotConvert, from_cyclictest};
pub(crate) use settings::description;

use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::document::reader::Sink;
use crate::document::{self, Table};
use layers::Draft;
use model::{Campaign, Cell};
use settings::{CAMPAIGN_KEYS, Extent};
use std::collections::HashMap;

/// Most cells of a campaign.
pub const MOST_CELLS: usize = 10_000;
/// Every cell holds its own copy of the file's values: most bytes of all copies.
const MOST_COPIED: usize = 256 << 20;

/// What the command line changes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Overrides {
    /// `--set key=value`, in order.
    pub set: Vec<(String, String)>,
    /// `--only key=a,b`.
    pub only: Vec<(String, Vec<String>)>,
    /// `--target`: replaces `targets`.
    pub targets: Vec<String>,
}

/// A campaign that can be used.
#[derive(Debug)]
pub struct Loaded {
    /// The campaign.
    pub campaign: Campaign,
    /// What is probably not meant.
    pub warnings: Diagnostics,
    /// Where each target is named, in the order of [`Campaign::targets`]; empty where `--target` names them.
    pub target_spans: Vec<Span>,
    /// All layers of each cell, in the order of [`Campaign::cells`].
    tables: Vec<Table>,
    /// The file as a whole.
    whole: Span,
}

impl Loaded {
    /// Where a cell's key got its value; the file as a whole where no layer gives it.
    fn span(&self, cell: usize, path: &[&str]) -> Span {
        let node = self.tables.get(cell).and_then(|table| table.at(path));
        node.map_or_else(|| self.whole.clone(), |node| node.span.clone())
    }

    /// Leaves cells out, by name.
    pub fn drop_cells(&mut self, names: &[&str]) {
        let keep: Vec<bool> = self.campaign.cells.iter().map(|cell| !names.contains(&cell.name.as_str())).collect();
        let (mut of_cells, mut of_tables) = (keep.iter().copied(), keep.iter().copied());
        self.campaign.cells.retain(|_| of_cells.next().unwrap_or(true));
        self.tables.retain(|_| of_tables.next().unwrap_or(true));
    }

    /// The same, only if a layer gives it.
    fn span_if_given(&self, cell: usize, path: &[&str]) -> Option<Span> {
        self.tables.get(cell)?.at(path).map(|node| node.span.clone())
    }
}

/// Reads a campaign. All that is wrong is reported at once.
pub fn load(file_name: &str, text: &str, overrides: &Overrides) -> Result<Loaded, Diagnostics> {
    let document = document::parse(file_name, text)?;
    let whole = Span::whole(&document.source);
    if document.root.entries().is_empty() && document.errors.is_empty() {
        let empty = Diagnostic::error(whole, "empty file: no campaign in it");
        return Err([empty.help("a campaign has at least `name` and `duration`; see docs/campaign.md")]
            .into_iter()
            .collect());
    }
    let sink = Sink::default();
    document.errors.into_iter().for_each(|error| sink.push(error));
    let mut file = document.root;
    let assignments = set::parse(&overrides.set, &sink);
    let (for_campaign, for_cells): (Vec<_>, Vec<_>) =
        assignments.into_iter().partition(|assignment| CAMPAIGN_KEYS.contains(&assignment.first_key()));
    for assignment in &for_campaign {
        file.overlay(&assignment.table(), &|_, _| &[]);
    }
    let head = head::read(&file, whole.clone(), &overrides.targets, &sink);
    let layers = layers::read(&file, &for_cells, whole.clone(), &sink);
    let drafts = if sink.is_full() { Vec::new() } else { layers.drafts(&for_cells, &sink) };
    let mut resolved = resolve(drafts, &sink);
    if let (Some(head), false) = (head, sink.has_errors()) {
        let defined = layers.load_names();
        let load_is_set = for_cells.iter().any(|assignment| assignment.first_key() == "load");
        if !load_is_set {
            warn_unused_loads(&defined, &resolved, &sink);
        }
        let kept = drop_duplicates(&mut resolved, &sink);
        if let Some(chosen) = only::choose(kept, &overrides.only, &sink) {
            let (cells, tables) = chosen.into_iter().map(|cell| (cell.cell, cell.table)).unzip();
            let campaign = Campaign {
                name: head.name,
                description: head.description,
                targets: head.targets,
                cells,
                plan: head.plan,
            };
            let mut warnings = sink.into_inner();
            warnings.sort();
            return Ok(Loaded { campaign, warnings, target_spans: head.target_spans, tables, whole });
        }
    }
    let mut errors = sink.into_inner();
    errors.sort();
    Err(errors)
}

/// A cell with what it was made of.
#[derive(Debug, Clone)]
struct Resolved {
    cell: Cell,
    /// Name of its `[[cell]]`.
    base: Option<String>,
    table: Table,
    at: Span,
}

fn resolve(drafts: Vec<Draft>, sink: &Sink) -> Vec<Resolved> {
    let mut names: HashMap<String, usize> = HashMap::new();
    let mut unique = |name: String| {
        let count = names.entry(name.clone()).and_modify(|count| *count += 1).or_insert(1);
        if *count == 1 { name } else { format!("{name}~{count}") }
    };
    drafts
        .into_iter()
        .map(|draft| {
            let settings = settings::read(&draft.table, draft.home, Extent::Whole, CAMPAIGN_KEYS, sink);
            let cell = Cell { name: unique(draft.name), axes: draft.axes, settings };
            Resolved { cell, base: draft.base, table: draft.table, at: draft.at }
        })
        .collect()
}

fn drop_duplicates(cells: &mut Vec<Resolved>, sink: &Sink) -> Vec<Resolved> {
    let mut seen: HashMap<String, (String, Span)> = HashMap::new();
    let mut kept = Vec::new();
    for cell in cells.drain(..) {
        let key = serde_json::to_string(&cell.cell.settings).expect("settings are plain data");
        if let Some((first, at)) = seen.get(&key) {
            let message = format!("cell `{}` is the same as `{first}`, and is measured once", cell.cell.name);
            sink.push(Diagnostic::warning(cell.at.clone(), message).also(at.clone(), "the same"));
        } else {
            seen.insert(key, (cell.cell.name.clone(), cell.at.clone()));
            kept.push(cell);
        }
    }
    kept
}

fn warn_unused_loads(defined: &[(String, Span)], cells: &[Resolved], sink: &Sink) {
    for (name, span) in defined {
        let used = cells.iter().any(|cell| cell.cell.settings.loads.iter().any(|load| load.name == *name));
        if !used {
            let warning = Diagnostic::warning(span.clone(), format!("load `{name}` is never used"));
            sink.push(warning.help(format!("name it in `load = [\"{name}\"]`, or remove it")));
        }
    }
}
