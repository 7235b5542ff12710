//! The directory of one run.
//!
//! | name | |
//! | --- | --- |
//! | `spec.json` | what to do, written by the host |
//! | `state.json` | where the run stands, replaced as a whole |
//! | `alive` | locked for the supervisor's life; holds its process id |
//! | `stream-N` | checkpoint stream of segment N |
//! | `undo.json` | old values of changed settings; gone once they are put back |
//! | `loads/NAME.log` | output of a load, its first 1 MiB and a line at the cut |
//! | `supervisor.log` | what went wrong with the supervisor itself |

use crate::{
    error::{Doing, Error, Result},
    rt::{clock, fd},
};
use latprobe::{
    spec::Spec,
    status::{SegmentSize, Stage, Status},
};
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    time::Duration,
};

/// A directory that holds a `spec.json`.
#[derive(Debug, Clone)]
pub(crate) struct RunDir(PathBuf);

/// Content of `state.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) run_id: String,
    pub(super) stage: Stage,
    pub(super) message: Option<String>,
    pub(super) run_boot_id: String,
    pub(super) start_mono_ns: u64,
    pub(super) supervisor_pid: i32,
}

/// The board's boot id; empty on kernels without.
pub(crate) fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned()).unwrap_or_default()
}

impl RunDir {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let path = fs::canonicalize(path).doing(|| path.display().to_string())?;
        if !path.join("spec.json").is_file() {
            return Err(Error::NotARun { path, missing: "spec.json" });
        }
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Somebody removed it. What is open in it can still be written, but nobody will ever read it.
    pub(super) fn is_removed(&self) -> bool {
        matches!(fs::symlink_metadata(&self.0), Err(error) if error.kind() == io::ErrorKind::NotFound)
    }

    pub(super) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(super) fn spec(&self) -> Result<Spec> {
        let path = self.join("spec.json");
        let text = fs::read(&path).doing(|| path.display().to_string())?;
        serde_json::from_slice(&text)
            .map_err(|error| Error::Spec { field: "syntax".into(), problem: error.to_string() })
    }

    /// `None`: never started.
    pub(super) fn state(&self) -> Result<Option<State>> {
        let path = self.join("state.json");
        match fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text)
                .map(Some)
                .map_err(|error| Error::Damaged { path, problem: error.to_string() }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io(path.display().to_string(), error)),
        }
    }

    pub(super) fn write_state(&self, state: &State) -> Result<()> {
        let text = serde_json::to_vec(state).map_err(|error| Error::io("state.json", error.into()))?;
        self.replace("state.json", &text).or_else(|error| {
            // On a full disk the old file's own block can still be written.
            let overwrite = || {
                let mut file = File::options().write(true).open(self.join("state.json"))?;
                file.write_all(&text)?;
                file.set_len(text.len() as u64)?;
                file.sync_all()
            };
            overwrite().map_err(|_: io::Error| error)
        })
    }

    /// Writes a file so that after a reset it is there as a whole, new or old.
    pub(super) fn replace(&self, name: &str, content: &[u8]) -> Result<()> {
        let (path, temporary) = (self.join(name), self.join(&format!("{name}.new")));
        let write = || {
            let mut file = File::create(&temporary)?;
            file.write_all(content)?;
            file.sync_all()?;
            fs::rename(&temporary, &path)?;
            self.sync()
        };
        write().doing(|| format!("cannot write {}", path.display()))
    }

    /// The host has written the spec, but perhaps not to storage.
    pub(super) fn sync_spec(&self) -> Result<()> {
        let path = self.join("spec.json");
        File::open(&path)
            .and_then(|file| file.sync_all())
            .and_then(|()| self.sync())
            .doing(|| path.display().to_string())
    }

    /// Makes created, renamed and removed names last.
    pub(super) fn sync(&self) -> io::Result<()> {
        File::open(&self.0)?.sync_all()
    }

    pub(super) fn stream(&self, segment: u32) -> PathBuf {
        self.join(&format!("stream-{segment}"))
    }

    pub(super) fn segments(&self) -> Result<Vec<SegmentSize>> {
        let mut segments = Vec::new();
        for entry in fs::read_dir(&self.0).doing(|| self.0.display().to_string())? {
            let entry = entry.doing(|| self.0.display().to_string())?;
            let name = entry.file_name();
            let number = name.to_str().and_then(|name| name.strip_prefix("stream-")?.parse().ok());
            if let (Some(segment), Ok(about)) = (number, entry.metadata()) {
                segments.push((segment, about.len()));
            }
        }
        let size = |(segment, bytes)| SegmentSize { segment, bytes };
        Ok(crate::sorted(segments).into_iter().map(size).collect())
    }

    /// Takes the directory for a supervisor, for as long as the file is open. `None`: it is taken.
    pub(super) fn take(&self) -> Result<Option<File>> {
        let path = self.join("alive");
        let open = || File::options().read(true).write(true).create(true).truncate(false).open(&path);
        let file = open().doing(|| path.display().to_string())?;
        // A command that just looks holds the lock for an instant.
        for _ in 0..20 {
            if fd::try_lock(&file).doing(|| path.display().to_string())? {
                return Ok(Some(file));
            }
            std::thread::sleep(Duration::from_millis(25));
        }
        Ok(None)
    }

    /// Whether a supervisor (or the guard cleaning up after it) owns the directory now.
    pub(super) fn is_alive(&self) -> Result<bool> {
        let path = self.join("alive");
        match File::open(&path) {
            Ok(file) => Ok(!fd::try_lock_shared(&file).doing(|| path.display().to_string())?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(Error::io(path.display().to_string(), error)),
        }
    }

    /// Refuses while a supervisor owns the directory. One that has said its last word is given a moment to go.
    pub(super) fn expect_idle(&self) -> Result<()> {
        for _ in 0..50 {
            if !self.is_alive()? {
                return Ok(());
            }
            if !self.state()?.is_some_and(|state| state.stage.is_over()) {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let pid = self.state()?.map(|state| state.supervisor_pid);
        Err(Error::Alive { path: self.0.clone(), pid })
    }

    pub(super) fn status(&self) -> Result<Status> {
        // Looked at first: a run that ends in between shows as ended, not as dead.
        let alive = self.is_alive()?;
        let Some(state) = self.state()? else {
            return Err(Error::NotARun { path: self.0.clone(), missing: "state.json (it was never started)" });
        };
        let boot_id = boot_id();
        let (mut stage, mut message) = (state.stage, state.message);
        if !stage.is_over() && !alive {
            stage = Stage::Dead;
            let reset = boot_id != state.run_boot_id;
            let what = if reset { "the board was reset during the run" } else { "the supervisor was killed" };
            message.get_or_insert_with(|| what.to_owned());
        }
        Ok(Status {
            run_id: state.run_id,
            stage,
            boot_id,
            run_boot_id: state.run_boot_id,
            mono_ns: clock::now_ns(),
            start_mono_ns: state.start_mono_ns,
            supervisor_pid: alive.then_some(state.supervisor_pid),
            segments: self.segments()?,
            message,
        })
    }
}
