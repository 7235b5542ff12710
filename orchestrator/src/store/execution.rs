use super::journal::{self, Entry, Journal};
use super::{PLAN_FORMAT, Plan, RunDir, StoreError, files};
use latlab_core::run_state::{Mark, Step};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// An execution, for reading.
#[derive(Debug, Clone)]
pub struct ExecutionDir {
    path: PathBuf,
    plan: Plan,
}

impl ExecutionDir {
    /// Reads the plan.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let path = path.into();
        let plan = files::read_json(&path.join("plan.json"), Some(PLAN_FORMAT))?;
        Ok(Self { path, plan })
    }

    /// Its directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Somebody removed it, or moved it away.
    pub fn is_gone(&self) -> bool {
        matches!(self.path.join("plan.json").try_exists(), Ok(false))
    }

    /// Name of the execution.
    pub fn name(&self) -> &str {
        &self.plan.execution
    }

    /// As planned.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The journal so far.
    pub fn journal(&self) -> Result<Vec<Entry>, StoreError> {
        journal::read(&self.path.join("journal.jsonl"))
    }

    /// The directory of a planned run, whether or not it has begun.
    pub fn run_dir(&self, name: &str) -> RunDir {
        RunDir::at(self.path.join("runs").join(name))
    }

    /// A planned run by name.
    pub fn run(&self, name: &str) -> Result<RunDir, StoreError> {
        match self.plan.run(name) {
            Some(run) => Ok(self.run_dir(&run.name)),
            None => Err(StoreError::NoSuchRun { name: name.to_owned(), root: self.path.clone() }),
        }
    }

    /// Every planned run, in order, with its directory.
    pub fn runs(&self) -> impl Iterator<Item = (&super::PlannedRun, RunDir)> {
        self.plan.runs.iter().map(|run| (run, self.run_dir(&run.name)))
    }

    /// Whether a latlab process writes it now.
    pub fn is_running(&self) -> bool {
        journal::is_in_use(&self.path.join("journal.jsonl"))
    }

    /// Which latlab process writes it now, in words: `process 1234`.
    pub fn running(&self) -> Option<String> {
        if !self.is_running() {
            return None;
        }
        let begun = |entry: &Entry| entry.step == Step::Execution && entry.mark == Mark::Intent;
        let entries = self.journal().unwrap_or_default();
        let process = entries.into_iter().rev().find(begun).and_then(|entry| entry.detail);
        Some(process.unwrap_or_else(|| "another latlab process".to_owned()))
    }
}

/// An execution, for the one process that carries it out.
#[derive(Debug)]
pub struct ExecutionWriter {
    directory: ExecutionDir,
    journal: Mutex<Journal>,
}

impl ExecutionWriter {
    pub(super) fn create(root: &Path, plan: &Plan) -> Result<Self, StoreError> {
        let path = root.join(&plan.execution);
        std::fs::create_dir(&path).map_err(|source| StoreError::write(&path, source))?;
        let journal = Journal::open(&path.join("journal.jsonl"))?;
        files::write_json(&path.join("plan.json"), plan)?;
        Ok(Self { directory: ExecutionDir { path, plan: plan.clone() }, journal: Mutex::new(journal) })
    }

    /// Goes on with an execution that another process left.
    pub fn reopen(directory: ExecutionDir) -> Result<Self, StoreError> {
        let journal = Journal::open(&directory.path.join("journal.jsonl"))?;
        Ok(Self { directory, journal: Mutex::new(journal) })
    }

    /// Goes on with an execution that is over, with further runs of its cells: (cell, target) each. The plan is stored first.
    pub fn extend(mut directory: ExecutionDir, cells: &[(String, String)]) -> Result<Self, StoreError> {
        let journal = Journal::open(&directory.path.join("journal.jsonl"))?;
        for (cell, target) in cells {
            directory.plan.repeat_once_more(cell, target);
        }
        files::write_json(&directory.path.join("plan.json"), &directory.plan)?;
        Ok(Self { directory, journal: Mutex::new(journal) })
    }

    /// For reading.
    pub fn directory(&self) -> &ExecutionDir {
        &self.directory
    }

    /// As planned.
    pub fn plan(&self) -> &Plan {
        &self.directory.plan
    }

    /// Appends to the journal; on storage when it returns.
    pub fn record(
        &self,
        target: Option<&str>,
        run: Option<&str>,
        step: Step,
        mark: Mark,
        detail: Option<&str>,
    ) -> Result<(), StoreError> {
        let entry = Entry {
            at: now(),
            target: target.map(str::to_owned),
            run: run.map(str::to_owned),
            step,
            mark,
            detail: detail.map(str::to_owned),
        };
        let mut journal = self.journal.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        journal.append(&entry)
    }
}

/// UTC, RFC 3339, to the millisecond.
pub(crate) fn now() -> String {
    let now = jiff::Timestamp::now();
    format!("{now:.3}")
}
