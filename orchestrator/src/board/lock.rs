//! The lock on the board: one execution at a time measures on it.

use super::probe::parse;
use super::{Board, BoardError, Deployed};
use crate::transport::Request;
use latprobe::status::Lock;

/// Exit code of `latprobe lock` when somebody else holds the board.
const HELD: i32 = 3;

impl Board {
    /// Takes the board for an execution, or confirms that it has it.
    pub async fn lock(&self, deployed: &Deployed, holder: &str, execution: &str) -> Result<(), BoardError> {
        let argv = [&deployed.probe, "lock", "take", "--holder", holder, "--execution", execution];
        let answer = self.exec(Request::new(argv)).await?;
        match answer.status {
            0 => Ok(()),
            HELD => Err(BoardError::Busy { lock: Box::new(parse("lock", &answer.stdout)?), held_s: None }),
            _ => Err(BoardError::Probe { command: "lock".to_owned(), complaint: answer.complaint() }),
        }
    }

    /// Who holds the board.
    pub async fn lock_holder(&self, deployed: &Deployed) -> Result<Option<Lock>, BoardError> {
        let answer = self.probe("lock", Request::new([&deployed.probe, "lock", "show"])).await?;
        match answer.stdout.trim_ascii().is_empty() {
            true => Ok(None),
            false => Ok(Some(parse("lock", &answer.stdout)?)),
        }
    }

    /// Gives the board back.
    pub async fn unlock(&self, deployed: &Deployed, execution: &str) -> Result<(), BoardError> {
        let argv = [&deployed.probe, "lock", "release", "--execution", execution];
        self.probe("lock", Request::new(argv)).await?;
        Ok(())
    }
}
