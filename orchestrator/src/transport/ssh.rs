//! OpenSSH's client: one multiplexed master per board, its own configuration
//! file around the user's, and commands through the master's socket.
//!
//! The master is started here and not by the `openssh` crate: the crate puts
//! `StrictHostKeyChecking` on the command line, so that the user's own setting
//! is lost, and it leaves the process alone when a connection takes too long.

mod config;
mod sockets;

use super::local::shown;
use super::{Destination, LinkError, Output, Request, command};
use latlab_core::target;
use openssh::Session;
use sockets::SocketDirectory;
pub use sockets::sweep_stale_sockets;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;
use tokio::process::Command;
use tokio::sync::{Mutex, Semaphore};

/// OpenSSH's server refuses the 11th session of a connection, dropbear has other limits: stay well below.
const SESSIONS: usize = 6;
/// Ends an unused master by itself, should latlab be killed; longer than any pause between polls that keeps it.
const PERSIST: Duration = Duration::from_secs(300);

/// The user's configuration may run programs (`Match exec`).
const CONFIGURATION_TIME: Duration = Duration::from_secs(20);

/// One board over SSH.
#[derive(Debug)]
pub struct Ssh {
    target: String,
    destination: Destination,
    settings: target::Ssh,
    /// Pins in place of those of the settings; empty: none.
    pins: std::sync::Mutex<Vec<String>>,
    sessions: Semaphore,
    link: Mutex<Option<Arc<Link>>>,
}

/// A live connection.
#[derive(Debug)]
struct Link {
    session: Session,
    /// Ends the master when dropped without [`Ssh::close`], as when the boards are left at once.
    sockets: SocketDirectory,
}

impl Ssh {
    pub(super) fn new(target: &str, settings: &target::Ssh) -> Result<Self, LinkError> {
        let mut destination = Destination::parse(&settings.destination)?;
        destination.port = settings.port.or(destination.port);
        Ok(Self {
            target: target.to_owned(),
            destination,
            settings: settings.clone(),
            pins: std::sync::Mutex::default(),
            sessions: Semaphore::new(SESSIONS),
            link: Mutex::new(None),
        })
    }

    pub(super) fn peer(&self) -> String {
        self.destination.to_string()
    }

