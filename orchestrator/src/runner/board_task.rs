use super::boots::{Boots, Readiness};
use super::execution::{changes_boot, holds, state_of};
use super::run_task::RunTask;
use super::steps::judge;
use super::{Context, Log, RunEnd};
use crate::board::{Board, BoardError, Deployed};
use crate::progress::Event;
use crate::store::{PlannedRun, StoreError, journal};
use latlab_core::run_state::{Outcome, State, Step, Wish};
use latlab_core::target::Target;
use std::sync::Arc;

/// One target through an execution: a fault domain of its own.
#[derive(Debug)]
pub(super) struct BoardTask {
    context: Arc<Context>,
    target: Target,
    /// Runs in plan order, with where they stand.
    runs: Vec<(PlannedRun, State)>,
    /// A process before this one may have left the board locked.
    held: bool,
    /// A process before this one may have left its boot choice on the board.
    boot_changed: bool,
}

/// How a target ended.
#[derive(Debug)]
pub(super) struct BoardEnd {
    pub(super) target: String,
    pub(super) runs: Vec<RunEnd>,
    /// What made the board unusable.
    pub(super) error: Option<String>,
    pub(super) store: Option<StoreError>,
}

enum Stopped {
    Board(BoardError),
    /// The board needs a hand, or boots something else than before.
    Boot(String),
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
        let runs = plan.runs_of(&target.name).map(|run| (run.clone(), state_of(entries, &run.name))).collect();
        let held = holds(entries, &target.name);
        let boot_changed = changes_boot(entries, &target.name);
        Self { context, target, runs, held, boot_changed }
    }

    pub(super) async fn run(self) -> BoardEnd {
        let mut end = BoardEnd { target: self.target.name.clone(), runs: Vec::new(), error: None, store: None };
        match self.carry_out(&mut end.runs).await {
            Ok(()) => {}
            Err(Stopped::Board(error)) => end.error = Some(error.to_string()),
            Err(Stopped::Boot(reason)) => end.error = Some(reason),
            Err(Stopped::Store(error)) => end.store = Some(error),
        }
        let error = end.error.clone().or_else(|| end.store.as_ref().map(ToString::to_string));
        self.context.show(Event::BoardOver { target: end.target.clone(), error });
        end
    }

    async fn carry_out(&self, ends: &mut Vec<RunEnd>) -> Result<(), Stopped> {
        if !self.held && !self.boot_changed && self.runs.iter().all(|(_, state)| matches!(state, State::Over(_))) {
            return Ok(());
        }
        let board = Board::new(&self.target, Arc::clone(&self.context.probes)).map_err(Stopped::Board)?;
        let result = self.on_board(&board, ends).await;
        board.close().await;
        result
    }

    async fn on_board(&self, board: &Board, ends: &mut Vec<RunEnd>) -> Result<(), Stopped> {
        let mut boots = Boots::new(&self.context, board, self.boot_changed)?;
        let mut deployed = self.set_up(board, &boots).await?;
        let mut result = Ok(());
        for (run, state) in &self.runs {
            let waits = matches!(state, State::Planned) && *self.context.wish.borrow() != Wish::Finish;
            if matches!(state, State::Over(_)) || waits {
                continue;
            }
            if matches!(state, State::Planned)
                && let Some(end) = self.not_ready(&mut boots, run).await?
            {
                ends.push(end);
                continue;
            }
            match RunTask::new(&self.context, board, &deployed, run, *state)?.drive().await {
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

    /// Boots what the run's cell asks for. `None`: it can be measured; else how the run ended.
    async fn not_ready(&self, boots: &mut Boots<'_>, run: &PlannedRun) -> Result<Option<RunEnd>, Stopped> {
        let Some(cell) = self.context.writer.plan().cell(run) else { return Ok(None) };
        let (outcome, detail, unusable) = match boots.ensure(run, cell).await? {
            Readiness::Ready => return Ok(None),
            Readiness::Refused(detail) => (Outcome::Refused, detail, false),
            Readiness::NotBooted(detail) => (Outcome::NotBooted, detail, false),
            Readiness::Unusable(detail) => (Outcome::NotBooted, detail, true),
        };
        let dir = self.context.writer.directory().run_dir(&run.name);
        let judgement = judge::refused(&dir, "boot", std::slice::from_ref(&detail))?;
        let (target, name) = (run.target.clone(), run.name.clone());
        self.context.show(Event::Over {
            target: target.clone(),
            run: name.clone(),
            outcome,
            validity: Some(judgement.validity),
            verdict: Some(judgement.verdict),
            detail: Some(detail.clone()),
        });
        if unusable {
            return Err(Stopped::Boot(detail));
        }
        Ok(Some(RunEnd { run: name, target, outcome, detail: Some(detail), judgement: Some(judgement) }))
    }

    async fn put_back(&self, boots: &mut Boots<'_>) -> Result<(), Stopped> {
        let log = Log { context: &self.context, target: &self.target.name, run: None };
        log.intent(Step::PutBack)?;
        match boots.put_back().await {
            Ok(difference) => {
                log.done(Step::PutBack, difference.as_deref())?;
                match difference {
                    Some(difference) => {
                        let text =
                            format!("its boot choice is put back, but not everything is as before: {difference}");
                        self.context.show(Event::Board { target: self.target.name.clone(), text });
                    }
                    None => {
                        let text = "boots its own choice again, as before".to_owned();
                        self.context.show(Event::Board { target: self.target.name.clone(), text });
                    }
                }
                Ok(())
            }
            Err(error) => {
                log.failed(Step::PutBack, &error.to_string())?;
                let name = &self.target.name;
                Err(Stopped::Boot(format!("{error}; `latlab restore {name}` puts it back once the board answers")))
            }
        }
    }

    async fn set_up(&self, board: &Board, boots: &Boots<'_>) -> Result<Deployed, Stopped> {
        self.step(Step::Connect, "connecting", boots.connect()).await?;
        self.take(board).await
    }

    /// Puts the probe there and takes the board.
    async fn take(&self, board: &Board) -> Result<Deployed, Stopped> {
        let plan = self.context.writer.plan();
        let deployed = self.step(Step::Deploy, "deploying latprobe", board.deploy()).await?;
        let place = if deployed.uploaded { "uploaded to" } else { "already in" };
        let mut text = format!("{}, {place} {}", deployed.version, deployed.work_dir);
        deployed.passed_over.iter().for_each(|reason| text += &format!("; not {reason}"));
        self.context.show(Event::Board { target: self.target.name.clone(), text });
        self.step(Step::Lock, "taking the board", board.lock(&deployed, &plan.holder, &plan.execution)).await?;
        Ok(deployed)
    }

    /// One step of the board as a whole, journalled and shown.
    async fn step<T>(
        &self,
        step: Step,
        text: &str,
        work: impl Future<Output = Result<T, BoardError>>,
    ) -> Result<T, Stopped> {
        let log = Log { context: &self.context, target: &self.target.name, run: None };
        self.context.show(Event::Board { target: self.target.name.clone(), text: text.to_owned() });
        log.intent(step)?;
        match work.await {
            Ok(value) => {
                log.done(step, None)?;
                Ok(value)
            }
            Err(error) => {
                log.failed(step, &error.to_string())?;
                Err(Stopped::Board(error))
            }
        }
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
