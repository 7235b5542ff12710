use super::{ExecutionDir, ExecutionWriter, StoreError, files};
use latlab_core::campaign::model::Boot;
use latlab_core::facts::Facts;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Version of `boot-TARGET.json`.
const BOOT_RECORD_FORMAT: u32 = 1;

/// What an execution made of a board's boot: written before the first change, so that it can be undone after a crash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootRecord {
    /// [`BOOT_RECORD_FORMAT`].
    format: u32,
    /// What ran before the execution; absent: something that an earlier execution had booted.
    pub own: Option<Booted>,
    /// What the execution has booted since.
    pub now: Option<Chosen>,
}

/// A boot, as far as it can be told from others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Booted {
    /// Boot id.
    pub boot_id: String,
    /// `uname -r`.
    pub release: Option<String>,
    /// Words of the command line.
    pub cmdline: Option<Vec<String>>,
}

/// A boot that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chosen {
    /// What was asked for.
    pub boot: Boot,
    /// Boot id that came of it.
    pub boot_id: String,
}

impl BootRecord {
    /// Before the first change. `own`: what runs, where it is the board's own choice.
    pub fn new(own: Option<Booted>) -> Self {
        Self { format: BOOT_RECORD_FORMAT, own, now: None }
    }
}

impl Booted {
    /// The boot that the facts were taken in.
    pub fn of(facts: &Facts) -> Self {
        Self {
            boot_id: facts.boot_id.clone().unwrap_or_default(),
            release: facts.release.clone(),
            cmdline: facts.cmdline.clone(),
        }
    }
}

impl ExecutionDir {
    fn boot_path(&self, target: &str) -> PathBuf {
        self.path().join(format!("boot-{target}.json"))
    }

    /// What was made of a target's boot; `None`: nothing.
    pub fn boot_record(&self, target: &str) -> Result<Option<BootRecord>, StoreError> {
        let path = self.boot_path(target);
        if !path.exists() {
            return Ok(None);
        }
        files::read_json(&path, Some(BOOT_RECORD_FORMAT)).map(Some)
    }
}

impl ExecutionWriter {
    /// Stores what was made of a target's boot.
    pub fn write_boot_record(&self, target: &str, record: &BootRecord) -> Result<(), StoreError> {
        files::write_json(&self.directory().boot_path(target), record)
    }
}
