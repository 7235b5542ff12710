//! Carries an execution out: every target in a task of its own, its runs in
//! plan order, each run by the state machine of `latlab_core::run_state`.
//!
//! A new execution and a resumed one take the same path: where a run stands is
//! always what the journal says, and a journal without entries says *planned*.

mod board_task;
mod boots;
mod execution;
mod outcome;
mod queue;
mod run_task;
mod set_up;
mod steps;
mod wish;

pub use execution::execute;
pub(crate) use execution::{is_unfinished, state_of};
pub use outcome::{RunEnd, Summary};
pub use wish::Wishes;

use crate::board::Probes;
use crate::progress::{Event, Progress};
use crate::store::{ExecutionWriter, StoreError};
use latlab_core::run_state::{Mark, Step, Wish};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// What all tasks of an execution share.
#[derive(Debug)]
struct Context {
    writer: ExecutionWriter,
    progress: Progress,
    wish: watch::Receiver<Wish>,
    probes: Arc<Probes>,
    /// How long a board that somebody else has is waited for; absent: not at all.
    wait: Option<Duration>,
    origin: Instant,
}

impl Context {
    /// Host time for the state machines, in ns.
    fn now_ns(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn show(&self, event: Event) {
        self.progress.show(&event);
    }
}

/// The journal as one task sees it.
#[derive(Debug, Clone, Copy)]
struct Log<'a> {
    context: &'a Context,
    target: &'a str,
    run: Option<&'a str>,
}

impl Log<'_> {
    fn intent(&self, step: Step) -> Result<(), StoreError> {
        self.context.writer.record(Some(self.target), self.run, step, Mark::Intent, None)
    }

    fn done(&self, step: Step, detail: Option<&str>) -> Result<(), StoreError> {
        self.context.writer.record(Some(self.target), self.run, step, Mark::Done, detail)
    }

    fn failed(&self, step: Step, detail: &str) -> Result<(), StoreError> {
        self.context.writer.record(Some(self.target), self.run, step, Mark::Failed, Some(detail))
    }
}
