use super::{BadDestination, command::printable};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// The link to a board failed, or this machine's side of it. The board's own answers are never a `LinkError`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// The target file names no destination that can be used.
    #[error("{0}")]
    Destination(#[from] BadDestination),
    /// The private key of the target file is not there.
    #[error("identity {}: {source}; correct `identity` in the target file", path.display())]
    Identity {
        /// As configured.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// No such name.
    #[error(
        "the host name of {peer} cannot be resolved; check `destination` in the target file, or the HostName in your ssh configuration ({text})"
    )]
    Name {
        /// Whom.
        peer: String,
        /// What ssh said.
        text: String,
    },
    /// Nobody answers there.
    #[error("{peer} cannot be reached: {text}; is it powered, on the network, and is its SSH server running?")]
    Unreachable {
        /// Whom.
        peer: String,
        /// What ssh said.
        text: String,
    },
    /// The login was refused.
    #[error(
        "{peer} refused the login: {text}; latlab never asks for passwords: install a key that `ssh {peer}` uses without asking, or set `identity` in the target file"
    )]
    Login {
        /// Whom.
        peer: String,
        /// What ssh said.
        text: String,
    },
    /// The host key is not the one that is known.
    #[error(
        "the host key of {peer} has changed (known from {known}); a re-flashed board has a new key: check it, then remove the old one with `ssh-keygen -R`, or correct `host_keys` in the target file"
    )]
    HostKeyChanged {
        /// Whom.
        peer: String,
        /// File and line of the old key.
        known: String,
    },
    /// The host key is not known.
    #[error(
        "the host key of {peer} is not known; connect once with `ssh {peer}` and check it, or pin it with `host_keys` in the target file"
    )]
    HostKeyUnknown {
        /// Whom.
        peer: String,
    },
    /// The user's ssh configuration cannot be used.
    #[error("ssh refuses its configuration: {text}")]
    Configuration {
        /// What ssh said.
        text: String,
    },
    /// Reached, but no session came out of it.
    #[error("no SSH session with {peer}: {text}")]
    Handshake {
        /// Whom.
        peer: String,
        /// What ssh said.
        text: String,
    },
    /// No `ssh`, `sh` or `become` program on this machine.
    #[error("cannot run `{program}` on this machine: {source}{remedy}")]
    Program {
        /// Which.
        program: String,
        /// Why.
        source: io::Error,
        /// What to do, with its separator.
        remedy: &'static str,
    },
    /// The directory for the connection's socket cannot be used.
    #[error("the directory for ssh control sockets, {}, cannot be used: {reason}; set XDG_RUNTIME_DIR to a short directory of your own", path.display())]
    ControlDirectory {
        /// Where.
        path: PathBuf,
        /// In plain words.
        reason: String,
    },
    /// It took too long.
    #[error("no answer within {} s to `{command}`", after.as_secs())]
    Timeout {
        /// Program and first arguments.
        command: String,
        /// The bound.
        after: Duration,
    },
    /// The connection broke.
    #[error("the connection was lost: {reason}")]
    Lost {
        /// In plain words.
        reason: String,
    },
    /// More output than any sound answer has.
    #[error("the board's answer is longer than {max_bytes} bytes, which no sound one is")]
    TooMuchOutput {
        /// The bound.
        max_bytes: usize,
    },
    /// The command was killed on the board.
    #[error("`{command}` was ended by a signal")]
    Killed {
        /// Program and first arguments.
        command: String,
    },
}

impl LinkError {
    pub(super) fn pipe(source: io::Error) -> Self {
        Self::Lost { reason: source.to_string() }
    }

    /// What OpenSSH's client says about a connection that did not come about.
    pub(super) fn from_ssh(peer: &str, log: &str) -> Self {
        let peer = peer.to_owned();
        let lines: Vec<&str> = log.lines().map(|line| line.trim().trim_start_matches("ssh: ")).collect();
        let find =
            |needle: &str| lines.iter().find(|line| line.contains(needle)).map(|line| printable(line.as_bytes()));
        if log.contains("REMOTE HOST IDENTIFICATION HAS CHANGED") {
            let known = find("Offending").or_else(|| find("key in ")).unwrap_or_default();
            let known = known.rsplit_once(" key in ").map_or(known.clone(), |(_, place)| place.to_owned());
            return Self::HostKeyChanged { peer, known };
        }
        if let Some(text) = find("Could not resolve") {
            return Self::Name { peer, text };
        }
        if log.contains("host key is known for") || log.contains("Host key verification failed") {
            return Self::HostKeyUnknown { peer };
        }
        if let Some(text) = find("Permission denied (").or_else(|| find("Too many authentication failures")) {
            return Self::Login { peer, text };
        }
        if let Some(text) = find("connect to host").or_else(|| find("timed out")).or_else(|| find("No route to host")) {
            return Self::Unreachable { peer, text };
        }
        if let Some(text) = find("Bad configuration option").or_else(|| find("terminating,")) {
            return Self::Configuration { text };
        }
        let last = lines.iter().rev().find(|line| !line.is_empty());
        let text = last.map_or_else(|| "ssh gave no reason".to_owned(), |line| printable(line.as_bytes()));
        Self::Handshake { peer, text }
    }

    /// The one who answers has another host key than is known.
    pub fn is_other_host_key(&self) -> bool {
        matches!(self, Self::HostKeyChanged { .. } | Self::HostKeyUnknown { .. })
    }

    /// The machine it is about may answer later with nothing changed by hand.
    pub fn may_pass(&self) -> bool {
        matches!(
            self,
            Self::Name { .. }
                | Self::Unreachable { .. }
                | Self::Handshake { .. }
                | Self::Timeout { .. }
                | Self::Lost { .. }
                | Self::Killed { .. }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ssh_messages_become_short_and_say_whose_fault_it_is() {
        let changed = "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\nIT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY!\nOffending ED25519 key in /home/me/.ssh/known_hosts:7\nHost key for board has changed and you have requested strict checking.\nHost key verification failed.\n";
        for (log, expected) in [
            (changed, "the host key of root@board has changed (known from /home/me/.ssh/known_hosts:7)"),
            (
                "No ED25519 host key is known for board and you have requested strict checking.\r\nHost key verification failed.\r\n",
                "the host key of root@board is not known",
            ),
            (
                "ssh: Could not resolve hostname board: Name or service not known\r\n",
                "the host name of root@board cannot be resolved",
            ),
            (
                "ssh: connect to host board port 22: Connection refused\r\n",
                "root@board cannot be reached: connect to host board port 22: Connection refused",
            ),
            (
                "Warning: Permanently added 'board' (ED25519).\nroot@board: Permission denied (publickey,password).\r\n",
                "root@board refused the login: root@board: Permission denied (publickey,password).",
            ),
            (
                "Connection timed out during banner exchange\r\nConnection to 127.0.0.1 port 1 timed out",
                "root@board cannot be reached: Connection timed out during banner exchange",
            ),
            (
                "kex_exchange_identification: Connection closed by remote host\r\n",
                "no SSH session with root@board: kex_exchange_identification: Connection closed by remote host",
            ),
            ("", "no SSH session with root@board: ssh gave no reason"),
        ] {
            let error = LinkError::from_ssh("root@board", log).to_string();
            assert!(error.starts_with(expected), "{error}");
            assert!(!error.contains("@@@"));
        }
    }
}
