use crate::transport::{LinkError, printable};
use latlab_core::target::Arch;
use latprobe::status::Lock;
use std::path::PathBuf;

/// A board cannot do what it is asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BoardError {
    /// The link failed.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// Logged in, but commands do not run, or not with the rights asked for.
    #[error("{peer}: commands do not run: {complaint}; check the login's shell and `become` in the target file")]
    NoShell {
        /// Whom.
        peer: String,
        /// What it said.
        complaint: String,
    },
    /// An answer that no sound board gives.
    #[error("the board answered `{command}` with something else than expected: {text}")]
    Garbage {
        /// What was asked.
        command: String,
        /// The beginning of the answer.
        text: String,
    },
    /// The target file asks for another instruction set.
    #[error("the board is {found}, the target file says arch = \"{asked}\"")]
    OtherArch {
        /// Target file.
        asked: &'static str,
        /// `uname -m`.
        found: String,
    },
    /// No probe is made for such a machine.
    #[error("there is no latprobe for `{machine}` machines; supported: armv7l, aarch64, x86_64")]
    UnsupportedMachine {
        /// `uname -m`.
        machine: String,
    },
    /// No probe binary on this host.
    #[error("no latprobe for {triple} on this host; looked for {}; {remedy}", list(searched))]
    ProbeMissing {
        /// Which.
        triple: &'static str,
        /// Where.
        searched: Vec<PathBuf>,
        /// How to get it.
        remedy: String,
    },
    /// The probe binary on this host cannot be used.
    #[error("the latprobe at {} {reason}", path.display())]
    BadProbe {
        /// Which.
        path: PathBuf,
        /// In plain words.
        reason: String,
    },
    /// No directory to work in.
    #[error("no work directory on the board: {}; set `work_dirs` in the target file", tried.join("; "))]
    NoWorkDir {
        /// Directory and reason.
        tried: Vec<String>,
    },
    /// The probe is there, and does not run.
    #[error("the probe does not run on the board: {complaint}; {remedy}")]
    ProbeDoesNotRun {
        /// What the board said.
        complaint: String,
        /// What may help.
        remedy: &'static str,
    },
    /// What arrived is not what was sent.
    #[error("the upload of {path} arrived damaged: {found} instead of {expected}")]
    UploadDamaged {
        /// On the board.
        path: String,
        /// SHA-256 sent.
        expected: String,
        /// SHA-256 there.
        found: String,
    },
    /// Something cannot be written.
    #[error("cannot write {path} on the board: {complaint}")]
    Upload {
        /// On the board.
        path: String,
        /// What it said.
        complaint: String,
    },
    /// Somebody else has the board.
    #[error("the board is held by {} for execution {} since {}; wait for it (`latlab run --wait`), or go on with it there by `latlab resume {}`; if its results are gone, `latlab release` frees the board", lock.holder, lock.execution, duration_text(*held_s), lock.execution)]
    Busy {
        /// Who.
        lock: Box<Lock>,
        /// How long, in s, by the board's clock.
        held_s: u64,
    },
    /// Another latlab process of this host has the board, or waits for it.
    #[error(
        "the board is taken by {process} of this host for execution {execution} since {since}; `latlab run --wait` waits for its turn"
    )]
    Queued {
        /// `process 1234`.
        process: String,
        /// Its execution.
        execution: String,
        /// Since when: UTC, RFC 3339.
        since: String,
    },
    /// The probe refused a command.
    #[error("latprobe {command} failed: {complaint}")]
    Probe {
        /// Which.
        command: String,
        /// What it said.
        complaint: String,
    },
    /// The board has no such run.
    #[error("the board has no run {run_id}")]
    NoSuchRun {
        /// Which.
        run_id: String,
    },
}

/// Whose fault an error is, for what is done about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The link, for now: try again.
    Link,
    /// The board or its description: a retry will not help.
    Board,
    /// This host: it lacks what the board needs.
    Host,
}

impl BoardError {
    pub(super) fn garbage(command: &str, answer: &[u8]) -> Self {
        let text = match answer {
            [] => "nothing".to_owned(),
            answer => format!("`{}`", printable(&answer[..answer.len().min(200)]).replace('\n', " ").trim()),
        };
        Self::Garbage { command: command.to_owned(), text }
    }

    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Link(link) if link.may_pass() => Fault::Link,
            Self::ProbeMissing { .. } | Self::BadProbe { .. } => Fault::Host,
            _ => Fault::Board,
        }
    }
}

pub(super) fn arch_name(arch: Arch) -> &'static str {
    match arch {
        Arch::Armv7 => "armv7",
        Arch::Aarch64 => "aarch64",
        Arch::X86_64 => "x86_64",
    }
}

fn list(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// `3 h 5 min`, `20 min`, `45 s`.
pub(crate) fn duration_text(s: u64) -> String {
    match s {
        3600.. => format!("{} h {} min", s / 3600, s % 3600 / 60),
        60.. => format!("{} min", s / 60),
        _ => format!("{s} s"),
    }
}
