//! One run on one board as a pure state machine: [`Machine::step`] takes what
//! happened and says what to do next. No clock, no link, no files: times come
//! in with the events, so every fault can be played through in a test.
//!
//! Rules it holds:
//! - once a run is submitted, silence never ends it; only the deadline of the
//!   spec plus a margin does, counted on the board's clock where that is known;
//! - the board is asked again after a failure with growing pauses, never more
//!   often than the first retry pause, never less often than the longest;
//! - a board that was reset goes on measuring in a new segment, or from the start, as often as
//!   [`Patience::resets`] allows: a board that resets again and again is left alone;
//! - nothing is removed from the board before it is stored and judged here.

use serde::{Deserialize, Serialize};

/// What is journalled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Reach the board.
    Connect,
    /// Put the probe there.
    Deploy,
    /// Take the board.
    Lock,
    /// Boot the kernel and arguments of the cell.
    Boot,
    /// Facts before, the boot state checked, the spec made.
    Prepare,
    /// Hand the spec to the board.
    Submit,
    /// Mirror the stream until the run is over.
    Measure,
    /// After a reset of the board: hand over what is left to measure.
    Continue,
    /// After a reset of the board: put what was measured aside and begin the run again.
    Restart,
    /// End the run early.
    Stop,
    /// Facts after, kernel log, output of the loads.
    Collect,
    /// Judge and close the stored run.
    Judge,
    /// Remove the run from the board.
    Remove,
    /// Put the board's own boot choice back.
    PutBack,
    /// Give the board back.
    Unlock,
    /// The whole execution.
    Execution,
}

/// Where a journalled step stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// About to be done.
    Intent,
    /// Done.
    Done,
    /// Not possible; the entry says why.
    Failed,
}

/// Where a run stands on the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Not begun.
    Planned,
    /// Being prepared.
    Preparing,
    /// A host process died while it submitted: the board knows whether it has the run.
    Searching,
    /// Being submitted.
    Submitting,
    /// On the board.
    Measuring,
    /// The board was reset in mid-run and is to measure again.
    Reviving,
    /// Over on the board, being brought home.
    Collecting,
    /// At home, being judged.
    Judging,
    /// Judged, being removed from the board.
    Removing,
    /// Nothing more to do.
    Over(Outcome),
}

/// How a run ended for the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Measured, stored and judged; the judgement says what it is worth.
    Judged,
    /// The board is not in the state the cell asks for.
    Refused,
    /// The board did not come up with what the cell asks for.
    NotBooted,
    /// The board did not answer until the deadline plus margin, or no longer knows the run.
    Lost,
    /// Left measuring on request.
    Detached,
    /// Not begun, on request.
    Skipped,
    /// A step failed; the journal says why.
    Failed,
}

/// What the person in front of the terminal wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wish {
    /// The whole campaign.
    #[default]
    Finish,
    /// Stop what measures, clean up, begin nothing more.
    Stop,
    /// Leave the boards measuring, begin nothing more.
    Leave,
    /// Bring home what is there now, then as [`Wish::Leave`].
    Fetch,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Begin, or go on.
    Begin,
    /// The board is ready and the spec is made.
    Prepared,
    /// The board is not what the cell asks for.
    Refused,
    /// The board has the run.
    Submitted,
    /// The board has no run of this name.
    Unknown,
    /// The board was reset in mid-run; what it had stored is mirrored.
    Reset,
    /// The board answered.
    Answered {
        /// Nothing more will be written, and every byte is mirrored.
        complete: bool,
        /// There is more to fetch right now.
        more: bool,
        /// Time until the spec's deadline on the board's clock, in ns.
        remaining_ns: u64,
        /// Time until the run should be over, in ns; 0 when it should be already.
        due_ns: u64,
    },
    /// The board did not answer, or the link broke.
    Silent,
    /// The action succeeded.
    Done,
    /// The action failed and a retry will not help.
    Failed,
    /// A wish was made or changed.
    Wished(Wish),
}

