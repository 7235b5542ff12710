//! A board made ready for an execution: its turn taken, reached, the probe in place, the lock taken.

use super::Log;
use super::board_task::{BoardTask, Stopped};
use super::boots::Boots;
use super::queue::{Place, Waiting};
use crate::board::{Board, BoardError, Deployed, Fault};
use crate::progress::Event;
use crate::store::StoreError;
use latlab_core::run_state::{State, Step, Wish};
use std::time::{Duration, Instant};

/// Between looks at the queue of this host, which costs the board nothing.
const TURN: Duration = Duration::from_millis(500);
/// Between questions to a board that another host holds: each one disturbs what is measured there.
const ASK_AGAIN: Duration = Duration::from_secs(60);
/// Pauses between attempts to reach a board that has a run of ours: doubling, from the first to the longest.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(30);
/// How long a board may take to boot, at least.
const BOOT: Duration = Duration::from_secs(300);

impl BoardTask {
    /// This host's turn at the board. `None`: the board is ours already, or the queue cannot be kept.
    pub(super) async fn turn(&self) -> Result<Option<Place>, Stopped> {
        if self.held {
            return Ok(None);
        }
        let plan = self.context.writer.plan();
        let waiting = Waiting {
            process: format!("process {}", std::process::id()),
            execution: plan.execution.clone(),
            since: crate::store::now(),
        };
        let place = match Place::take(&self.target, &waiting) {
            Ok(place) => place,
            Err(error) => {
                // The lock on the board is what counts.
                tracing::warn!(target = self.target.name, %error, "no queue on this host");
                return Ok(None);
            }
        };
        let begun = Instant::now();
        loop {
            let before = match place.before() {
                Ok(Some(before)) => before,
                Ok(None) => return Ok(Some(place)),
                Err(error) => {
                    tracing::warn!(target = self.target.name, %error, "no queue on this host");
                    return Ok(None);
                }
            };
            let (holder, execution) = (before.process.clone(), before.execution.clone());
            let Waiting { process, execution: of, since } = before;
            let busy = BoardError::Queued { process, execution: of, since };
            self.wait(begun, TURN, holder, execution, busy).await?;
        }
    }

    /// Waits for `pause`, or gives up with `busy` where waiting is not wished, or no longer.
    async fn wait(
        &self,
        begun: Instant,
        pause: Duration,
        holder: String,
        execution: String,
        busy: BoardError,
    ) -> Result<(), Stopped> {
        let left = self.context.wait.map(|wait| wait.saturating_sub(begun.elapsed()));
        let Some(left) = left.filter(|left| !left.is_zero()) else { return Err(Stopped::Board(busy)) };
        let (target, for_s) = (self.target.name.clone(), begun.elapsed().as_secs());
        self.context.show(Event::Waiting { target, holder, execution, for_s });
        self.pause(pause.min(left)).await
    }

    /// Waits; any wish but to finish ends the wait and the board with it.
    async fn pause(&self, pause: Duration) -> Result<(), Stopped> {
        let mut wish = self.context.wish.clone();
        let other = async {
            if wish.wait_for(|wish| matches!(wish, Wish::Stop | Wish::Leave)).await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => Ok(()),
            () = other => Err(Stopped::Wished),
        }
    }

    /// Reaches the board and takes it. A board that has a run of ours may be booting after a reset, or be busy with its
    /// load: it is waited for. One that somebody else holds is waited for where that is wished.
    pub(super) async fn set_up(&self, board: &Board, boots: &Boots<'_>) -> Result<Deployed, Stopped> {
        let (begun, patience) = (Instant::now(), self.patience()?);
        let mut retry = FIRST_RETRY;
        loop {
            let error = match self.try_set_up(board, boots).await {
                Err(Stopped::Board(error)) => error,
                other => return other,
            };
            if let BoardError::Busy { lock, .. } = &error {
                let (holder, execution) = (lock.holder.clone(), lock.execution.clone());
                // An idle connection's keepalives would disturb, too.
                board.close().await;
                self.wait(begun, ASK_AGAIN, holder, execution, error).await?;
                continue;
            }
            let left = patience.and_then(|patience| patience.checked_sub(begun.elapsed()));
            let Some(left) = left.filter(|_| error.fault() == Fault::Link) else { return Err(Stopped::Board(error)) };
            self.context.show(Event::Board {
                target: self.target.name.clone(),
                text: format!(
                    "no answer ({error}); it has a run of this execution and may be booting: asking again in {} s, for {} s at most",
                    retry.as_secs(),
                    left.as_secs()
                ),
            });
            self.pause(retry.min(left)).await?;
            retry = (retry * 2).min(LONGEST_RETRY);
        }
    }

    /// How long the board is waited for: as long as one of its runs may still be measuring, and no less than a boot
    /// takes. `None`: nothing of ours is there.
    fn patience(&self) -> Result<Option<Duration>, StoreError> {
        let directory = self.context.writer.directory();
        let mut longest = None;
        for standing in self.runs.iter().filter(|standing| is_on_board(standing.state)) {
            let spec = directory.run_dir(&standing.run.name).latest_spec()?;
            let life = spec.map_or(Duration::ZERO, |spec| Duration::from_nanos(spec.deadline_ns));
            let left = life.saturating_sub(standing.submitted_ago) + super::run_task::MARGIN;
            longest = longest.max(Some(if life > standing.submitted_ago { left } else { Duration::ZERO }));
        }
        Ok(longest.map(|longest: Duration| longest.max(BOOT)))
    }

    async fn try_set_up(&self, board: &Board, boots: &Boots<'_>) -> Result<Deployed, Stopped> {
        self.step(Step::Connect, "connecting", boots.connect()).await?;
        self.take(board).await
    }

    /// Puts the probe there and takes the lock.
    pub(super) async fn take(&self, board: &Board) -> Result<Deployed, Stopped> {
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
    pub(super) async fn step<T>(
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
                // Only the answer may be lost, and the board be ours.
                if !(step == Step::Lock && error.fault() == Fault::Link) {
                    log.failed(step, &error.to_string())?;
                }
                Err(Stopped::Board(error))
            }
        }
    }
}

/// Whether the board has something of a run that stands like this.
fn is_on_board(state: State) -> bool {
    matches!(state, State::Searching | State::Measuring | State::Reviving | State::Collecting | State::Removing)
}
