use std::io;
use std::path::{Path, PathBuf};

/// What went wrong with the results store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Something cannot be written.
    #[error("results store: cannot write {}: {source}; choose another directory with --results DIR or LATLAB_RESULTS", path.display())]
    Write {
        /// What.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The disk is full.
    #[error("results store: no space left for {}; free some or choose another directory with --results DIR, then `latlab resume`", path.display())]
    Full {
        /// What.
        path: PathBuf,
    },
    /// Something cannot be read.
    #[error("results store: cannot read {}: {source}", path.display())]
    Read {
        /// What.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file is in the way.
    #[error("results store: {} is not a directory", path.display())]
    NotADirectory {
        /// What.
        path: PathBuf,
    },
    /// Content that latlab did not write, or that was changed.
    #[error("results store: {} is damaged: {reason}", path.display())]
    Damaged {
        /// What.
        path: PathBuf,
        /// In plain words.
        reason: String,
    },
    /// Written by a newer latlab.
    #[error("results store: {} has format {found}; this latlab reads up to {known}: use a newer one", path.display())]
    Newer {
        /// What.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// Newest that can be read.
        known: u32,
    },
    /// Another latlab writes this execution.
    #[error("results store: {} is in use by another latlab process", path.display())]
    InUse {
        /// The execution.
        path: PathBuf,
    },
    /// No execution of this name.
    #[error("no execution `{name}` in {}; `latlab list` shows what is there", root.display())]
    NoSuchExecution {
        /// As asked.
        name: String,
        /// Results directory.
        root: PathBuf,
    },
    /// No run of this name.
    #[error("no run `{name}` in {}; `latlab list` shows what is there", root.display())]
    NoSuchRun {
        /// As asked.
        name: String,
        /// Results or execution directory.
        root: PathBuf,
    },
    /// A beginning that several executions share.
    #[error("`{name}` may be any of {}", candidates.join(", "))]
    Ambiguous {
        /// As asked.
        name: String,
        /// What it may mean.
        candidates: Vec<String>,
    },
}

impl StoreError {
    pub(crate) fn write(path: &Path, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full { path: path.to_owned() },
            _ => Self::Write { path: path.to_owned(), source },
        }
    }

    pub(super) fn read(path: &Path, source: io::Error) -> Self {
        Self::Read { path: path.to_owned(), source }
    }

    /// What it is about.
    pub fn path(&self) -> &Path {
        match self {
            Self::Write { path, .. }
            | Self::Full { path }
            | Self::Read { path, .. }
            | Self::NotADirectory { path }
            | Self::Damaged { path, .. }
            | Self::Newer { path, .. }
            | Self::InUse { path } => path,
            Self::NoSuchExecution { root, .. } | Self::NoSuchRun { root, .. } => root,
            Self::Ambiguous { .. } => Path::new(""),
        }
    }
}