/// What to do next. The runner performs it and reports one [`Event`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Facts before, boot check, spec.
    Prepare,
    /// Ask the board whether it has the run.
    Search,
    /// Hand the spec over.
    Submit,
    /// Wait, then fetch what is new.
    Poll {
        /// Pause before it, in ns.
        after_ns: u64,
    },
    /// Make a board that was reset measure again: what is left, or from the start.
    Revive,
    /// Ask the board to end the run.
    Stop,
    /// Wait, make a new connection, then repeat the action before.
    Reconnect {
        /// Pause before it, in ns.
        after_ns: u64,
    },
    /// Facts after, kernel log, loads.
    Collect,
    /// Judge what is at home, close the stored run.
    Judge,
    /// Remove the run from the board.
    Remove,
    /// Nothing: the run is over.
    Nothing,
}

/// Pauses and patience.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Between two fetches while all is well, in ns.
    pub poll_ns: u64,
    /// Between two fetches when the run should be over, in ns.
    pub ending_ns: u64,
    /// Before the first retry, in ns; doubles with each.
    pub retry_first_ns: u64,
    /// Longest pause between retries, in ns.
    pub retry_longest_ns: u64,
    /// Beyond the spec's deadline, in ns: a loaded board may answer after minutes.
    pub margin_ns: u64,
    /// How long an unsubmitted run waits for its board, in ns.
    pub setup_ns: u64,
    /// Life of the spec, in ns: what is assumed until the board says how much is left.
    pub deadline_ns: u64,
    /// Resets of the board that the run may still survive; 0: the next one ends it.
    pub resets: u32,
}

/// The state machine of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine {
    state: State,
    wish: Wish,
    patience: Patience,
    /// Host time at which the board counts as lost, in ns.
    lost_at_ns: Option<u64>,
    /// Failed attempts since the last answer, and host time of the first.
    silent: Option<(u32, u64)>,
    stop_sent: bool,
    /// The board is gone for good: what is at home is judged, nothing more is fetched.
    lost: bool,
}

impl Machine {
    /// A run at `state`.
    pub fn new(state: State, patience: Patience) -> Self {
        Self { state, wish: Wish::Finish, patience, lost_at_ns: None, silent: None, stop_sent: false, lost: false }
    }

    /// Where the run stands.
    pub fn state(&self) -> State {
        self.state
    }

    /// Host time since which the board has not answered, in ns; `None` while it answers.
    pub fn silent_since_ns(&self) -> Option<u64> {
        self.silent.map(|(_, since)| since)
    }

    /// The board was given up because it did not answer: what it measured is still there, and worth asking for again.
    pub fn may_come_back(&self) -> bool {
        self.lost && self.silent.is_some()
    }

    /// Host time at which the board counts as lost, in ns, where known.
    pub fn lost_at_ns(&self) -> Option<u64> {
        self.lost_at_ns
    }

    /// The pause between fetches is only known once the spec is made. Resets that were survived stay counted.
    pub fn set_patience(&mut self, patience: Patience) {
        self.patience = Patience { resets: self.patience.resets, ..patience };
    }

    /// What follows from `event` at host time `now_ns` (any monotonic origin).
    pub fn step(&mut self, event: Event, now_ns: u64) -> Action {
        match event {
            Event::Wished(wish) => {
                self.wish = wish;
                self.after_wish()
            }
            Event::Silent => self.after_silence(now_ns),
            Event::Begin => self.resume(now_ns),
            answered => {
                self.silent = None;
                self.after_answer(answered, now_ns)
            }
        }
    }

    fn after_wish(&mut self) -> Action {
        match (self.wish, self.state) {
            (Wish::Leave, State::Measuring | State::Searching | State::Reviving | State::Collecting)
            | (Wish::Fetch, State::Reviving) => self.over(Outcome::Detached),
            // Nothing runs there: what is at home is all there is.
            (Wish::Stop, State::Reviving) => self.enter(State::Collecting),
            (Wish::Stop | Wish::Leave | Wish::Fetch, State::Planned | State::Preparing) => self.over(Outcome::Skipped),
            (Wish::Stop, State::Measuring) if !self.stop_sent => Action::Stop,
            _ => self.current(),
        }
    }

