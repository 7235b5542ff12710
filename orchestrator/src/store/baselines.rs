//! Baselines: which runs a cell on a target is held against, why, and by whom that was set.

use super::{Store, StoreError, files};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Version of a baseline file.
const BASELINE_FORMAT: u32 = 1;

/// `baselines/<campaign>,<cell>,<target>.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    format: u32,
    /// Campaign.
    pub campaign: String,
    /// Cell.
    pub cell: String,
    /// Target.
    pub target: String,
    /// Its runs.
    pub runs: Vec<RunName>,
    /// Why these.
    pub reason: String,
    /// `user@host`.
    pub set_by: String,
    /// UTC, RFC 3339.
    pub set_at: String,
}

/// A stored run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunName {
    /// Execution.
    pub execution: String,
    /// Run in it.
    pub run: String,
}

impl Baseline {
    /// Runs of a cell on a target as its baseline, set now.
    pub fn new((campaign, cell, target): (&str, &str, &str), runs: Vec<RunName>, reason: &str, set_by: &str) -> Self {
        Self {
            format: BASELINE_FORMAT,
            campaign: campaign.to_owned(),
            cell: cell.to_owned(),
            target: target.to_owned(),
            runs,
            reason: reason.to_owned(),
            set_by: set_by.to_owned(),
            set_at: super::now(),
        }
    }
}

impl Store {
    /// All baselines, by campaign, cell and target.
    pub fn baselines(&self) -> Result<Vec<Baseline>, StoreError> {
        let directory = self.root().join("baselines");
        let entries = match std::fs::read_dir(&directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(StoreError::read(&directory, source)),
        };
        let mut paths = Vec::new();
        for entry in entries {
            let path = entry.map_err(|source| StoreError::read(&directory, source))?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                paths.push(path);
            }
        }
        paths.sort();
        paths.iter().map(|path| files::read_json(path, Some(BASELINE_FORMAT))).collect()
    }

    /// Stores a baseline in place of the one before.
    pub fn set_baseline(&self, baseline: &Baseline) -> Result<(), StoreError> {
        files::write_json(&self.baseline_path(baseline), baseline)
    }

    /// Drops a baseline. Its runs stay.
    pub fn drop_baseline(&self, baseline: &Baseline) -> Result<(), StoreError> {
        let path = self.baseline_path(baseline);
        std::fs::remove_file(&path).map_err(|source| StoreError::write(&path, source))
    }

    fn baseline_path(&self, baseline: &Baseline) -> PathBuf {
        let name = format!("{},{},{}.json", baseline.campaign, baseline.cell, baseline.target);
        self.root().join("baselines").join(name)
    }
}
