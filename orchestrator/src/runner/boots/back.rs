use super::{Boots, boot_id, patiently};
use crate::board::boot::{BootError, Restart};
use crate::board::{Board, BoardError};
use latlab_core::boot::differs_from_before;
use latlab_core::facts::Facts;

impl Boots<'_> {
    /// Whether there is something to put back.
    pub(in crate::runner) fn is_changed(&self) -> bool {
        self.changed
    }

    /// The board boots its own choice again, and runs it. What differs from before in spite of it, in words.
    pub(in crate::runner) async fn put_back(&mut self) -> Result<Option<String>, PutBackError> {
        let board = self.board;
        board.pin(None);
        patiently!(board, board.boot_choice().put_back())?;
        let boot_id = patiently!(board, boot_id(board))?;
        let own = self.record.as_ref().and_then(|record| record.own.clone());
        if own.as_ref().is_some_and(|own| own.boot_id == boot_id) {
            // It was never rebooted.
            self.changed = false;
            return Ok(None);
        }
        self.show("rebooting into what it boots by itself".to_owned());
        if let Err(why) = self.restart(Restart::Reboot, None, &boot_id).await? {
            self.cycle(&why).await.map_err(|hand| PutBackError::NotBack(format!("{why}; {hand}")))?;
        }
        self.changed = false;
        let Some(own) = own else { return Ok(None) };
        let found = patiently!(board, running(board))?;
        let before = Facts { release: own.release, cmdline: own.cmdline, ..Facts::default() };
        Ok(differs_from_before(&before, &found))
    }
}

/// The boot choice of a board is not its own.
#[derive(Debug, thiserror::Error)]
pub(in crate::runner) enum PutBackError {
    /// It could not be put back.
    #[error("its boot choice could not be put back: {0}")]
    Boot(#[from] BootError),
    /// It does not come up.
    #[error("its boot choice is put back, but it does not come up: {0}")]
    NotBack(String),
}

impl From<BoardError> for PutBackError {
    fn from(error: BoardError) -> Self {
        Self::Boot(error.into())
    }
}

async fn running(board: &Board) -> Result<Facts, BootError> {
    Ok(board.running().await?)
}
