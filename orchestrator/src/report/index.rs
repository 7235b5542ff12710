//! Figures of every finished run in one file, so that a year of nights is read in a moment.
//!
//! `RESULTS/index.jsonl` is derived and may be deleted at any time: the run directories are the truth. An entry holds as long as the
//! manifest of its run has the same hash; another version of latlab judges everything anew.

use super::stored::{self, Stored};
use crate::store::{ExecutionDir, PlannedRun, Store, StoreError, sha256_hex};
use latlab_core::judgement::{Validity, Verdict};
use latlab_core::result::{Bound, Figure, QUANTILES, RunResult};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

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

/// A figure of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Largest latency, ns.
    Max,
    /// Mean latency, ns.
    Mean,
    /// Missed periods.
    Missed,
    /// One of [`QUANTILES`], ns.
    Quantile(&'static str),
}

impl Metric {
    /// Names and what they mean.
    pub const ALL: [(&'static str, Metric); 7] = [
        ("max", Metric::Max),
        ("p99.99", Metric::Quantile("0.9999")),
        ("p99.9", Metric::Quantile("0.999")),
        ("p99", Metric::Quantile("0.99")),
        ("p50", Metric::Quantile("0.5")),
        ("mean", Metric::Mean),
        ("missed", Metric::Missed),
    ];

    /// By its name.
    pub fn named(name: &str) -> Option<Metric> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, metric)| *metric)
    }
}

/// Every finished run, oldest execution first; the index is brought up to date. What cannot be read is left out and
/// named in the second list.
pub fn entries(store: &Store) -> Result<(Vec<Entry>, Vec<String>), StoreError> {
    let known = load(store);
    let (mut all, mut unreadable, mut fresh) = (Vec::new(), Vec::new(), 0);
    for execution in store.executions()? {
        let execution = match execution {
            Ok(execution) => execution,
            Err(error) => {
                unreadable.push(error.to_string());
                continue;
            }
        };
        for (planned, run) in execution.runs() {
            // Without a manifest it is not over.
            let Ok(manifest) = std::fs::read(run.path().join("manifest.json")) else { continue };
            let manifest = sha256_hex(&manifest);
            if let Some(entry) = known.get(&manifest) {
                all.push(entry.clone());
                continue;
            }
            match derive(&execution, planned, manifest) {
                Ok(entry) => {
                    fresh += usize::from(entry.is_some());
                    all.extend(entry);
                }
                Err(error) => unreadable.push(format!("{}/{}: {error}", execution.name(), planned.name)),
            }
        }
    }
    if fresh > 0 || all.len() != known.len() {
        // A results directory that may only be read serves as well, more slowly.
        if let Err(error) = save(store, &all) {
            tracing::debug!("the index is not kept: {error}");
        }
    }
    Ok((all, unreadable))
}

fn derive(execution: &ExecutionDir, planned: &PlannedRun, manifest: String) -> Result<Option<Entry>, StoreError> {
    Ok(match stored::read(execution, planned)? {
        Stored::Measured(result, _) => Some(Entry::new(&result, manifest)),
        Stored::NotStarted(..) => None,
    })
}

/// Entries by the hash of the manifest; none of another version, and none of a line that cannot be read.
fn load(store: &Store) -> HashMap<String, Entry> {
    let content = store.derived(FILE).unwrap_or_default();
    let mut lines = content.split(|byte| *byte == b'\n');
    let head = lines.next().and_then(|line| serde_json::from_slice::<Head>(line).ok());
    if head != Some(Head::own()) {
        return HashMap::new();
    }
    let entries = lines.filter_map(|line| serde_json::from_slice::<Entry>(line).ok());
    entries.map(|entry| (entry.manifest.clone(), entry)).collect()
}

fn save(store: &Store, entries: &[Entry]) -> Result<(), StoreError> {
    let mut content = serde_json::to_vec(&Head::own()).unwrap_or_default();
    for entry in entries {
        content.push(b'\n');
        content.extend(serde_json::to_vec(entry).unwrap_or_default());
    }
    content.push(b'\n');
    store.keep_derived(FILE, &content)
}
