//! A throw-away OpenSSH server on loopback: own keys, own port, own folder; it ends with the guard.

use crate::{paths, shell, tools};
use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A running server; dropping it ends it.
pub(crate) struct Sshd {
    child: Child,
    directory: tempfile::TempDir,
    port: u16,
    user: String,
}

impl Sshd {
    /// Starts one and waits for its banner.
    pub(crate) fn start() -> Result<Self> {
        tools::ensure(&tools::LOOPBACK)?;
        let directory = tempfile::Builder::new().prefix("latlab-sshd-").tempdir().context("cannot make a folder")?;
        let at = directory.path();
        for key in ["host_key", "identity"] {
            keygen(&at.join(key))?;
        }
        let user = shell::output(Command::new("id").arg("-un"))?.trim().to_owned();
        // Somebody else may take the port between this and sshd's bind: then sshd ends at once, and we try the next.
        for _ in 0..5 {
            let port = free_port()?;
            paths::write(&at.join("sshd_config"), configuration(at, port)?)?;
            let mut child = command(at)?.spawn().context("cannot start sshd")?;
            if wait_for_banner(&mut child, port)? {
                return Ok(Self { child, directory, port, user });
            }
        }
        let log = std::fs::read_to_string(at.join("log")).unwrap_or_default();
        bail!("sshd does not start: {}", log.trim())
    }

    /// Writes the target file that leads here.
    pub(crate) fn target_file(&self) -> Result<PathBuf> {
        let at = self.directory.path();
        let public = paths::read(&at.join("host_key.pub"))?;
        let pin = public.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
        let r#become = if shell::is_root()? { "" } else { "become = \"sudo -n\"\n" };
        let text = format!(
            "name = \"loopback\"\ndescription = \"this machine through a throw-away sshd\"\n\n[ssh]\ndestination = \"{}@127.0.0.1\"\nport = {}\nidentity = \"{}\"\nhost_keys = [\"{pin}\"]\n{}",
            self.user,
            self.port,
            at.join("identity").display(),
            r#become
        );
        let file = at.join("loopback.toml");
        paths::write(&file, text)?;
        Ok(file)
    }

    /// What it listens on, for people.
    pub(crate) fn describe(&self) -> String {
        format!("sshd (pid {}) on 127.0.0.1:{}", self.child.id(), self.port)
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        // The shell's own kill: a small system has no program of that name.
        let _ = Command::new("sh").args(["-c", "kill \"$0\""]).arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
    }
}

/// Makes an ed25519 key pair without passphrase.
pub(crate) fn keygen(file: &Path) -> Result<()> {
    shell::output(
        Command::new("ssh-keygen")
            .env("PATH", tools::path()?)
            .args(["-q", "-t", "ed25519", "-N", "", "-C", "latlab", "-f"])
            .arg(file),
    )?;
    Ok(())
}

/// A port of 127.0.0.1 that nobody listens on now.
pub(crate) fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot bind on 127.0.0.1")?;
    Ok(listener.local_addr()?.port())
}

fn configuration(at: &Path, port: u16) -> Result<String> {
    let public = paths::read(&at.join("identity.pub"))?;
    paths::write(&at.join("authorized_keys"), public)?;
    let at = at.display();
    // The board's hackbench may be one of the unpacked programs.
    let path = tools::path()?;
    Ok(format!(
        "ListenAddress 127.0.0.1:{port}\nHostKey {at}/host_key\nPidFile none\nAuthorizedKeysFile {at}/authorized_keys\n\
         PermitRootLogin prohibit-password\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nUsePAM no\n\
         StrictModes no\nUseDNS no\nSetEnv HOME={at} PATH={}\n",
        path.to_string_lossy()
    ))
}

/// The server as a child that gets SIGTERM when xtask dies, however that happens.
fn command(at: &Path) -> Result<Command> {
    let sshd = tools::program("sshd")?;
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "TERM", "--"]);
    if shell::is_root()? {
        paths::make(Path::new("/run/sshd"))?;
    }
    command.arg(sshd).args(["-D", "-e", "-f"]).arg(at.join("sshd_config"));
    let log = std::fs::File::create(at.join("log")).context("cannot write sshd's log")?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    Ok(command)
}

/// `false`: the server ended before it answered.
fn wait_for_banner(child: &mut Child, port: u16) -> Result<bool> {
    let deadline = Instant::now() + Duration::from_secs(20);
    while Instant::now() < deadline {
        if child.try_wait()?.is_some() {
            return Ok(false);
        }
        if banner(port) {
            return Ok(true);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let _ = child.kill();
    let _ = child.wait();
    Ok(false)
}

/// Whether an SSH server answers on a port of 127.0.0.1: an open port alone says nothing behind a port forward.
pub(crate) fn banner(port: u16) -> bool {
    let Ok(stream) = TcpStream::connect_timeout(&(Ipv4Addr::LOCALHOST, port).into(), Duration::from_secs(2)) else {
        return false;
    };
    if stream.set_read_timeout(Some(Duration::from_secs(2))).is_err() {
        return false;
    }
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).is_ok() && line.starts_with("SSH-")
}
