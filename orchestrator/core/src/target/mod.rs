//! Board descriptions: text → checked [`Target`].

mod load;
mod ssh;
#[cfg(test)]
mod tests;

pub(crate) use load::boot_method_name;
pub use load::{Loaded, load};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A checked target file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// `name`.
    pub name: String,
    /// `description`, free text.
    pub description: Option<String>,
    /// `arch`; absent: whatever the board says.
    pub arch: Option<Arch>,
    /// `cpu_count`: online CPUs expected.
    pub cpu_count: Option<u32>,
    /// How it is reached.
    pub transport: Transport,
    /// Work directories to try, in order (`work_dirs`; default `/var/lib/latlab`, `/var/tmp`, `/tmp`).
    pub work_dirs: Vec<String>,
    /// Figures taken there are emulated or otherwise not those of the hardware; said in every output.
    pub emulated: bool,
    /// `[boot] method`.
    pub boot_method: BootMethod,
    /// `[kernel.NAME]`.
    pub kernels: BTreeMap<String, Kernel>,
    /// `[power] cycle`, argv on the host.
    pub power_cycle: Option<Vec<String>>,
}

/// Instruction set of a board, named as in target files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arch {
    /// 32-bit ARM with VFP, `armv7-unknown-linux-gnueabihf`.
    Armv7,
    /// 64-bit ARM, `aarch64-unknown-linux-gnu`.
    Aarch64,
    /// `x86_64-unknown-linux-gnu`.
    X86_64,
}

/// How a target is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// This machine (`transport = "local"`).
    Local {
        /// Command prefix that makes commands root.
        r#become: Option<Vec<String>>,
    },
    /// `[ssh]`.
    Ssh(Ssh),
}

/// `[ssh]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ssh {
    /// Anything `ssh` accepts; default: the target's name, from the user's ssh configuration.
    pub destination: String,
    /// `port`; absent: as the user's ssh configuration says.
    pub port: Option<u16>,
    /// `identity`: private key file; absent: as the user's ssh configuration says.
    pub identity: Option<String>,
    /// Pins as in `known_hosts` without host names (`ssh-ed25519 AAAA…`); empty: the user's known hosts.
    pub host_keys: Vec<String>,
    /// Command prefix for a login that is not root.
    pub r#become: Option<Vec<String>>,
    /// `connect_timeout`, in ns.
    pub connect_timeout_ns: u64,
}

/// `[boot] method`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BootMethod {
    /// Never reboots: the cell must match what runs.
    AsBooted,
    /// extlinux.conf (not built yet).
    Extlinux,
    /// boot.scr (not built yet).
    BootScript,
    /// Files on the host's TFTP root (not built yet).
    Pxe,
    /// uEnv.txt (not built yet).
    Uenv,
    /// `fw_setenv` (not built yet).
    UbootEnv,
    /// GRUB (not built yet).
    Grub,
    /// cmdline.txt (not built yet).
    Raspberrypi,
    /// kexec (not built yet).
    Kexec,
    /// Any command (not built yet).
    Command,
}

/// `[kernel.NAME]`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Kernel {
    /// Label in the boot configuration.
    pub label: Option<String>,
    /// Words that the variant adds to the command line.
    pub append: Vec<String>,
    /// What `uname -r` must match; `*` and `?` are wild.
    pub release: Option<String>,
    /// Preemption model the variant must have.
    pub preemption: Option<crate::campaign::model::Preemption>,
    /// The variant must not be `PREEMPT_RT` (`preemption = "not-preempt-rt"`), whatever else it is.
    #[serde(default)]
    pub not_preempt_rt: bool,
    /// A co-kernel variant (Cobalt): in-band instruments are refused on it.
    pub cobalt: bool,
}
