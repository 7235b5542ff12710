use super::{Boots, Readiness, patiently};
use crate::board::boot::{BootError, Restart, WhyNot};
use crate::store::StoreError;
use latlab_core::boot::{Fallback, fallback};
use std::time::{Duration, Instant};

/// How long a board that resets in a loop is tried to be caught while it is up.
const CATCHING: Duration = Duration::from_secs(60);

impl Boots<'_> {
    /// The board did not come up with what was asked for: gets it back to its own choice.
    pub(super) async fn recover(&mut self, why: WhyNot) -> Result<Readiness, StoreError> {
        self.show(format!("not booted: {why}"));
        self.board.pin(None);
        let back = match &why {
            WhyNot::SameBoot { .. } | WhyNot::OtherHostKey { .. } => self.board.reconnect().await.is_ok(),
            WhyNot::Loop { .. } => self.caught().await,
            WhyNot::Silent { .. } => false,
        };
        if back {
            if let Err(error) = patiently!(self.board, self.board.boot_choice().put_back()) {
                return Ok(Readiness::Unusable(format!("{why}; its boot choice could not be put back: {error}")));
            }
            return Ok(match &why {
                WhyNot::OtherHostKey { .. } => Readiness::Refused(format!("booted, but not the asked thing: {why}")),
                _ => Readiness::NotBooted(format!("{why}; it answers, and boots its own choice next")),
            });
        }
        match self.cycle(&why).await {
            Ok(how) => match patiently!(self.board, self.board.boot_choice().put_back()) {
                Ok(_) => Ok(Readiness::NotBooted(format!("{why}; it is back after {how}"))),
                Err(error) => {
                    Ok(Readiness::Unusable(format!("{why}; back after {how}, but its boot choice stays: {error}")))
                }
            },
            Err(hand) => Ok(Readiness::Unusable(format!("{why}; {hand}"))),
        }
    }

    /// Cuts the power, with what brings the board's own choice up. What did it; or why somebody has to go there.
    pub(super) async fn cycle(&self, why: &WhyNot) -> Result<String, String> {
        let target = self.target();
        if !self.board.has_power() {
            return Err("needs a hand: the target file names no power switch".to_owned());
        }
        let mut how = "a power cycle".to_owned();
        if let Some(argv) = &target.boot.fallback {
            self.board.fallback(argv).await.map_err(|error| format!("needs a hand: {error}"))?;
            how = "`boot.fallback` and a power cycle".to_owned();
        }
        self.show(format!("power cycle: {why}"));
        self.board.power_cycle().await.map_err(|error| format!("needs a hand: {error}"))?;
        match self.board.wait_for_boot("").await {
            Ok(_) => Ok(how),
            Err(again) => Err(match fallback(target) {
                Fallback::NeedsHand => {
                    format!(
                        "needs a hand: a power cycle boots the same again ({again}); name `boot.fallback` or `boot.bootcount` in the target file for the next time"
                    )
                }
                _ => format!("needs a hand: after {how}: {again}"),
            }),
        }
    }

    /// A board that resets in a loop is up for moments: long enough to put its choice back.
    async fn caught(&self) -> bool {
        let until = Instant::now() + CATCHING;
        while Instant::now() < until {
            if self.board.connect().await.is_ok() && self.leave_loop().await.is_ok() {
                return true;
            }
            tokio::time::sleep(super::PAUSE).await;
        }
        false
    }

    async fn leave_loop(&self) -> Result<(), BootError> {
        let boot_id = self.board.boot_id().await?;
        self.board.boot_choice().put_back().await?;
        self.board.restart(Restart::Reboot).await?;
        let what = "reboot into the board's own choice".to_owned();
        let up = self.board.wait_for_boot(&boot_id).await;
        up.map(|_| ()).map_err(|why| BootError::Program { what, complaint: why.to_string() })
    }
}
