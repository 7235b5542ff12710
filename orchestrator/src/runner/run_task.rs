mod revive;

use super::board_task::Standing;
use super::boots::Boots;
use super::steps::{Mirrors, collect, judge, prepare};
use super::{Context, Log, RunEnd};
use crate::board::{Board, BoardError, Deployed, Fault, RunOnBoard};
use crate::progress::{self, Stage};
use crate::store::{PlannedRun, RunDir, StoreError};
use latlab_core::campaign::model::{AfterReset, Cell, CollectMode};
use latlab_core::judgement::Judgement;
use latlab_core::run_state::{Action, Event, Machine, Outcome, Patience, State, Step, Wish};
use latprobe::spec::Spec;
use latprobe::status::Capture;
use std::time::Duration;
use tokio::sync::watch;

const SECOND_NS: u64 = 1_000_000_000;
/// An SSH master that is not used ends after five minutes: longer pauses give the connection up and make a new one.
const KEEP_NS: u64 = 200 * SECOND_NS;
/// Where the board is to be left alone, even a short pause is kept without a connection and its keepalives.
const KEEP_QUIET_NS: u64 = SECOND_NS;
/// Beyond the spec's deadline: a loaded board may answer after minutes.
pub(super) const MARGIN: Duration = Duration::from_secs(600);
/// A board that resets more often in one run has a fault that more segments do not cure (a watchdog that nobody feeds).
const MAX_RESETS: u32 = 3;

/// One run on one board: performs the actions of the state machine.
pub(super) struct RunTask<'a, 'b> {
    context: &'a Context,
    log: Log<'a>,
    board: &'a Board,
    /// What the board boots, should it be reset.
    boots: &'a mut Boots<'b>,
    deployed: Deployed,
    run: &'a PlannedRun,
    cell: &'a Cell,
    dir: RunDir,
    on_board: RunOnBoard,
    machine: Machine,
    wish: watch::Receiver<Wish>,
    /// The whole run.
    spec: Option<Spec>,
    /// What the board does now: the whole, or what was left after a reset.
    current: Option<Spec>,
    /// What the last new connection took that no contact was logged with, in ns.
    connect_ns: u64,
    mirrors: Mirrors,
    /// Why the board did not answer last, or why the run ended as it did.
    reason: Option<String>,
    judgement: Option<Judgement>,
}

impl<'a, 'b> RunTask<'a, 'b> {
    pub(super) fn new(
        context: &'a Context,
        board: &'a Board,
        boots: &'a mut Boots<'b>,
        deployed: &Deployed,
        standing: &'a Standing,
    ) -> Result<Self, StoreError> {
        let Standing { run, state, resets, .. } = standing;
        let state = *state;
        let directory = context.writer.directory();
        let dir = directory.run_dir(&run.name);
        let plan_path = directory.path().join("plan.json");
        let cell = context.writer.plan().cell(run).ok_or_else(|| StoreError::Damaged {
            path: plan_path,
            reason: format!("run {} belongs to no cell of the plan", run.name),
        })?;
        let (spec, current) = (dir.spec()?, dir.latest_spec()?);
        let allowed = match context.writer.plan().campaign.plan.after_reset {
            AfterReset::End => 0,
            AfterReset::Continue | AfterReset::Restart => MAX_RESETS.saturating_sub(*resets),
        };
        let judgement = if state == State::Removing { dir.judgement()? } else { None };
        let mut wish = context.wish.clone();
        wish.mark_changed();
        Ok(Self {
            context,
            log: Log { context, target: &run.target, run: Some(&run.name) },
            board,
            boots,
            deployed: deployed.clone(),
            run,
            cell,
            machine: Machine::new(state, Patience { resets: allowed, ..patience(cell, current.as_ref()) }),
            on_board: RunOnBoard::new(deployed, &run.run_id),
            mirrors: Mirrors::open(&dir)?,
            dir,
            wish,
            spec,
            current,
            connect_ns: 0,
            reason: None,
            judgement,
        })
    }

