//! A board made of namespaces around a real SSH server: a reset ends every process in it and changes its boot id.

use super::world::{self, processes};
use crate::{paths, sshd, tools};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) struct Board {
    at: PathBuf,
    pub(crate) port: u16,
    child: Option<Child>,
}

impl Board {
    /// Boots one, with what it needs below `at`.
    pub(crate) fn start(at: &Path) -> Result<Self> {
        paths::make(at)?;
        paths::make(Path::new("/run/sshd"))?;
        for key in ["host_key", "id"] {
            sshd::keygen(&at.join(key))?;
        }
        let port = sshd::free_port()?;
        let here = at.display();
        paths::write(
            &at.join("sshd_config"),
            format!(
                "Port {port}\nListenAddress 127.0.0.1\nHostKey {here}/host_key\nAuthorizedKeysFile {here}/id.pub\nPidFile none\n\
                 StrictModes no\nSetEnv HOME={here}\nUsePAM no\nUseDNS no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
                 PermitRootLogin yes\nMaxStartups 100\n"
            ),
        )?;
        let mut board = Self { at: at.to_owned(), port, child: None };
        board.boot()?;
        Ok(board)
    }

    /// `[ssh]` of the target file, reached through `port`.
    pub(crate) fn target(&self, port: u16) -> Result<String> {
        let public = paths::read(&self.at.join("host_key.pub"))?;
        let pin = public.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
        let id = self.at.join("id");
        Ok(format!(
            "[ssh]\ndestination = \"root@127.0.0.1\"\nport = {port}\nidentity = \"{}\"\nhost_keys = [\"{pin}\"]\nconnect_timeout = \"5s\"\n",
            id.display()
        ))
    }

    /// A new boot of a board that is off.
    pub(crate) fn boot(&mut self) -> Result<()> {
        paths::write(&self.at.join("boot_id"), paths::read(Path::new("/proc/sys/kernel/random/uuid"))?)?;
        self.serve()
    }

    /// Every process on it ends at once.
    pub(crate) fn power_off(&mut self) {
        if let Some(mut child) = self.child.take() {
            let inside = processes::descendants(child.id());
            let _ = child.kill();
            let _ = child.wait();
            inside.into_iter().for_each(processes::kill);
            // The kernel takes the rest of the namespace with its first process.
            world::until(Duration::from_secs(10), || !world::is_reachable(self.port));
        }
    }

    /// Ends the SSH server's sessions and the server; what latprobe detached goes on. It comes back.
    pub(crate) fn kill_server(&self) -> Result<()> {
        let Some(child) = &self.child else { return Ok(()) };
        for pid in processes::descendants(child.id()) {
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            if name.trim().starts_with("sshd") {
                processes::kill(pid);
            }
        }
        self.wait_for_server()
    }

    /// The first process keeps the namespace alive, and the server in it.
    fn serve(&mut self) -> Result<()> {
        let at = self.at.display();
        let sshd = tools::program("sshd")?;
        let script = format!(
            "mount --bind {at}/boot_id /proc/sys/kernel/random/boot_id || exit 1\n\
             while :; do {} -D -e -f {at}/sshd_config; sleep 0.3; done",
            sshd.display()
        );
        let log = std::fs::File::options().create(true).append(true).open(self.at.join("log"))?;
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", &script]);
        command.env("PATH", tools::path()?).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        self.child = Some(command.spawn().context("cannot start unshare")?);
        self.wait_for_server()
    }

    fn wait_for_server(&self) -> Result<()> {
        let deadline = Instant::now() + Duration::from_secs(20);
        while Instant::now() < deadline {
            if sshd::banner(self.port) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let log = std::fs::read_to_string(self.at.join("log")).unwrap_or_default();
        bail!("the board's SSH server does not answer: {}", log.lines().next_back().unwrap_or_default())
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        self.power_off();
    }
}