    fn after_answer(&mut self, event: Event, now_ns: u64) -> Action {
        match (self.state, event) {
            (State::Preparing, Event::Prepared) => self.enter(State::Submitting),
            (State::Preparing, Event::Refused) => self.over(Outcome::Refused),
            (State::Submitting | State::Searching | State::Reviving, Event::Submitted) => {
                self.lost_at_ns = Some(self.whole_ns(now_ns));
                self.state = State::Measuring;
                match self.wish {
                    Wish::Finish => Action::Poll { after_ns: 0 },
                    _ => self.after_wish(),
                }
            }
            // Submitting did not get as far as the board: from the start.
            (State::Searching, Event::Unknown) => match self.wish {
                Wish::Finish => self.enter(State::Preparing),
                _ => self.over(Outcome::Skipped),
            },
            (State::Measuring, Event::Reset) => self.after_reset(),
            // It came back as another board, or cannot measure any more.
            (State::Reviving, Event::Refused | Event::Failed) => self.enter(State::Collecting),
            // What was measured is put aside: from the start.
            (State::Reviving, Event::Unknown) => self.enter(State::Preparing),
            (State::Measuring, Event::Answered { complete: true, .. }) => self.enter(State::Collecting),
            (State::Measuring, Event::Answered { more, remaining_ns, due_ns, .. }) => {
                self.lost_at_ns = Some(now_ns.saturating_add(remaining_ns).saturating_add(self.patience.margin_ns));
                // The end is looked for when it is due, then now and then: stopping loads takes seconds.
                if self.wish == Wish::Fetch && !more {
                    return self.over(Outcome::Detached);
                }
                let end = if due_ns > 0 { due_ns.max(self.patience.retry_first_ns) } else { self.patience.ending_ns };
                Action::Poll { after_ns: if more { 0 } else { self.patience.poll_ns.min(end) } }
            }
            (State::Measuring, Event::Unknown) => self.give_up(),
            (State::Measuring, Event::Done) => {
                // The stop was taken: look soon, stopping takes seconds.
                self.stop_sent = true;
                Action::Poll { after_ns: self.patience.retry_first_ns }
            }
            (State::Collecting, Event::Done | Event::Failed | Event::Unknown) => self.enter(State::Judging),
            (State::Judging, Event::Done) if self.lost => self.over(Outcome::Lost),
            (State::Judging, Event::Done) => self.enter(State::Removing),
            // What is on the board cannot make the stored result worse.
            (State::Removing, Event::Done | Event::Failed | Event::Unknown) => self.over(Outcome::Judged),
            (State::Over(_), _) => Action::Nothing,
            (_, Event::Failed | Event::Unknown) => self.over(Outcome::Failed),
            _ => self.current(),
        }
    }

    fn after_reset(&mut self) -> Action {
        match self.wish {
            Wish::Finish if self.patience.resets > 0 => {
                self.patience.resets -= 1;
                self.enter(State::Reviving)
            }
            Wish::Fetch if self.patience.resets > 0 => self.over(Outcome::Detached),
            _ => self.enter(State::Collecting),
        }
    }

    fn after_silence(&mut self, now_ns: u64) -> Action {
        let (attempts, since) = self.silent.unwrap_or((0, now_ns));
        self.silent = Some((attempts.saturating_add(1), since));
        if self.state == State::Submitting {
            // Only the answer may be lost, and the board be measuring: look before it is done twice.
            self.state = State::Searching;
            self.lost_at_ns = Some(self.whole_ns(now_ns));
        }
        let until = match (self.state, self.lost_at_ns) {
            (State::Searching | State::Measuring | State::Reviving | State::Collecting, Some(lost_at)) => lost_at,
            _ => since.saturating_add(self.patience.setup_ns),
        };
        if now_ns >= until {
            return self.give_up();
        }
        if self.wish == Wish::Fetch {
            // Nothing is there to be had now; the run goes on.
            return match self.state {
                State::Removing => self.over(Outcome::Judged),
                _ => self.over(Outcome::Detached),
            };
        }
        let doubled = self.patience.retry_first_ns.saturating_mul(1 << attempts.min(20));
        let pause = doubled.min(self.patience.retry_longest_ns).min(until - now_ns);
        Action::Reconnect { after_ns: pause }
    }

    /// The board counts as lost.
    fn give_up(&mut self) -> Action {
        self.lost = true;
        match self.state {
            State::Measuring | State::Reviving | State::Collecting => self.enter(State::Judging),
            // Stored and judged: only rubbish is left on the board.
            State::Removing => self.over(Outcome::Judged),
            _ => self.over(Outcome::Lost),
        }
    }

