//! What a made board keeps in the cache: keys, disks, boot configuration, sockets, process numbers.

use super::board::{self, Board, Boot, Variant};
use super::{disk, image};
use crate::{paths, sshd};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

/// Longest path of a unix socket, in bytes.
const SOCKET_PATH_LIMIT: usize = 107;

/// A board's folder.
pub(crate) struct State {
    pub(crate) board: Board,
    /// Where all boards live.
    pub(crate) home: PathBuf,
    /// Where this one lives.
    pub(crate) directory: PathBuf,
}

/// Names another folder for boards.
pub(crate) const HOME: &str = "LATLAB_LAB_HOME";

/// Where boards live unless a caller has its own place.
pub(crate) fn home() -> Result<PathBuf> {
    match std::env::var_os(HOME) {
        Some(home) => Ok(home.into()),
        None => Ok(paths::cache()?.join("lab")),
    }
}

impl State {
    /// The board of this name below `home`, made or not.
    pub(crate) fn of(home: &Path, name: &str) -> Result<Self> {
        let board = board::load(name)?;
        let directory = home.join(name);
        let longest = directory.join("console.sock");
        if longest.as_os_str().len() > SOCKET_PATH_LIMIT {
            bail!("{} is too long for a unix socket: set XDG_CACHE_HOME to a shorter folder", longest.display());
        }
        Ok(Self { board, home: home.to_owned(), directory })
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    pub(crate) fn is_made(&self) -> bool {
        self.path("port").exists()
    }

    /// Makes folder, keys, boot configuration and disks.
    pub(crate) fn make(&self, kernel: Option<Variant>, append: Option<&str>) -> Result<()> {
        paths::remove(&self.directory)?;
        paths::make(&self.path("boot/extlinux"))?;
        for key in ["host_key", "identity"] {
            sshd::keygen(&self.path(key))?;
        }
        let own = image::own_part(&self.board, &self.directory)?;
        let mut configuration = format!("DEFAULT {}\nTIMEOUT 1\n", kernel.unwrap_or(self.board.kernel).label());
        for variant in Variant::ALL {
            let image = image::ensure(self.board.machine.kind(), variant)?;
            let label = variant.label();
            let folder = self.path("boot").join(label);
            paths::make(&folder)?;
            copy(&image.kernel, &folder.join("vmlinuz"))?;
            let mut whole = std::fs::read(&image.initramfs).context("cannot read the initramfs")?;
            whole.extend_from_slice(&own);
            paths::write(&folder.join("initramfs"), whole)?;
            copy(&image.config, &self.path("boot").join(format!("config-{}", image.release)))?;
            configuration.push_str(&format!(
                "\nLABEL {label}\n    KERNEL /{label}/vmlinuz\n    INITRD /{label}/initramfs\n    APPEND {} {}\n",
                self.board.machine.arguments(),
                append.unwrap_or(&self.board.append)
            ));
        }
        paths::write(&self.path("boot/extlinux/extlinux.conf"), configuration)?;
        if self.board.boot == Boot::UBoot {
            disk::with_partition(&self.path("boot.img"), &self.path("boot"))?;
            paths::remove(&self.path("boot"))?;
        }
        if self.board.disk {
            disk::plain(&self.path("data.img"))?;
        }
        self.choose_port()
    }

    /// Another port of 127.0.0.1 for the board's SSH server, from the next power-up on.
    pub(crate) fn choose_port(&self) -> Result<()> {
        paths::write(&self.path("port"), sshd::free_port()?.to_string())
    }

    /// Port of 127.0.0.1 that leads to the board's SSH server.
    pub(crate) fn port(&self) -> Result<u16> {
        if !self.is_made() {
            bail!("board {0} is not there: `cargo xtask lab up {0}`", self.board.name);
        }
        paths::read(&self.path("port"))?.trim().parse().context("the port file holds no number")
    }

    /// A process of this board from its file, if it still runs: a number alone may be somebody else's by now.
    pub(crate) fn process(&self, file: &str) -> Option<u32> {
        let pid: u32 = std::fs::read_to_string(self.path(file)).ok()?.trim().parse().ok()?;
        let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let own = self.directory.as_os_str().as_encoded_bytes();
        arguments.windows(own.len()).any(|window| window == own).then_some(pid)
    }

    /// Whether it is powered: keeper and QEMU have inherited the locked log as their output.
    pub(crate) fn is_on(&self) -> bool {
        std::fs::File::open(self.path("keeper.log"))
            .is_ok_and(|log| matches!(log.try_lock_shared(), Err(std::fs::TryLockError::WouldBlock)))
    }

    /// Writes the target file: the shipped one and how to reach this very board.
    pub(crate) fn target_file(&self) -> Result<PathBuf> {
        let shipped = paths::read(&paths::root().join("targets").join(format!("{}.toml", self.board.name)))?;
        let public = paths::read(&self.path("host_key.pub"))?;
        let pin = public.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
        let text = format!(
            "{shipped}\n[ssh]\ndestination = \"root@127.0.0.1\"\nport = {}\nidentity = \"{}\"\nhost_keys = [\"{pin}\"]\n",
            self.port()?,
            self.path("identity").display()
        );
        let file = self.path(&format!("{}.toml", self.board.name));
        paths::write(&file, text)?;
        Ok(file)
    }
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::copy(from, to).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(())
}
