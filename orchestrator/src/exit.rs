//! Exit codes, stable: scripts depend on them.

use crate::board::{BoardError, Fault};
use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Everything valid, nothing failed.
    Success = 0,
    /// A bug in latlab.
    Bug = 1,
    /// Wrong use of the command line.
    Usage = 2,
    /// A gate failed.
    GateFailed = 3,
    /// An input file is wrong or missing (campaign, target, import, the probe for the board).
    InputFile = 4,
    /// A board is unreachable, busy or lost.
    Board = 5,
    /// A run is invalid or incomplete.
    Invalid = 6,
    /// The results store cannot be read or written.
    Store = 7,
    /// Detached: the board is still measuring.
    Detached = 8,
}

impl Exit {
    /// A board that cannot be used. A probe that this host lacks is no fault of the board.
    pub fn of_board(error: &BoardError) -> Exit {
        match error.fault() {
            Fault::Host => Exit::InputFile,
            Fault::Link | Fault::Board => Exit::Board,
        }
    }

    /// The code for several outcomes together: store, gate, board, invalid, detached, in this order.
    pub fn combine(outcomes: impl IntoIterator<Item = Exit>) -> Exit {
        let rank = |exit: &Exit| match exit {
            Exit::Success => 0,
            Exit::Detached => 1,
            Exit::Invalid => 2,
            Exit::Board => 3,
            Exit::GateFailed => 4,
            Exit::Store => 5,
            Exit::InputFile => 6,
            Exit::Usage => 7,
            Exit::Bug => 8,
        };
        outcomes.into_iter().max_by_key(rank).unwrap_or(Exit::Success)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixed_outcomes_follow_the_documented_order() {
        use Exit::*;
        for (outcomes, expected) in [
            (&[][..], Success),
            (&[Detached, Success], Detached),
            (&[Invalid, Detached], Invalid),
            (&[Board, Invalid], Board),
            (&[GateFailed, Board, Invalid], GateFailed),
            (&[Store, GateFailed], Store),
        ] {
            assert_eq!(Exit::combine(outcomes.iter().copied()), expected, "{outcomes:?}");
        }
    }
}