    /// Until the run is over; also says where the probe is then. Only the results store can stop it from here.
    pub(super) async fn drive(mut self) -> Result<(RunEnd, Deployed), StoreError> {
        if self.machine.state() == State::Measuring {
            self.show_stage(Stage::Measuring);
        }
        let mut action = self.machine.step(Event::Begin, self.context.now_ns());
        loop {
            // A receiver without a sender: the signals' task is gone with the process.
            if self.wish.has_changed().unwrap_or(false) {
                let wish = *self.wish.borrow_and_update();
                if wish != Wish::Finish {
                    action = self.machine.step(Event::Wished(wish), self.context.now_ns());
                }
            }
            let silent = self.machine.silent_since_ns();
            let Some(event) = self.perform(action).await? else {
                if action == Action::Nothing {
                    return self.end();
                }
                action = self.machine.current();
                continue;
            };
            action = self.machine.step(event, self.context.now_ns());
            if let (Some(since), None) = (silent, self.machine.silent_since_ns()) {
                self.show_answer(since);
            }
        }
    }

    /// `None`: nothing happened that the machine has to know, it says again what to do.
    async fn perform(&mut self, action: Action) -> Result<Option<Event>, StoreError> {
        Ok(Some(match action {
            Action::Nothing => return Ok(None),
            Action::Prepare => self.prepare().await?,
            Action::Search => self.search().await?,
            Action::Submit => self.submit().await?,
            Action::Poll { after_ns } => match self.pause(after_ns).await {
                false => return Ok(None),
                true => self.poll().await?,
            },
            Action::Reconnect { after_ns } => return self.reconnect(after_ns).await,
            Action::Revive => self.revive().await?,
            Action::Stop => self.stop().await?,
            Action::Collect => self.collect().await?,
            Action::Judge => self.judge()?,
            Action::Remove => self.remove().await?,
        }))
    }

    /// Waits; `false` when a wish came first.
    async fn pause(&mut self, ns: u64) -> bool {
        if ns == 0 {
            return true;
        }
        let quiet = self.cell.settings.collect.mode == CollectMode::End && self.machine.state() == State::Measuring;
        let idle = ns > if quiet { KEEP_QUIET_NS } else { KEEP_NS };
        if idle {
            self.board.close().await;
        }
        let waited = tokio::select! {
            () = tokio::time::sleep(Duration::from_nanos(ns)) => true,
            Ok(()) = self.wish.changed() => {
                self.wish.mark_changed();
                false
            }
        };
        if idle && let Err(error) = self.connect().await {
            tracing::info!(target = self.run.target, %error, "cannot connect after the pause");
        }
        waited
    }

    async fn reconnect(&mut self, after_ns: u64) -> Result<Option<Event>, StoreError> {
        let (now, since) = (self.context.now_ns(), self.machine.silent_since_ns());
        self.context.show(progress::Event::Silent {
            target: self.run.target.clone(),
            run: self.run.name.clone(),
            reason: self.reason.clone().unwrap_or_default(),
            for_s: since.map_or(0, |since| now.saturating_sub(since) / SECOND_NS),
            retry_in_s: after_ns / SECOND_NS,
            lost_in_s: self.machine.lost_at_ns().map(|at| at.saturating_sub(now) / SECOND_NS),
        });
        if !self.pause(after_ns).await {
            return Ok(None);
        }
        match self.connect().await {
            Ok(()) => Ok(None),
            Err(error) => Ok(Some(self.silent(&error))),
        }
    }

    /// A new connection, with its time for the log of contacts.
    async fn connect(&mut self) -> Result<(), BoardError> {
        let begun = self.context.now_ns();
        let connected = self.board.reconnect().await;
        self.connect_ns = self.context.now_ns().saturating_sub(begun);
        connected
    }

    fn show_answer(&self, since_ns: u64) {
        let after_s = self.context.now_ns().saturating_sub(since_ns) / SECOND_NS;
        self.context.show(progress::Event::Answers {
            target: self.run.target.clone(),
            run: self.run.name.clone(),
            after_s,
        });
    }

    fn show_stage(&self, stage: Stage) {
        let (target, run) = (self.run.target.clone(), self.run.name.clone());
        self.context.show(progress::Event::Stage { target, run, stage });
    }

    fn silent(&mut self, error: &BoardError) -> Event {
        tracing::info!(target = self.run.target, run = self.run.name, %error, "no answer");
        self.reason = Some(error.to_string());
        Event::Silent
    }

    /// What an error means before and after the measuring: the link may heal, the board's refusal stands.
    fn failed(&mut self, step: Step, error: &BoardError) -> Result<Event, StoreError> {
        if error.fault() == Fault::Link {
            return Ok(self.silent(error));
        }
        self.reason = Some(error.to_string());
        self.log.failed(step, &error.to_string())?;
        Ok(Event::Failed)
    }

