//! The results directory: plain directories and files, one fault domain per run.
//!
//! ```text
//! RESULTS/<execution>/plan.json       what was to be measured ([`Plan`])
//!                     journal.jsonl   intents and outcomes ([`journal::Entry`]), append + fsync
//!                     boot-<target>.json  what was booted there ([`BootRecord`])
//!                     runs/<cell>-<target>-<n>/
//!                         spec.json           as submitted to the board
//!                         facts-before/captures.jsonl  facts-after/captures.jsonl
//!                         recipe.json         the recipe's checks of the board, derived from the facts before
//!                         stream-<segment>    mirror of the board's stream: the truth
//!                         contacts.jsonl      when the host talked to the board
//!                         loads/<name>.log    each load's output, its first 1 MiB
//!                         trace.txt           the end of the kernel's trace of a hunt, up to 1 MiB
//!                         kernel.log          kernel messages of the run
//!                         verdict.json        judgement, derived from the above
//!                         manifest.json       SHA-256 of every file; written last
//! ```
//!
//! Streams, contacts and the journal are appended to and synced; everything
//! else is written to a temporary file and renamed.

mod baselines;
mod boot_record;
mod error;
mod execution;
mod files;
mod imports;
pub mod journal;
mod manifest;
mod plan;
mod run_dir;

pub use baselines::{Baseline, RunName};
pub use boot_record::{BootRecord, Booted, Chosen};
pub use error::StoreError;
pub(crate) use execution::now;
pub use execution::{ExecutionDir, ExecutionWriter};
pub(crate) use imports::Hashing;
pub(crate) use manifest::sha256_hex;
pub use manifest::{MANIFEST_FORMAT, Manifest, ManifestFile};
pub use plan::{PLAN_FORMAT, Plan, PlannedRun};
pub use run_dir::{Contact, FactsWhen, RunDir, StreamMirror};

use std::path::{Path, PathBuf};

/// A results directory.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
}

impl Store {
    /// The results directory that is asked for by `--results`, else by `LATLAB_RESULTS`, else `./results`.
    pub fn locate(option: Option<&Path>) -> PathBuf {
        match (option, std::env::var_os("LATLAB_RESULTS")) {
            (Some(path), _) => path.to_owned(),
            (None, Some(path)) if !path.is_empty() => path.into(),
            _ => PathBuf::from("results"),
        }
    }

    /// For reading: the directory must be there.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let root = root.into();
        match std::fs::metadata(&root) {
            Ok(meta) if meta.is_dir() => Ok(Self { root }),
            Ok(_) => Err(StoreError::NotADirectory { path: root }),
            Err(source) => Err(StoreError::read(&root, source)),
        }
    }

    /// For writing: the directory is made, and proved writable.
    pub fn create(root: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let root = root.into();
        if root.exists() && !root.is_dir() {
            return Err(StoreError::NotADirectory { path: root });
        }
        std::fs::create_dir_all(&root).map_err(|source| StoreError::write(&root, source))?;
        let probe = tempfile::Builder::new().prefix(".writable-").tempfile_in(&root);
        probe.map_err(|source| StoreError::write(&root, source))?;
        Ok(Self { root })
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A file of figures derived from the runs, kept to save time; `None` when there is none that can be read.
    pub(crate) fn derived(&self, name: &str) -> Option<Vec<u8>> {
        files::read_optional(&self.root.join(name)).ok().flatten()
    }

    /// Keeps a file of derived figures.
    pub(crate) fn keep_derived(&self, name: &str, content: &[u8]) -> Result<(), StoreError> {
        files::write_whole(&self.root.join(name), content)
    }

    /// A new execution with its plan stored.
    pub fn create_execution(&self, plan: &Plan) -> Result<ExecutionWriter, StoreError> {
        ExecutionWriter::create(&self.root, plan)
    }

    /// Every execution, oldest first. One whose plan cannot be read is an error of its own, not of the list.
    pub fn executions(&self) -> Result<Vec<Result<ExecutionDir, StoreError>>, StoreError> {
        Ok(self.execution_paths()?.into_iter().map(ExecutionDir::open).collect())
    }

    /// Directories of all executions, oldest first.
    pub(crate) fn execution_paths(&self) -> Result<Vec<PathBuf>, StoreError> {
        let entries = std::fs::read_dir(&self.root).map_err(|source| StoreError::read(&self.root, source))?;
        let mut paths = Vec::new();
        for entry in entries {
            let path = entry.map_err(|source| StoreError::read(&self.root, source))?.path();
            if path.join("plan.json").is_file() {
                paths.push(path);
            }
        }
        paths.sort();
        Ok(paths)
    }

    /// The execution with this name, or a unique beginning of it.
    pub fn execution(&self, name: &str) -> Result<ExecutionDir, StoreError> {
        let mut found = Vec::new();
        for execution in self.executions()? {
            let execution = match execution {
                Ok(execution) => execution,
                Err(error) if error.path().file_name().is_some_and(|n| n.to_string_lossy() == name) => {
                    return Err(error);
                }
                Err(_) => continue,
            };
            if execution.name() == name {
                return Ok(execution);
            }
            if execution.name().starts_with(name) {
                found.push(execution);
            }
        }
        let names = || found.iter().map(|e| e.name().to_owned()).collect::<Vec<_>>();
        match found.len() {
            1 => Ok(found.swap_remove(0)),
            0 => Err(StoreError::NoSuchExecution { name: name.to_owned(), root: self.root.clone() }),
            _ => Err(StoreError::Ambiguous { name: name.to_owned(), candidates: names() }),
        }
    }

    /// A run by `EXECUTION/RUN`, by `RUN` of the newest execution that has it, or by the path of its directory.
    pub fn run(&self, name: &str) -> Result<RunDir, StoreError> {
        let as_path = Path::new(name);
        if as_path.join("spec.json").is_file() || as_path.join("manifest.json").is_file() {
            return Ok(RunDir::at(as_path));
        }
        if let Some((execution, run)) = name.trim_end_matches('/').rsplit_once('/') {
            return self.execution(execution)?.run(run);
        }
        for execution in self.executions()?.into_iter().rev().flatten() {
            if let Ok(run) = execution.run(name) {
                return Ok(run);
            }
        }
        Err(StoreError::NoSuchRun { name: name.to_owned(), root: self.root.clone() })
    }
}
