//! A run whose board was reset in the midst of it: what is left is handed over as a new segment, or everything begins again.

use super::{RunTask, patience};
use crate::board::{BoardError, Fault};
use crate::progress::Stage;
use crate::runner::steps::{Mirrors, remainder};
use crate::store::StoreError;
use latlab_core::campaign::model::AfterReset;
use latlab_core::facts::Facts;
use latlab_core::run_state::{Event, Mark, Step};
use latprobe::status::Capture;

impl RunTask<'_, '_> {
    /// Whether the board runs in another boot than the one that was measured on last.
    pub(super) async fn was_reset(&self) -> Result<Result<bool, BoardError>, StoreError> {
        let before = match self.mirrors.boot_id() {
            Some(before) => Some(before.to_owned()),
            // Nothing of it is at home yet.
            None => Facts::parse(&self.dir.facts_of_last_boot()?).boot_id,
        };
        let now = self.board.boot_id().await;
        Ok(now.map(|now| before.is_some_and(|before| !now.is_empty() && before != now)))
    }

    /// After a reset: what is left is handed over as a new segment, or everything begins again.
    pub(super) async fn revive(&mut self) -> Result<Event, StoreError> {
        self.show_stage(Stage::Reviving);
        let restarts = self.context.writer.plan().campaign.plan.after_reset == AfterReset::Restart;
        let step = if restarts { Step::Restart } else { Step::Continue };
        self.log.intent(step)?;
        // What was chosen for one boot alone is chosen again.
        if let Err(reason) = self.boots.ensure(self.run, self.cell).await?.ready() {
            return self.not_gone_on(step, &reason);
        }
        let captures = match self.ready().await {
            Ok(captures) => captures,
            Err(error) => return self.failed(step, &error),
        };
        // An attempt before may have got as far as the board.
        match self.board.status(&self.on_board).await {
            Ok(status) if status.boot_id == status.run_boot_id => {
                self.log.done(step, None)?;
                return Ok(Event::Submitted);
            }
            Err(error) if error.fault() == Fault::Link => return Ok(self.silent(&error)),
            _ => {}
        }
        if restarts { self.begin_again().await } else { self.go_on(&captures).await }
    }

    async fn begin_again(&mut self) -> Result<Event, StoreError> {
        if let Err(error) = self.board.abandon(&self.on_board).await {
            return self.failed(Step::Restart, &error);
        }
        self.dir.set_aside()?;
        self.mirrors = Mirrors::open(&self.dir)?;
        (self.spec, self.current) = (None, None);
        self.log.done(Step::Restart, self.reason.as_deref())?;
        Ok(Event::Unknown)
    }

    async fn go_on(&mut self, captures: &[Capture]) -> Result<Event, StoreError> {
        let Some(whole) = self.spec.clone() else { return Ok(Event::Failed) };
        let target = self.board.target();
        let other_probe = self.other_probe()?;
        let rest = remainder(&self.dir, self.cell, target, &whole, &self.mirrors, captures)?;
        let rest = match (rest.map_err(|reason| reason.to_string()), other_probe) {
            (Ok(rest), None) => rest,
            (Err(reason), _) | (Ok(_), Some(reason)) => {
                return self.not_gone_on(Step::Continue, &reason);
            }
        };
        match self.board.submit(&self.on_board, &rest).await {
            Ok(()) => {
                self.machine.set_patience(patience(self.cell, Some(&rest)));
                self.log.done(Step::Continue, Some(&format!("segment {}", rest.first_segment)))?;
                self.current = Some(rest);
                self.show_stage(Stage::Measuring);
                Ok(Event::Submitted)
            }
            Err(error) => self.failed(Step::Continue, &error),
        }
    }

    fn not_gone_on(&mut self, step: Step, reason: &str) -> Result<Event, StoreError> {
        let reason = format!("the board was reset in mid-run and is not gone on with: {reason}");
        self.log.failed(step, &reason)?;
        self.reason = Some(reason);
        Ok(Event::Refused)
    }

    /// Why the probe is not the one that the run began with, if it is not.
    fn other_probe(&self) -> Result<Option<String>, StoreError> {
        let entries = self.context.writer.directory().journal()?;
        let mine = |entry: &&crate::store::journal::Entry| entry.run.as_deref() == Some(&self.run.name);
        let submitted = entries.iter().rev().filter(mine).find(|e| e.step == Step::Submit && e.mark == Mark::Done);
        let (was, is) = (submitted.and_then(|entry| entry.detail.clone()), self.deployed.version_and_hash());
        Ok(was.filter(|was| *was != is).map(|was| format!("the probe was {was} before the reset, is {is} now")))
    }
}
