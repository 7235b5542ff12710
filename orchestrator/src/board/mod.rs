//! One board: the probe on it, and what the probe's short commands answer.
//!
//! Nothing a board says is trusted to be short, well-formed or prompt.

pub(crate) mod boot;
mod deploy;
mod error;
mod lock;
mod probe;
mod probe_binary;

pub use deploy::Deployed;
pub(crate) use error::duration_text;
pub use error::{BoardError, Fault};
pub use lock::Occupancy;
pub use probe::{Chunk, RunOnBoard};
pub use probe_binary::{ProbeBinary, Probes, triple};

use crate::transport::{Output, Request, Transport};
use latlab_core::target::{self, Target};
use std::sync::Arc;
use std::time::Duration;

/// How much longer than `connect_timeout` a board that measures may take.
const PATIENCE_FACTOR: u32 = 6;

/// A board that can be reached.
#[derive(Debug)]
pub struct Board {
    target: Target,
    transport: Transport,
    /// Commands on this host that belong to the board: its power switch, its files on a TFTP root.
    host: Transport,
    probes: Arc<Probes>,
}

impl Board {
    /// The board that a target describes; not connected yet.
    pub fn new(target: &Target, probes: Arc<Probes>) -> Result<Self, BoardError> {
        let board =
            Self { target: target.clone(), transport: Transport::new(target)?, host: Transport::host(), probes };
        board.pin(None);
        Ok(board)
    }

    /// Its description.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Connects, and sees that commands run with the rights that are asked for.
    pub async fn connect(&self) -> Result<(), BoardError> {
        self.transport.connect(self.connect_timeout()).await?;
        self.greet().await
    }

    /// Connects anew, with patience: a server beside a heavy load takes its time for a login.
    pub async fn reconnect(&self) -> Result<(), BoardError> {
        self.transport.connect(self.connect_timeout() * PATIENCE_FACTOR).await?;
        self.greet().await
    }

    fn connect_timeout(&self) -> Duration {
        match &self.target.transport {
            target::Transport::Ssh(ssh) => Duration::from_nanos(ssh.connect_timeout_ns),
            target::Transport::Local { .. } => Duration::ZERO,
        }
    }

    async fn greet(&self) -> Result<(), BoardError> {
        let answer = self.transport.exec(Request::script("echo latlab:$(id -u)", &[]).max_output(16 << 10)).await?;
        let text = String::from_utf8_lossy(&answer.stdout);
        // A login banner or a chatty profile may stand before it.
        match text.lines().rev().find_map(|line| line.trim().strip_prefix("latlab:")) {
            Some(uid) if uid.parse::<u32>().is_ok() => Ok(()),
            _ if !answer.success() => {
                Err(BoardError::NoShell { peer: self.transport.peer(), complaint: answer.complaint() })
            }
            _ => Err(BoardError::garbage("id -u", &answer.stdout)),
        }
    }

    /// Ends the connection.
    pub async fn close(&self) {
        self.transport.close().await;
    }

    async fn exec(&self, request: Request<'_>) -> Result<Output, BoardError> {
        Ok(self.transport.exec(request).await?)
    }
}
