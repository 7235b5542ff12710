//! What was about to happen and what did: the host's memory across a crash.

use super::{StoreError, files};
use latlab_core::run_state::{Mark, Step};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A child that a killed latlab was just starting holds its lock until it is another program.
const ORPHANS: Duration = Duration::from_millis(300);

/// One line of `journal.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// UTC, RFC 3339.
    pub at: String,
    /// Target it is about; absent for the execution as a whole.
    pub target: Option<String>,
    /// Run it is about; absent for the board as a whole.
    pub run: Option<String>,
    /// What.
    pub step: Step,
    /// Intended, done or failed.
    pub mark: Mark,
    /// In plain words, where there is more to say.
    pub detail: Option<String>,
}

/// The journal, open for appending by one process.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Opens it and keeps every other writer out until it is dropped.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let file = files::append_open(path)?;
        let patience = Instant::now() + ORPHANS;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(std::fs::TryLockError::WouldBlock) if Instant::now() < patience => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                Err(std::fs::TryLockError::WouldBlock) => {
                    return Err(StoreError::InUse { path: path.parent().unwrap_or(path).to_owned() });
                }
                Err(std::fs::TryLockError::Error(source)) => return Err(StoreError::write(path, source)),
            }
        }
        let mut journal = Self { path: path.to_owned(), file };
        journal.drop_torn_line()?;
        Ok(journal)
    }

    /// The writer before may have been killed in the middle of a line.
    fn drop_torn_line(&mut self) -> Result<(), StoreError> {
        let content = files::read(&self.path)?;
        let whole = content.iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
        if whole < content.len() {
            self.file.set_len(whole as u64).map_err(|source| StoreError::write(&self.path, source))?;
        }
        Ok(())
    }

    pub(super) fn append(&mut self, entry: &Entry) -> Result<(), StoreError> {
        files::append_line(&mut self.file, &self.path, entry)
    }
}

/// Whether a process writes it now. Only looks: nothing is opened for writing.
pub(super) fn is_in_use(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let patience = Instant::now() + ORPHANS;
    loop {
        match file.try_lock_shared() {
            Err(std::fs::TryLockError::WouldBlock) if Instant::now() < patience => {
                std::thread::sleep(Duration::from_millis(10));
            }
            answer => return matches!(answer, Err(std::fs::TryLockError::WouldBlock)),
        }
    }
}

/// All entries, in order.
pub(super) fn read(path: &Path) -> Result<Vec<Entry>, StoreError> {
    files::read_lines(path)
}
