//! An OpenSSH server on loopback with keys of its own.

use super::{Workplace, processes, wait_for, which};
use std::fs;
use std::io::Read;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// What a server and its client need.
pub(crate) const NEEDS: [&str; 3] = ["sshd", "ssh", "ssh-keygen"];

/// A running server; ends with its sessions when dropped.
pub(crate) struct Sshd {
    child: Child,
    directory: PathBuf,
    kind: Kind,
    pub(crate) port: u16,
}

/// What stands around the server.
#[derive(Clone)]
enum Kind {
    /// Nothing.
    Bare,
    /// A mount namespace, made by these shell commands.
    Mounts(String),
    /// A machine of its own as far as processes and the boot id go: it can be reset.
    Board(String),
}

/// How a server is made.
#[derive(Default)]
pub(crate) struct Options<'a> {
    /// More lines for sshd_config.
    pub(crate) config: &'a str,
    /// Shell commands before sshd, in a mount namespace of its own.
    pub(crate) mounts: &'a str,
}

impl Sshd {
    pub(crate) fn start(workplace: &Workplace) -> Self {
        Self::with(workplace, "sshd", &Options::default())
    }

    pub(crate) fn with(workplace: &Workplace, name: &str, options: &Options) -> Self {
        let directory = workplace.path().join(name);
        fs::create_dir_all(&directory).unwrap();
        fs::create_dir_all("/run/sshd").unwrap();
        for key in ["host_key", "id"] {
            keygen(&directory.join(key));
        }
        let port = free_port();
        let at = directory.display();
        // A home of its own: what the account's shell reads at its start may take long, or hang.
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nListenAddress ::1\nHostKey {at}/host_key\nAuthorizedKeysFile {at}/id.pub\n\
             PidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
             PermitRootLogin yes\nMaxStartups 100\nSetEnv HOME={at}\n{}",
            options.config
        );
        fs::write(directory.join("sshd_config"), config).unwrap();
        let kind = match options.mounts {
            "" => Kind::Bare,
            mounts => Kind::Mounts(mounts.to_owned()),
        };
        Self { child: launch(&directory, &kind, port), directory, kind, port }
    }

    /// Turns the server into a board that can be reset. `mounts`: further shell commands at each boot.
    pub(crate) fn into_board(mut self, mounts: &str) -> Self {
        self.stop();
        self.kind = Kind::Board(mounts.to_owned());
        self.boot();
        self
    }

    /// Cuts a board's power: every process on it is gone.
    pub(crate) fn power_off(&mut self) {
        assert!(matches!(self.kind, Kind::Board(_)), "a machine of its own");
        self.stop();
    }

    /// Boots a board that is off.
    pub(crate) fn boot(&mut self) {
        let id = fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap();
        fs::write(self.directory.join("boot_id"), id).unwrap();
        self.again();
    }

    /// Stops it with all sessions; [`Self::again`] starts it on the same port with the same keys.
    pub(crate) fn stop(&mut self) {
        let sessions = processes::descendants(self.child.id());
        let _ = self.child.kill();
        let _ = self.child.wait();
        sessions.into_iter().for_each(processes::kill);
    }

    pub(crate) fn again(&mut self) {
        self.child = launch(&self.directory, &self.kind, self.port);
    }

    /// Ends all sessions; the server goes on.
    pub(crate) fn kill_sessions(&self) {
        // With `unshare` in between, the server itself is a descendant: never kill who listens.
        processes::descendants(self.child.id()).into_iter().for_each(processes::kill);
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.directory.join("log")).unwrap()
    }

    pub(crate) fn identity(&self) -> PathBuf {
        self.directory.join("id")
    }

    /// `ssh-ed25519 AAAA…`
    pub(crate) fn host_key(&self) -> String {
        let public = fs::read_to_string(self.directory.join("host_key.pub")).unwrap();
        public.split_whitespace().take(2).collect::<Vec<_>>().join(" ")
    }

    /// `[ssh]` with a pinned key.
    pub(crate) fn target(&self) -> String {
        self.target_to("127.0.0.1", &[&self.host_key()])
    }

    pub(crate) fn target_to(&self, host: &str, pins: &[&str]) -> String {
        let (port, identity) = (self.port, self.identity());
        format!("[ssh]\ndestination = \"root@{host}\"\nport = {port}\nidentity = {identity:?}\nhost_keys = {pins:?}\n")
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        self.stop();
    }
}

pub(crate) fn keygen(path: &Path) {
    if path.exists() {
        return;
    }
    let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(path).status().unwrap();
    assert!(made.success());
}

/// A port that nobody listens on now; another process may take it before it is used, the test then fails by name.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

fn launch(directory: &Path, kind: &Kind, port: u16) -> Child {
    let sshd = which("sshd").unwrap();
    let log = fs::File::options().create(true).append(true).open(directory.join("log")).unwrap();
    let at = directory.display();
    let (namespaces, mounts): (&[&str], String) = match kind {
        Kind::Bare => (&[], String::new()),
        Kind::Mounts(mounts) => (&["unshare", "--mount"], mounts.clone()),
        Kind::Board(mounts) => (
            &["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"],
            format!("mount --bind {at}/boot_id /proc/sys/kernel/random/boot_id\n{mounts}"),
        ),
    };
    let serve = format!("{mounts}\nexec {} -D -e -f {at}/sshd_config", sshd.display());
    let mut words = namespaces.iter().copied().chain(["sh"]);
    let mut command = Command::new(words.next().unwrap());
    command.args(words);
    let mut child =
        command.args(["-e", "-c", &serve]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
    wait_for("the SSH server", 20, || {
        if let Some(status) = child.try_wait().unwrap() {
            panic!("sshd ended: {status}: {}", fs::read_to_string(directory.join("log")).unwrap());
        }
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let mut banner = [0; 4];
        stream.read_exact(&mut banner).ok().filter(|()| &banner == b"SSH-")
    });
    child
}
