use latlab_core::judgement::{Validity, Verdict};
use latlab_core::run_state::Outcome;
use serde::Serialize;

/// An event with its time, one line of `--format json`.
#[derive(Debug, Serialize)]
pub struct Report<'a> {
    /// UTC, RFC 3339.
    pub at: String,
    /// What happened.
    #[serde(flatten)]
    pub event: &'a Event,
}

/// What happens in an execution, for people and programs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// It begins, or is gone on with.
    Started {
        /// Its name.
        execution: String,
        /// Its directory.
        directory: String,
        /// Runs that are not over.
        runs: usize,
        /// Targets.
        targets: Vec<String>,
        /// Another process began it.
        resumed: bool,
    },
    /// Something about a board as a whole.
    Board {
        /// Which.
        target: String,
        /// In plain words.
        text: String,
    },
    /// Somebody else has the board; it is waited for.
    Waiting {
        /// Board.
        target: String,
        /// Who: `user@host`, or `process 1234` of this host.
        holder: String,
        /// For which execution.
        execution: String,
        /// How long it is waited for so far, in s.
        for_s: u64,
    },
    /// A run enters a stage.
    Stage {
        /// Board.
        target: String,
        /// Run.
        run: String,
        /// Which stage.
        stage: Stage,
    },
    /// The board answered while it measures.
    Measured {
        /// Board.
        target: String,
        /// Run.
        run: String,
        /// Stage on the board, as `latprobe status` says.
        board_stage: String,
        /// Wake-ups counted so far, all threads.
        cycles: u64,
        /// Wake-ups expected at the end, all threads; absent: not known.
        cycles_expected: Option<u64>,
        /// Missed periods so far, all threads.
        missed: u64,
        /// Largest latency so far, in ns; absent before the first.
        max_ns: Option<u64>,
        /// Measured so far, in ns.
        measured_ns: u64,
        /// To be measured, in ns; absent: not known.
        length_ns: Option<u64>,
        /// The loads.
        loads: Vec<LoadState>,
    },
    /// The board does not answer.
    Silent {
        /// Board.
        target: String,
        /// Run.
        run: String,
        /// Why.
        reason: String,
        /// Since when, in s.
        for_s: u64,
        /// Next attempt, in s.
        retry_in_s: u64,
        /// It counts as lost after this, in s; absent: not submitted yet.
        lost_in_s: Option<u64>,
    },
    /// It answers again.
    Answers {
        /// Board.
        target: String,
        /// Run.
        run: String,
        /// How long it did not, in s.
        after_s: u64,
    },
    /// A run is over.
    Over {
        /// Board.
        target: String,
        /// Run.
        run: String,
        /// How.
        outcome: Outcome,
        /// Of the judged run.
        validity: Option<Validity>,
        /// Of the judged run.
        verdict: Option<Verdict>,
        /// In plain words, where there is more to say.
        detail: Option<String>,
    },
    /// A target is done with, or cannot go on.
    BoardOver {
        /// Which.
        target: String,
        /// What stopped it; absent: nothing.
        error: Option<String>,
    },
}

/// Stages of a run on the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// The board reboots into what the cell asks for.
    Booting,
    /// Facts, boot check, spec.
    Preparing,
    /// Spec to the board.
    Submitting,
    /// The board measures.
    Measuring,
    /// The board was reset and is to measure again.
    Reviving,
    /// Being stopped on request.
    Stopping,
    /// Facts after, logs.
    Collecting,
    /// Judged and stored.
    Judging,
    /// Cleaned up on the board.
    Removing,
}

impl Stage {
    /// As shown.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Booting => "booting",
            Stage::Preparing => "preparing",
            Stage::Submitting => "submitting",
            Stage::Measuring => "measuring",
            Stage::Reviving => "going on after a reset of the board",
            Stage::Stopping => "stopping",
            Stage::Collecting => "collecting",
            Stage::Judging => "judging",
            Stage::Removing => "cleaning up",
        }
    }
}

/// A load, as of the last checkpoint.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoadState {
    /// Its name.
    pub name: String,
    /// Share of the time it should run that it ran, 0..=1; absent before the first checkpoint.
    pub duty: Option<f64>,
    /// Ends with an error so far.
    pub failures: u32,
}
