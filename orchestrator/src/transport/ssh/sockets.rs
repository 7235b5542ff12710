//! Where master sockets live: a private directory whose name is short enough for a Unix socket.

use super::LinkError;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// A Unix socket's path has 108 bytes with its final zero, and ssh binds a name that is 17 longer first.
const LONGEST_SOCKET: usize = 107 - 17;

/// Directory of one connection: socket, configuration and log. Removed on drop.
#[derive(Debug)]
pub(super) struct SocketDirectory(PathBuf);

static NEXT: AtomicU32 = AtomicU32::new(0);

impl SocketDirectory {
    pub(super) fn create() -> Result<Self, LinkError> {
        let base = base()?;
        let name = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let this = Self(base.join(name));
        let length = this.socket().as_os_str().len();
        if length > LONGEST_SOCKET {
            let reason = format!("its name is {} bytes too long for a socket", length - LONGEST_SOCKET);
            return Err(LinkError::ControlDirectory { path: base, reason });
        }
        // A directory of this name can only be left from a dead process with the same id.
        let _ = std::fs::remove_dir_all(&this.0);
        make_private(&this.0).map_err(|reason| LinkError::ControlDirectory { path: this.0.clone(), reason })?;
        Ok(this)
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.0.join("m")
    }

    pub(super) fn config(&self) -> PathBuf {
        self.0.join("config")
    }

    pub(super) fn log(&self) -> PathBuf {
        self.0.join("log")
    }

    pub(super) fn known_hosts(&self) -> PathBuf {
        self.0.join("known_hosts")
    }
}

impl Drop for SocketDirectory {
    fn drop(&mut self) {
        end_master(&self.0);
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Ends the master of a connection that was not closed in good order. Takes milliseconds: it only talks to the socket.
fn end_master(directory: &Path) {
    let socket = directory.join("m");
    if !socket.exists() {
        return;
    }
    let mut exit = Command::new("ssh");
    exit.arg("-F").arg("none").arg("-S").arg(&socket).args(["-O", "exit", "latlab"]);
    let ended = exit.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    tracing::debug!(?ended, socket = %socket.display(), "ended an ssh master that was left");
}

/// `$XDG_RUNTIME_DIR/latlab`, else `/tmp/latlab-UID`; ours and nobody else's.
fn base() -> Result<PathBuf, LinkError> {
    let base = match std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from) {
        Some(runtime) if runtime.is_absolute() && runtime.is_dir() => runtime.join("latlab"),
        _ => PathBuf::from(format!("/tmp/latlab-{}", own_uid())),
    };
    let unusable = |reason: String| LinkError::ControlDirectory { path: base.clone(), reason };
    match std::fs::symlink_metadata(&base) {
        Err(_) => make_private(&base).map_err(unusable)?,
        Ok(meta) if !meta.is_dir() => return Err(unusable("it is no directory".to_owned())),
        Ok(meta) if meta.uid() != own_uid() => return Err(unusable("it belongs to another user".to_owned())),
        Ok(meta) if meta.permissions().mode() & 0o077 != 0 => {
            return Err(unusable("other users can enter it (mode 0700 is needed)".to_owned()));
        }
        Ok(_) => {}
    }
    Ok(base)
}

fn make_private(path: &Path) -> Result<(), String> {
    match std::fs::DirBuilder::new().mode(0o700).create(path) {
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        result => result.map_err(|e| e.to_string()),
    }
}

fn own_uid() -> u32 {
    // The owner of one's own /proc entry; without /proc, of a file one makes.
    std::fs::metadata("/proc/self").map(|meta| meta.uid()).unwrap_or(0)
}

/// Ends and removes what killed latlab processes left.
pub fn sweep_stale_sockets() {
    let Ok(entries) = base().and_then(|base| std::fs::read_dir(&base).map_err(LinkError::pipe)) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let pid = name.to_string_lossy().split_once('-').and_then(|(pid, _)| pid.parse::<u32>().ok());
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
            end_master(&entry.path());
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}