    pub(super) fn pin(&self, host_keys: &[String]) {
        host_keys.clone_into(&mut self.pins.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
    }

    /// The settings with the pins that count now.
    fn pinned(&self) -> target::Ssh {
        let pins = self.pins.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
        let host_keys = if pins.is_empty() { self.settings.host_keys.clone() } else { pins };
        target::Ssh { host_keys, ..self.settings.clone() }
    }

    pub(super) async fn connect(&self, limit: Duration) -> Result<(), LinkError> {
        self.close().await;
        if let Some(identity) = &self.settings.identity {
            config::check_identity(identity)?;
        }
        let sockets = SocketDirectory::create()?;
        config::write(&self.target, &self.destination, &self.pinned(), &sockets)?;
        let accepts_anything = self.accepts_changed_keys(&sockets).await?;
        if !self.start_master(&sockets, limit, accepts_anything).await? {
            let log = std::fs::read_to_string(sockets.log()).unwrap_or_default();
            return Err(LinkError::from_ssh(&self.peer(), &log));
        }
        let session = Session::resume_mux(sockets.socket().into(), None);
        *self.link.lock().await = Some(Arc::new(Link { session, sockets }));
        Ok(())
    }

    /// Whether the user's configuration turns the check of host keys off. Then unknown keys are accepted
    /// as the user wishes, but a changed key is still refused: the figures would be another board's.
    async fn accepts_changed_keys(&self, sockets: &SocketDirectory) -> Result<bool, LinkError> {
        let mut ssh = self.ssh(sockets);
        ssh.stdout(Stdio::piped()).stderr(Stdio::piped()).arg("-G").arg("--").arg(&self.destination.host);
        let timeout = |_| LinkError::Timeout { command: "ssh -G".to_owned(), after: CONFIGURATION_TIME };
        let output = tokio::time::timeout(CONFIGURATION_TIME, ssh.output()).await.map_err(timeout)?.map_err(no_ssh)?;
        if !output.status.success() {
            let text = command::printable(&output.stderr).lines().collect::<Vec<_>>().join(" / ");
            return Err(LinkError::Configuration { text });
        }
        let settings = String::from_utf8_lossy(&output.stdout);
        let checking = settings.lines().find_map(|line| line.strip_prefix("stricthostkeychecking "));
        Ok(checking.is_some_and(|value| matches!(value.trim(), "no" | "off" | "false")))
    }

    /// Whether `ssh -f` went to the background, which it does once the login is done.
    async fn start_master(
        &self,
        sockets: &SocketDirectory,
        limit: Duration,
        accept_new: bool,
    ) -> Result<bool, LinkError> {
        let mut ssh = self.ssh(sockets);
        if accept_new {
            ssh.args(["-o", "StrictHostKeyChecking=accept-new"]);
        }
        ssh.arg("-E").arg(sockets.log()).args(["-M", "-f", "-N"]);
        ssh.arg("-o").arg(format!("ConnectTimeout={}", limit.as_secs().max(1)));
        ssh.arg("-o").arg(format!("ControlPersist={}s", PERSIST.as_secs()));
        ssh.arg("--").arg(&self.destination.host);
        // ConnectTimeout covers TCP and banner; a login that hangs is ended here, with its process.
        let run = tokio::time::timeout(limit + Duration::from_secs(10), ssh.status());
        let timeout = || LinkError::Timeout { command: format!("ssh {}", self.destination), after: limit };
        Ok(run.await.map_err(|_| timeout())?.map_err(no_ssh)?.success())
    }

    fn ssh(&self, sockets: &SocketDirectory) -> Command {
        let mut ssh = Command::new("ssh");
        ssh.arg("-F").arg(sockets.config()).arg("-S").arg(sockets.socket());
        ssh.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // Ctrl-C in the terminal is latlab's to handle.
        ssh.process_group(0).kill_on_drop(true);
        ssh
    }

    pub(super) async fn exec(&self, request: Request<'_>) -> Result<Output, LinkError> {
        let link = self.link.lock().await.clone();
        let Some(link) = link else { return Err(LinkError::Lost { reason: "not connected".to_owned() }) };
        let _permit = self.sessions.acquire().await.map_err(|_| LinkError::Lost { reason: "closing".to_owned() })?;
        let timeout = request.timeout;
        let shown = shown(&request.argv);
        let result = match tokio::time::timeout(timeout, self.run(&link, &request, &shown)).await {
            Ok(result) => result,
            Err(_) => Err(LinkError::Timeout { command: shown, after: timeout }),
        };
        if matches!(result, Err(LinkError::Timeout { .. } | LinkError::TooMuchOutput { .. } | LinkError::Lost { .. })) {
            // The remote command may go on and hold its channel: only a new connection is clean.
            self.close().await;
        }
        result
    }

    async fn run(&self, link: &Link, request: &Request<'_>, shown: &str) -> Result<Output, LinkError> {
        let line = self.command_line(&request.argv)?;
        let mut command = link.session.raw_command(line);
        command.stdin(openssh::Stdio::piped()).stdout(openssh::Stdio::piped()).stderr(openssh::Stdio::piped());
        let mut child = command.spawn().await.map_err(|e| lost(&e))?;
        let pipes = (child.stdin().take(), child.stdout().take(), child.stderr().take());
        let (stdin, Some(stdout), Some(stderr)) = pipes else {
            return Err(LinkError::Lost { reason: "a pipe to the command is missing".to_owned() });
        };
        let (stdout, stderr) = command::pump(stdin, request.stdin, stdout, stderr, request.max_output).await?;
        match child.wait().await {
            Ok(status) => Ok(Output { status: status.code().unwrap_or(-1), stdout, stderr }),
            // The crate makes an error of its own of exit code 127, whoever gave it.
            Err(openssh::Error::Remote(_)) => Ok(Output { status: 127, stdout, stderr }),
            Err(openssh::Error::RemoteProcessTerminated) => match link.session.check().await {
                Ok(()) => Err(LinkError::Killed { command: shown.to_owned() }),
                Err(_) => Err(LinkError::Lost { reason: "the SSH connection ended".to_owned() }),
            },
            Err(error) => Err(lost(&error)),
        }
    }

    fn command_line(&self, argv: &[String]) -> Result<String, LinkError> {
        let words = self.settings.r#become.iter().flatten().chain(argv).map(String::as_str);
        shlex::try_join(words).map_err(|_| LinkError::Lost { reason: "a command with a zero byte".to_owned() })
    }

    pub(super) async fn close(&self) {
        let Some(link) = self.link.lock().await.take() else { return };
        // The crate's close() only stops listening and leaves the master to commands that hang.
        let mut exit = self.ssh(&link.sockets);
        exit.args(["-O", "exit", "--"]).arg(&self.destination.host);
        match tokio::time::timeout(Duration::from_secs(5), exit.status()).await {
            Ok(Ok(_)) => {}
            problem => tracing::debug!(?problem, target = self.target, "ssh master did not take its exit"),
        }
    }
}

fn no_ssh(source: std::io::Error) -> LinkError {
    LinkError::Program { program: "ssh".to_owned(), source, remedy: "; install OpenSSH's client (openssh-client)" }
}

/// The crate's errors say little by themselves: the source chain is the message.
fn lost(error: &openssh::Error) -> LinkError {
    let mut reason = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        reason = format!("{reason}: {cause}");
        source = cause.source();
    }
    LinkError::Lost { reason }
}

/// `~` and `~/…` as the home directory.
fn expand_home(path: &str) -> std::path::PathBuf {
    match (path.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => Path::new(path).to_owned(),
    }
}