    fn resume(&mut self, now_ns: u64) -> Action {
        match self.state {
            State::Planned => self.enter(State::Preparing),
            State::Measuring | State::Searching | State::Reviving | State::Collecting => {
                self.lost_at_ns = self.lost_at_ns.or(Some(self.whole_ns(now_ns)));
                self.current()
            }
            _ => self.current(),
        }
    }

    /// Until the board says how much is left, all of it is.
    fn whole_ns(&self, now_ns: u64) -> u64 {
        now_ns.saturating_add(self.patience.deadline_ns).saturating_add(self.patience.margin_ns)
    }

    fn enter(&mut self, state: State) -> Action {
        self.state = state;
        self.current()
    }

    fn over(&mut self, outcome: Outcome) -> Action {
        self.state = State::Over(outcome);
        Action::Nothing
    }

    /// The action that the state stands for; also what follows a new connection.
    pub fn current(&self) -> Action {
        match self.state {
            State::Planned | State::Preparing => Action::Prepare,
            State::Searching => Action::Search,
            State::Submitting => Action::Submit,
            State::Measuring if self.wish == Wish::Stop && !self.stop_sent => Action::Stop,
            State::Measuring => Action::Poll { after_ns: 0 },
            State::Reviving => Action::Revive,
            State::Collecting => Action::Collect,
            State::Judging => Action::Judge,
            State::Removing => Action::Remove,
            State::Over(_) => Action::Nothing,
        }
    }
}

/// Where a run stands by what the journal says of it, in order.
pub fn replay(entries: impl IntoIterator<Item = (Step, Mark)>) -> State {
    let mut state = State::Planned;
    for (step, mark) in entries {
        state = match (step, mark) {
            // A person may have booted the right kernel, or installed the load, since.
            (Step::Prepare | Step::Submit, Mark::Failed) => State::Planned,
            (Step::Submit, Mark::Intent) => State::Searching,
            (Step::Submit, Mark::Done) => State::Measuring,
            (Step::Continue | Step::Restart, Mark::Intent) => State::Reviving,
            (Step::Continue, Mark::Done) => State::Measuring,
            (Step::Restart, Mark::Done) => State::Planned,
            (Step::Collect, Mark::Intent) | (Step::Continue | Step::Restart, Mark::Failed) => State::Collecting,
            (Step::Collect, Mark::Done | Mark::Failed) => State::Judging,
            (Step::Judge, Mark::Done) => State::Removing,
            // Judged without the board, which did not answer: the rest is fetched before anything is removed from it.
            (Step::Judge, Mark::Failed) => State::Measuring,
            (Step::Remove, Mark::Done) => State::Over(Outcome::Judged),
            _ => state,
        };
    }
    state
}

/// How often a run was revived after a reset of its board, by what the journal says of it.
pub fn resets(entries: impl IntoIterator<Item = (Step, Mark)>) -> u32 {
    let revived = |(step, mark): &(Step, Mark)| matches!(step, Step::Continue | Step::Restart) && *mark == Mark::Done;
    u32::try_from(entries.into_iter().filter(revived).count()).unwrap_or(u32::MAX)
}

/// Whether a board is taken by what the journal says of it, in order: taken, and not given back since.
pub fn holds_board(entries: impl IntoIterator<Item = (Step, Mark)>) -> bool {
    let mut held = false;
    for (step, mark) in entries {
        held = match (step, mark) {
            // A process that died while it took the board may have it.
            (Step::Lock, Mark::Intent | Mark::Done) => true,
            (Step::Lock, Mark::Failed) | (Step::Unlock, Mark::Done) => false,
            _ => held,
        };
    }
    held
}

/// Whether the boot choice of a board may not be its own by what the journal says of it, in order: changed, and not put back since.
pub fn boot_is_changed(entries: impl IntoIterator<Item = (Step, Mark)>) -> bool {
    let mut changed = false;
    for (step, mark) in entries {
        changed = match (step, mark) {
            // A process that died while it changed it may have.
            (Step::Boot, Mark::Intent) => true,
            (Step::PutBack, Mark::Done) => false,
            _ => changed,
        };
    }
    changed
}

#[cfg(test)]
mod tests;
