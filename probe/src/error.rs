//! What goes wrong, in words for a person at the host's end of the link.

use crate::rt::process::Ended;
use latprobe::status::Lock;
use std::{fmt, io, path::PathBuf};

pub(crate) type Result<T> = std::result::Result<T, Error>;

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Error {
    /// The command line is wrong.
    Usage(String),
    /// The system refused something.
    Io { action: String, source: io::Error },
    /// The spec asks for something impossible.
    Spec { field: String, problem: String },
    /// Not the directory of a run.
    NotARun { path: PathBuf, missing: &'static str },
    /// A file of the run is damaged.
    Damaged { path: PathBuf, problem: String },
    /// A supervisor already owns the directory.
    Alive { path: PathBuf, pid: Option<i32> },
    /// The directory holds an earlier run.
    Used { path: PathBuf },
    /// Such a part of a stream does not exist.
    Range { path: PathBuf, from: u64, length: u64 },
    /// The board cannot measure as asked.
    Refused(Vec<String>),
    /// What the supervisor said when it did not come up.
    NotStarted(String),
    /// The supervisor did not come up and did not say why.
    NotUp { ended: Option<Ended>, log: String },
    /// The run could not be ended in time.
    StillRunning { pid: i32, seconds: u64 },
    /// Settings that could not be put back.
    NotRestored(Vec<String>),
    /// Someone else holds the board.
    Held(Box<Lock>),
    /// A built-in load failed.
    Load(String),
}

impl Error {
    pub(crate) fn io(action: impl Into<String>, source: io::Error) -> Self {
        Self::Io { action: action.into(), source }
    }

    /// Exit code; 127 and 255 would be taken for errors of ssh.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Error::Usage(_) => 2,
            Error::Held(_) => 3,
            _ => 1,
        }
    }
}

/// Names the action of an I/O error where it happens.
pub(crate) trait Doing<T> {
    fn doing<A: Into<String>>(self, action: impl FnOnce() -> A) -> Result<T>;
}

impl<T> Doing<T> for io::Result<T> {
    fn doing<A: Into<String>>(self, action: impl FnOnce() -> A) -> Result<T> {
        self.map_err(|source| Error::io(action(), source))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Usage(text) => f.write_str(text),
            Error::Io { action, source } => write!(f, "{action}: {source}"),
            Error::Spec { field, problem } => write!(f, "spec.json: {field}: {problem}"),
            Error::NotARun { path, missing } => {
                write!(f, "{}: not the directory of a run: it has no {missing}", path.display())
            }
            Error::Damaged { path, problem } => write!(f, "{}: damaged: {problem}", path.display()),
            Error::Alive { path, pid } => {
                write!(f, "{}: this run is alive", path.display())?;
                pid.map_or(Ok(()), |pid| write!(f, " (supervisor {pid})"))
            }
            Error::Used { path } => {
                write!(f, "{}: holds an earlier run; `run DIR --continue` starts its next segment", path.display())
            }
            Error::Range { path, from, length } => {
                write!(f, "{}: byte {from} is beyond its end at {length}", path.display())
            }
            Error::Refused(reasons) => write!(f, "refused: {}", reasons.join("; ")),
            Error::NotUp { ended, log } => {
                match ended {
                    Some(ended) => write!(f, "the supervisor ended before the run was up ({ended})")?,
                    None => f.write_str("the supervisor did not say in time whether the run is up")?,
                }
                if log.is_empty() { Ok(()) } else { write!(f, ": {log}") }
            }
            Error::StillRunning { pid, seconds } => {
                write!(f, "the run did not end within {seconds} s (supervisor {pid})")
            }
            Error::NotRestored(reasons) => write!(f, "settings not put back: {}", reasons.join("; ")),
            Error::Held(lock) => {
                write!(f, "held by {} (execution {}", lock.holder, lock.execution)?;
                lock.run_id.as_ref().map_or(Ok(()), |run| write!(f, ", run {run}"))?;
                f.write_str(")")
            }
            Error::NotStarted(text) | Error::Load(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}
