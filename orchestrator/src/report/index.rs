//! Figures of every finished run in one file, so that a year of nights is read in a moment.
//!
//! `RESULTS/index.jsonl` is derived and may be deleted at any time: the run directories are the truth. An entry holds as long as the
//! manifest of its run has the same hash, which is looked at for runs that are shown; another version of latlab judges everything anew.

use super::stored::{self, Stored};
use crate::store::{ExecutionDir, RunDir, Store, StoreError};
use latlab_core::judgement::{Validity, Verdict};
use latlab_core::result::{Bound, Figure, QUANTILES, RunResult};
pub use latlab_core::trend::Metric;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

const FILE: &str = "index.jsonl";

/// First line of the index: who derived it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    format: u32,
    latlab: String,
}

impl Head {
    fn own() -> Self {
        Self { format: 1, latlab: env!("CARGO_PKG_VERSION").to_owned() }
    }
}

/// Figures of one finished run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Execution.
    pub execution: String,
    /// Run.
    pub run: String,
    /// SHA-256 of its manifest.
    manifest: String,
    /// Campaign.
    pub campaign: String,
    /// Cell.
    pub cell: String,
    /// Target.
    pub target: String,
    /// When it was submitted, by the host's clock.
    pub started_at: Option<String>,
    /// Validity.
    pub validity: Validity,
    /// Verdict.
    pub verdict: Verdict,
    /// Measured wake-ups.
    pub cycles: u64,
    /// Missed periods.
    pub missed: u64,
    /// Largest latency observed.
    pub max: Option<Figure>,
    /// Mean latency, in ns.
    pub mean_ns: Option<f64>,
    /// Quantiles by name.
    pub quantiles: BTreeMap<String, Figure>,
}

impl Entry {
    fn new(result: &RunResult, manifest: String) -> Self {
        let id = &result.identity;
        let quantile = |q: &&str| Some(((*q).to_owned(), result.quantile(q)?));
        Self {
            execution: id.execution.clone(),
            run: id.run.clone(),
            manifest,
            campaign: id.campaign.clone(),
            cell: id.cell.clone(),
            target: id.target.clone(),
            started_at: id.started_at.clone(),
            validity: result.validity,
            verdict: result.verdict,
            cycles: result.total.cycles,
            missed: result.total.missed,
            max: result.total.max,
            mean_ns: result.total.mean_ns,
            quantiles: QUANTILES.iter().filter_map(quantile).collect(),
        }
    }

    /// Whether it is that run.
    pub fn is(&self, execution: &str, run: &str) -> bool {
        self.execution == execution && self.run == run
    }

    /// What the figure of `metric` surely reaches, where only a lower bound is known.
    pub fn lower_bound(&self, metric: Metric) -> Option<f64> {
        let figure = match metric {
            Metric::Max => self.max,
            Metric::Quantile(q) => self.quantiles.get(q).copied(),
            Metric::Mean | Metric::Missed => None,
        };
        figure.filter(|figure| figure.bound == Bound::Above).map(|figure| figure.ns as f64)
    }

    /// The figure of `metric`, in its unit; `None` without one, or where only a lower bound is known.
    pub fn figure(&self, metric: Metric) -> Option<f64> {
        let exact = |figure: Figure| (figure.bound != Bound::Above).then_some(figure.ns as f64);
        match metric {
            Metric::Max => self.max.and_then(exact),
            Metric::Mean => self.mean_ns,
            Metric::Missed => Some(self.missed as f64),
            Metric::Quantile(q) => self.quantiles.get(q).copied().and_then(exact),
        }
    }
}

/// Runs of one execution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Execution {
    execution: String,
    /// When a run directory was last added or removed, in ns since 1970. Absent: not every planned run is finished, so it is looked at anew.
    settled: Option<u128>,
    entries: Vec<Entry>,
}

/// The newest finished runs of a target, `last` of each campaign and cell, oldest first; and what could not be read. The
/// index is brought up to date.
pub fn newest(store: &Store, target: &str, last: usize) -> Result<(Vec<Entry>, Vec<String>), StoreError> {
    let mut known = load(store);
    let mut unreadable = Vec::new();
    let all = refresh(store, &mut known, &mut unreadable)?;
    let mut chosen = choose(&all, target, last);
    // What is shown is checked to its manifest; what is not shown is not worth a file each.
    let altered = |entry: &Entry| manifest(store, &entry.execution, &entry.run) != Some(entry.manifest.clone());
    let stale: BTreeSet<String> = chosen.iter().filter(|e| altered(e)).map(|e| e.execution.clone()).collect();
    if !stale.is_empty() {
        stale.iter().for_each(|execution| drop(known.remove(execution)));
        unreadable.clear();
        chosen = choose(&refresh(store, &mut known, &mut unreadable)?, target, last);
    }
    Ok((chosen, unreadable))
}