    async fn prepare(&mut self) -> Result<Event, StoreError> {
        self.show_stage(Stage::Preparing);
        self.log.intent(Step::Prepare)?;
        let captures = match self.ready().await {
            Ok(captures) => captures,
            Err(error) => return self.failed(Step::Prepare, &error),
        };
        match prepare(&self.dir, self.cell, self.board.target(), &captures, &self.run.run_id)? {
            Ok(spec) => {
                self.machine.set_patience(patience(self.cell, Some(&spec)));
                self.current = Some(spec.clone());
                self.spec = Some(spec);
                self.log.done(Step::Prepare, None)?;
                Ok(Event::Prepared)
            }
            Err(judgement) => {
                let reasons: Vec<&str> = judgement.findings.iter().map(|finding| finding.detail.as_str()).collect();
                self.reason = Some(reasons.join("; "));
                self.log.failed(Step::Prepare, &reasons.join("; "))?;
                self.judgement = Some(judgement);
                Ok(Event::Refused)
            }
        }
    }

    /// The board may have been reset since the run before: the probe on a tmpfs and the lock are gone then.
    async fn ready(&mut self) -> Result<Vec<Capture>, BoardError> {
        let plan = self.context.writer.plan();
        self.deployed = self.board.deploy().await?;
        self.on_board = RunOnBoard::new(&self.deployed, &self.run.run_id);
        self.board.lock(&self.deployed, &plan.holder, &plan.execution).await?;
        let mut captures = self.board.facts(&self.deployed).await?;
        let kernel = self.cell.settings.boot.kernel.as_deref();
        captures.extend(kernel.and_then(|kernel| self.board.installed_config(kernel)));
        Ok(captures)
    }

    /// A host process died while it submitted.
    async fn search(&mut self) -> Result<Event, StoreError> {
        Ok(match self.board.status(&self.on_board).await {
            Ok(_) => {
                // It has the run: should it lose it later, that is not a run that never began.
                self.log.done(Step::Submit, None)?;
                Event::Submitted
            }
            Err(error) if error.fault() == Fault::Link => self.silent(&error),
            Err(error) => {
                tracing::info!(%error, run = self.run.name, "the board does not have the run");
                // Half a submission would stand in the way of the next.
                match self.board.abandon(&self.on_board).await {
                    Err(error) if error.fault() == Fault::Link => self.silent(&error),
                    _ => Event::Unknown,
                }
            }
        })
    }

    async fn submit(&mut self) -> Result<Event, StoreError> {
        self.show_stage(Stage::Submitting);
        let Some(spec) = self.spec.clone() else { return Ok(Event::Failed) };
        self.log.intent(Step::Submit)?;
        match self.board.submit(&self.on_board, &spec).await {
            Ok(()) => {
                self.log.done(Step::Submit, Some(&self.deployed.version_and_hash()))?;
                self.show_stage(Stage::Measuring);
                Ok(Event::Submitted)
            }
            Err(error) if error.fault() == Fault::Link => Ok(self.silent(&error)),
            Err(error) => {
                let event = self.failed(Step::Submit, &error)?;
                self.judgement = Some(judge::refused(&self.dir, "probe", &[error.to_string()])?);
                if let Err(error) = self.board.abandon(&self.on_board).await {
                    tracing::warn!(%error, run = self.run.name, "the refused run stays on the board");
                }
                Ok(event)
            }
        }
    }

    async fn poll(&mut self) -> Result<Event, StoreError> {
        let connect_ns = std::mem::take(&mut self.connect_ns);
        match self.mirrors.fetch(self.board, &self.on_board, &self.dir, self.current.as_ref(), connect_ns).await? {
            Ok(answer) => {
                if answer == Event::Reset {
                    self.reason = Some("the board was reset in mid-run".to_owned());
                }
                self.context.show(self.mirrors.measured(self.run, self.spec.as_ref()));
                Ok(answer)
            }
            Err(BoardError::NoSuchRun { run_id }) => {
                match self.was_reset().await? {
                    Ok(true) => {
                        self.reason = Some("the board was reset in mid-run, and its work directory is lost".to_owned());
                        return Ok(Event::Reset);
                    }
                    Ok(false) => {}
                    Err(error) => return Ok(self.silent(&error)),
                }
                self.reason =
                    Some(format!("the board no longer has run {run_id}: was its work directory lost in a reset?"));
                self.log.failed(Step::Measure, "the board no longer has the run")?;
                Ok(Event::Unknown)
            }
            Err(error) => {
                if error.fault() != Fault::Link {
                    self.mend_probe().await;
                }
                Ok(self.silent(&error))
            }
        }
    }

