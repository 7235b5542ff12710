use super::boots::Boots;
use super::execution::{changes_boot, holds, resets_of, state_of};
use super::run_task::RunTask;
use super::{Context, RunEnd};
use crate::board::{Board, BoardError, Deployed};
use crate::exit::Exit;
use crate::progress::Event;
use crate::store::{PlannedRun, StoreError, journal};
use latlab_core::run_state::{Outcome, State, Step, Wish};
use latlab_core::target::Target;
use std::sync::Arc;
use std::time::Duration;

/// One target through an execution: a fault domain of its own.
#[derive(Debug)]
pub(super) struct BoardTask {
    pub(super) context: Arc<Context>,
    pub(super) target: Target,
    /// Runs in plan order.
    pub(super) runs: Vec<Standing>,
    /// A process before this one may have left the board locked.
    pub(super) held: bool,
    /// A process before this one may have left its boot choice on the board.
    pub(super) boot_changed: bool,
}

/// A run, and where it stands by the journal.
#[derive(Debug)]
pub(super) struct Standing {
    pub(super) run: PlannedRun,
    pub(super) state: State,
    /// Resets of the board that it has survived.
    pub(super) resets: u32,
    /// Since it was handed over last; zero where that is not known.
    pub(super) submitted_ago: Duration,
}

/// How a target ended.
#[derive(Debug)]
pub(super) struct BoardEnd {
    pub(super) target: String,
    pub(super) runs: Vec<RunEnd>,
    /// What made the board unusable, and the exit code for it.
    pub(super) error: Option<(String, Exit)>,
    pub(super) store: Option<StoreError>,
}

/// Why a board is left before all is done.
pub(super) enum Stopped {
    Board(BoardError),
    /// The board needs a hand, or boots something else than before.
    Boot(String),
    /// On request.
    Wished,
    Store(StoreError),
}

impl From<StoreError> for Stopped {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl BoardTask {
    pub(super) fn new(context: Arc<Context>, target: Target, entries: &[journal::Entry]) -> Self {
        let plan = context.writer.plan();
        let standing = |run: &PlannedRun| Standing {
            run: run.clone(),
            state: state_of(entries, &run.name),
            resets: resets_of(entries, &run.name),
            submitted_ago: submitted_ago(entries, &run.name),
        };
        let runs = plan.runs_of(&target.name).map(standing).collect();
        let held = holds(entries, &target.name);
        let boot_changed = changes_boot(entries, &target.name);
        Self { context, target, runs, held, boot_changed }
    }

    pub(super) async fn run(self) -> BoardEnd {
        let mut end = BoardEnd { target: self.target.name.clone(), runs: Vec::new(), error: None, store: None };
        match self.carry_out(&mut end.runs).await {
            Ok(()) | Err(Stopped::Wished) => {}
            Err(Stopped::Board(error)) => end.error = Some((error.to_string(), Exit::of_board(&error))),
            Err(Stopped::Boot(reason)) => end.error = Some((reason, Exit::Board)),
            Err(Stopped::Store(error)) => end.store = Some(error),
        }
        let error =
            end.error.as_ref().map(|(text, _)| text.clone()).or_else(|| end.store.as_ref().map(ToString::to_string));
        self.context.show(Event::BoardOver { target: end.target.clone(), error });
        end
    }

    async fn carry_out(&self, ends: &mut Vec<RunEnd>) -> Result<(), Stopped> {
        let over = |standing: &Standing| matches!(standing.state, State::Over(_));
        if !self.held && !self.boot_changed && self.runs.iter().all(over) {
            return Ok(());
        }
        let _turn = self.turn().await?;
        let board = Board::new(&self.target, Arc::clone(&self.context.probes)).map_err(Stopped::Board)?;
        let result = self.on_board(&board, ends).await;
        board.close().await;
        result
    }

    async fn on_board(&self, board: &Board, ends: &mut Vec<RunEnd>) -> Result<(), Stopped> {
        let mut boots = Boots::new(&self.context, board, self.boot_changed)?;
        let mut deployed = self.set_up(board, &boots).await?;
        let mut result = Ok(());
        for standing in &self.runs {
            let state = standing.state;
            let waits = matches!(state, State::Planned) && *self.context.wish.borrow() != Wish::Finish;
            if matches!(state, State::Over(_)) || waits {
                continue;
            }
            if matches!(state, State::Planned)
                && let Some((end, stopped)) = self.not_ready(&mut boots, &standing.run).await?
            {
                ends.push(end);
                match stopped {
                    Some(stopped) => return Err(stopped),
                    None => continue,
                }
            }
            match RunTask::new(&self.context, board, &mut boots, &deployed, standing)?.drive().await {
                Ok((end, place)) => {
                    deployed = place;
                    let gone = matches!(end.outcome, Outcome::Lost | Outcome::Detached);
                    ends.push(end);
                    if gone {
                        break;
                    }
                }
                Err(error) => {
                    result = Err(Stopped::Store(error));
                    break;
                }
            }
        }
        let held = result.is_err() || ends.iter().any(|end| matches!(end.outcome, Outcome::Lost | Outcome::Detached));
        if !held {
            if boots.is_changed() {
                self.put_back(&mut boots).await?;
                // The reboot has taken the probe on a tmpfs, and made the lock stale.
                deployed = self.take(board).await?;
            }
            self.unlock(board, &deployed).await?;
        }
        result
    }

    async fn unlock(&self, board: &Board, deployed: &Deployed) -> Result<(), Stopped> {
        let plan = self.context.writer.plan();
        let unlock = async || {
            board.tidy(deployed).await?;
            board.unlock(deployed, &plan.holder, &plan.execution).await
        };
        let work = async {
            match unlock().await {
                // The link may have idled away after the last run.
                Err(BoardError::Link(_)) => {
                    board.connect().await?;
                    unlock().await
                }
                other => other,
            }
        };
        self.step(Step::Unlock, "giving the board back", work).await
    }
}

/// By this host's clock, which is good enough for how long to wait.
fn submitted_ago(entries: &[journal::Entry], run: &str) -> Duration {
    let submitted = |entry: &&journal::Entry| {
        entry.run.as_deref() == Some(run) && matches!(entry.step, Step::Submit | Step::Continue)
    };
    let at = entries.iter().rev().find(submitted).and_then(|entry| entry.at.parse::<jiff::Timestamp>().ok());
    at.and_then(|at| Duration::try_from(jiff::Timestamp::now().duration_since(at)).ok()).unwrap_or_default()
}