/// The finished runs of these executions, each by its manifest as it is now, and what could not be read; an execution that
/// is gone has none. The index is brought up to date.
pub fn finished(store: &Store, executions: &BTreeSet<String>) -> Result<(Vec<Entry>, Vec<String>), StoreError> {
    let mut known = load(store);
    let (mut entries, mut unreadable, mut changed) = (Vec::new(), Vec::new(), false);
    for name in executions {
        let path = store.root().join(name);
        if !path.join("plan.json").is_file() {
            continue;
        }
        let derived = derive(&path, known.get(name), &mut unreadable)?;
        entries.extend(derived.entries.iter().cloned());
        if known.get(name) != Some(&derived) {
            known.insert(name.clone(), derived);
            changed = true;
        }
    }
    if changed {
        let mut all: Vec<Execution> = known.into_values().collect();
        all.sort_by(|a, b| a.execution.cmp(&b.execution));
        keep(store, &all);
    }
    Ok((entries, unreadable))
}

/// Targets with a finished run, by the index.
pub fn targets(store: &Store) -> BTreeSet<String> {
    load(store).into_values().flat_map(|execution| execution.entries).map(|entry| entry.target).collect()
}

fn choose(all: &[Execution], target: &str, last: usize) -> Vec<Entry> {
    let mut seen: HashMap<(&str, &str), usize> = HashMap::new();
    let mut newest = Vec::new();
    for entry in all.iter().rev().flat_map(|execution| execution.entries.iter().rev()) {
        let count = seen.entry((&entry.campaign, &entry.cell)).or_default();
        if entry.target == target && *count < last {
            *count += 1;
            newest.push(entry.clone());
        }
    }
    newest.reverse();
    newest
}

/// Every execution, oldest first; the index is kept where it changed.
fn refresh(
    store: &Store,
    known: &mut HashMap<String, Execution>,
    unreadable: &mut Vec<String>,
) -> Result<Vec<Execution>, StoreError> {
    let mut all = Vec::new();
    for path in store.execution_paths()? {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let old = known.get(&name);
        match old.filter(|old| old.settled.is_some() && old.settled == changed(&path)) {
            Some(old) => all.push(old.clone()),
            None => match derive(&path, old, unreadable) {
                Ok(execution) => all.push(execution),
                Err(error) => unreadable.push(error.to_string()),
            },
        }
    }
    let same =
        all.len() == known.len() && all.iter().all(|execution| known.get(&execution.execution) == Some(execution));
    if !same {
        keep(store, &all);
        *known = all.iter().map(|execution| (execution.execution.clone(), execution.clone())).collect();
    }
    Ok(all)
}

/// Reads an execution; runs whose manifest is as in `old` are taken from there.
fn derive(path: &Path, old: Option<&Execution>, unreadable: &mut Vec<String>) -> Result<Execution, StoreError> {
    let execution = ExecutionDir::open(path)?;
    let settled = changed(path);
    let (mut entries, mut finished) = (Vec::new(), true);
    for (planned, run) in execution.runs() {
        // Without a manifest it is not over.
        let Some(manifest) = run.manifest_hash() else {
            finished = false;
            continue;
        };
        let known = old.and_then(|old| old.entries.iter().find(|e| e.run == planned.name && e.manifest == manifest));
        if let Some(known) = known {
            entries.push(known.clone());
            continue;
        }
        match stored::read(&execution, planned) {
            Ok(Stored::Measured(result, _)) => entries.push(Entry::new(&result, manifest)),
            Ok(Stored::NotStarted(..)) => {}
            Err(error) => {
                finished = false;
                unreadable.push(format!("{}/{}: {error}", execution.name(), planned.name));
            }
        }
    }
    Ok(Execution { execution: execution.name().to_owned(), settled: settled.filter(|_| finished), entries })
}

fn changed(execution: &Path) -> Option<u128> {
    let modified = std::fs::metadata(execution.join("runs")).and_then(|about| about.modified()).ok()?;
    modified.duration_since(std::time::UNIX_EPOCH).ok().map(|since| since.as_nanos())
}

fn manifest(store: &Store, execution: &str, run: &str) -> Option<String> {
    RunDir::at(store.root().join(execution).join("runs").join(run)).manifest_hash()
}

/// Executions by name; none of another version, and none of a line that cannot be read.
fn load(store: &Store) -> HashMap<String, Execution> {
    let content = store.derived(FILE).unwrap_or_default();
    let mut lines = content.split(|byte| *byte == b'\n');
    let head = lines.next().and_then(|line| serde_json::from_slice::<Head>(line).ok());
    if head != Some(Head::own()) {
        return HashMap::new();
    }
    let executions = lines.filter_map(|line| serde_json::from_slice::<Execution>(line).ok());
    executions.map(|execution| (execution.execution.clone(), execution)).collect()
}

/// A results directory that may only be read serves as well, more slowly.
fn keep(store: &Store, all: &[Execution]) {
    if let Err(error) = save(store, all) {
        tracing::debug!("the index is not kept: {error}");
    }
}

fn save(store: &Store, all: &[Execution]) -> Result<(), StoreError> {
    let mut content = serde_json::to_vec(&Head::own()).unwrap_or_default();
    for execution in all {
        content.push(b'\n');
        content.extend(serde_json::to_vec(execution).unwrap_or_default());
    }
    content.push(b'\n');
    store.keep_derived(FILE, &content)
}