    /// The board answers, but not as the probe does: a reset may have cut the probe short. The next question finds it whole.
    async fn mend_probe(&self) {
        match self.board.deploy().await {
            Ok(deployed) if deployed.uploaded => tracing::warn!(target = self.run.target, "put the probe there again"),
            Ok(_) => {}
            Err(error) => tracing::info!(target = self.run.target, %error, "cannot look after the probe"),
        }
    }

    async fn stop(&mut self) -> Result<Event, StoreError> {
        self.show_stage(Stage::Stopping);
        self.log.intent(Step::Stop)?;
        match self.board.stop(&self.on_board).await {
            Ok(()) => {
                self.log.done(Step::Stop, None)?;
                Ok(Event::Done)
            }
            Err(error) if error.fault() == Fault::Link => Ok(self.silent(&error)),
            Err(error) => {
                self.log.failed(Step::Stop, &error.to_string())?;
                Ok(Event::Done)
            }
        }
    }

    async fn collect(&mut self) -> Result<Event, StoreError> {
        self.show_stage(Stage::Collecting);
        self.log.intent(Step::Collect)?;
        let loads: Vec<String> = self.spec.iter().flat_map(|spec| &spec.loads).map(|load| load.name.clone()).collect();
        let dead = self.mirrors.is_dead();
        match collect(self.board, &self.deployed, &self.on_board, &self.dir, &loads, dead).await? {
            Ok(()) => {
                self.log.done(Step::Collect, None)?;
                Ok(Event::Done)
            }
            Err(error) => self.failed(Step::Collect, &error),
        }
    }

    fn judge(&mut self) -> Result<Event, StoreError> {
        self.show_stage(Stage::Judging);
        self.log.intent(Step::Judge)?;
        let plan = self.context.writer.plan();
        self.judgement = Some(judge::judge(&self.dir, plan, self.run, self.cell, self.board.target())?);
        self.dir.close(plan, self.run)?;
        match self.machine.may_come_back() {
            true => self.log.failed(Step::Judge, "the board did not answer: judged by what is at home")?,
            false => self.log.done(Step::Judge, None)?,
        }
        Ok(Event::Done)
    }

    async fn remove(&mut self) -> Result<Event, StoreError> {
        self.show_stage(Stage::Removing);
        self.log.intent(Step::Remove)?;
        match self.board.remove(&self.on_board).await {
            Ok(()) => {
                self.log.done(Step::Remove, None)?;
                Ok(Event::Done)
            }
            Err(error) => self.failed(Step::Remove, &error),
        }
    }

    fn end(self) -> Result<(RunEnd, Deployed), StoreError> {
        let outcome = match self.machine.state() {
            State::Over(outcome) => outcome,
            // The machine says Nothing only when the run is over.
            _ => Outcome::Failed,
        };
        // An earlier process may have judged it.
        let judgement = match (outcome, self.judgement) {
            (Outcome::Judged, None) => self.dir.judgement()?,
            (_, judgement) => judgement,
        };
        let detail = match outcome {
            Outcome::Judged => None,
            _ => self.reason,
        };
        self.context.show(progress::Event::Over {
            target: self.run.target.clone(),
            run: self.run.name.clone(),
            outcome,
            validity: judgement.as_ref().map(|j| j.validity),
            verdict: judgement.as_ref().map(|j| j.verdict),
            detail: detail.clone(),
        });
        let end = RunEnd { run: self.run.name.clone(), target: self.run.target.clone(), outcome, detail, judgement };
        Ok((end, self.deployed))
    }
}

fn patience(cell: &Cell, spec: Option<&Spec>) -> Patience {
    let collect = &cell.settings.collect;
    Patience {
        poll_ns: match collect.mode {
            CollectMode::Live => collect.every_ns,
            CollectMode::End => u64::MAX,
        },
        ending_ns: 3 * SECOND_NS,
        retry_first_ns: SECOND_NS,
        retry_longest_ns: 60 * SECOND_NS,
        margin_ns: u64::try_from(MARGIN.as_nanos()).unwrap_or(u64::MAX),
        resets: 0,
        setup_ns: 300 * SECOND_NS,
        deadline_ns: spec.map_or(0, |spec| spec.deadline_ns),
    }
}
