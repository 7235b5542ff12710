//! Answers of the probe's short commands, one JSON object each.

use serde::{Deserialize, Serialize};

/// Where a run on the board stands. Answer of `latprobe status DIR`, and first line of `latprobe follow`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// [`crate::spec::Spec::run_id`].
    pub run_id: String,
    /// Stage of the run.
    pub stage: Stage,
    /// The board's boot id now.
    pub boot_id: String,
    /// The board's boot id when the supervisor started; differs after a reset.
    pub run_boot_id: String,
    /// `CLOCK_MONOTONIC` now, in ns.
    pub mono_ns: u64,
    /// `CLOCK_MONOTONIC` when the supervisor started, in ns.
    pub start_mono_ns: u64,
    /// Process id of the supervisor, absent once it has ended.
    pub supervisor_pid: Option<i32>,
    /// Stream files present, in order.
    pub segments: Vec<SegmentSize>,
    /// Why the run ended or failed, in plain words; absent while all is well.
    pub message: Option<String>,
}

/// Stage of a run on the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Settings, loads and threads are being set up.
    Preparing,
    /// Sampling, not yet counted.
    WarmUp,
    /// Sampling.
    Measuring,
    /// Loads are being stopped and settings put back.
    Ending,
    /// Ended as the spec asked; everything is put back.
    Done,
    /// Ended early on request; everything is put back.
    Stopped,
    /// Refused or failed; `message` says why; everything is put back.
    Failed,
    /// The supervisor is gone without an ending (killed, or the board was reset).
    Dead,
}

impl Stage {
    /// Nothing more will be written by the board.
    pub fn is_over(self) -> bool {
        matches!(self, Stage::Done | Stage::Stopped | Stage::Failed | Stage::Dead)
    }
}

/// A stream file and its length.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentSize {
    /// Segment number from 0.
    pub segment: u32,
    /// Length in bytes.
    pub bytes: u64,
}

/// First line of `latprobe follow DIR --segment N --from BYTE`; exactly `bytes` raw bytes of the stream follow its newline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Follow {
    /// Where the run stands.
    pub status: Status,
    /// The segment these bytes belong to.
    pub segment: u32,
    /// Offset of the first byte.
    pub from: u64,
    /// How many bytes follow (≤ `--max`).
    pub bytes: u64,
}

/// Who holds the board. Content of the lock file; answer of `latprobe lock`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lock {
    /// `user@host` of the holder.
    pub holder: String,
    /// Execution that holds it.
    pub execution: String,
    /// Run that is or was last submitted under it, where known.
    pub run_id: Option<String>,
    /// Boot id at the time it was taken.
    pub boot_id: String,
    /// `CLOCK_MONOTONIC` at that time, in ns.
    pub since_mono_ns: u64,
}

/// One captured file or command output of `latprobe facts` (JSON Lines).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capture {
    /// Path on the board (`/proc/version`), or `@name` for a figure that has no file (`@uname`, `@affinity`).
    pub path: String,
    /// Content, lossily UTF-8, cut at 4 MiB. Absent: not there or not readable.
    pub text: Option<String>,
    /// Why it could not be read (`ENOENT`, `EACCES` …).
    pub error: Option<String>,
}
