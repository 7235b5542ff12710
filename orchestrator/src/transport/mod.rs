//! How commands get to a board: each call is one short command that is
//! bounded in time and output, and ends with an exit status or with a
//! [`LinkError`] that says whose fault it is.

mod command;
mod destination;
mod error;
mod local;
mod ssh;

pub(crate) use command::printable;
pub use command::{Output, Request};
pub use destination::{BadDestination, Destination};
pub use error::LinkError;
pub use ssh::sweep_stale_sockets;

use latlab_core::target;
use local::Local;
use ssh::Ssh;
use std::time::Duration;

/// A way to one board.
#[derive(Debug)]
pub enum Transport {
    /// This machine.
    Local(Local),
    /// An SSH server.
    Ssh(Box<Ssh>),
}

impl Transport {
    /// The transport that a target asks for; not connected yet.
    pub fn new(target: &target::Target) -> Result<Self, LinkError> {
        Ok(match &target.transport {
            target::Transport::Local { r#become } => Self::Local(Local::new(r#become.clone())),
            target::Transport::Ssh(ssh) => Self::Ssh(Box::new(Ssh::new(&target.name, ssh)?)),
        })
    }

    /// Commands on this host, whatever the board is: power switches, TFTP roots.
    pub fn host() -> Self {
        Self::Local(Local::new(None))
    }

    /// Connects, or connects anew after the link was lost; what runs on the board goes on. It may take `limit`.
    pub async fn connect(&self, limit: Duration) -> Result<(), LinkError> {
        match self {
            Self::Local(_) => Ok(()),
            Self::Ssh(ssh) => ssh.connect(limit).await,
        }
    }

    /// From the next connection on, only these host keys are the board's; empty: those of its target file.
    pub fn pin(&self, host_keys: &[String]) {
        if let Self::Ssh(ssh) = self {
            ssh.pin(host_keys);
        }
    }

    /// Runs one command to its end.
    pub async fn exec(&self, request: Request<'_>) -> Result<Output, LinkError> {
        match self {
            Self::Local(local) => local.exec(request).await,
            Self::Ssh(ssh) => ssh.exec(request).await,
        }
    }

    /// Ends the connection and removes what it needed on this machine.
    pub async fn close(&self) {
        match self {
            Self::Local(_) => {}
            Self::Ssh(ssh) => ssh.close().await,
        }
    }

    /// How people would name the other end: `root@board`, `this machine`.
    pub fn peer(&self) -> String {
        match self {
            Self::Local(_) => "this machine".to_owned(),
            Self::Ssh(ssh) => ssh.peer(),
        }
    }
}
