//! Board descriptions: text → checked [`Target`].

mod boot;
mod load;
mod ssh;
#[cfg(test)]
mod tests;

pub(crate) use boot::boot_method_name;
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
    /// The rest of `[boot]`.
    #[serde(default)]
    pub boot: BootSettings,
    /// `[kernel.NAME]`.
    pub kernels: BTreeMap<String, Kernel>,
    /// `[power] cycle`, argv on the host.
    pub power_cycle: Option<Vec<String>>,
    /// `[power] on` and `off`; used where there is no `cycle`.
    #[serde(default)]
    pub power: Option<PowerSwitch>,
    /// `[power] timeout`: how long one of its commands may take, in ns.
    #[serde(default = "boot::power_timeout")]
    pub power_timeout_ns: u64,
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
    /// An entry in extlinux.conf on the board.
    Extlinux,
    /// boot.scr on the board.
    BootScript,
    /// A PXE file on this host's TFTP root.
    Pxe,
    /// uEnv.txt on the board.
    Uenv,
    /// U-Boot's environment, by `fw_setenv` on the board.
    UbootEnv,
    /// `grub-reboot` on the board: one boot.
    Grub,
    /// `tryboot.txt` on the board: one boot.
    Raspberrypi,
    /// kexec on the board: until the next reset.
    Kexec,
    /// A command of the target file.
    Command,
}

/// `[boot]` beside its method.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootSettings {
    /// `file`: the boot configuration, where it is not in the method's usual place.
    pub file: Option<String>,
    /// `arguments`: the boot loader's variable that holds the kernel's arguments.
    pub arguments: Option<String>,
    /// `timeout`: how long a boot may take until the board answers, in ns.
    pub timeout_ns: u64,
    /// `settle`: how long it must then stay up before it counts as booted, in ns.
    pub settle_ns: u64,
    /// `bootcount`: the boot loader counts boots and goes back to the board's own choice.
    pub bootcount: bool,
    /// `fallback`: argv on this host that makes the next boot the board's own choice.
    pub fallback: Option<Vec<String>>,
    /// `command`: argv that makes the next boot what is asked for.
    pub command: Option<Vec<String>>,
    /// `put_back`: argv that undoes `command`.
    pub put_back: Option<Vec<String>>,
    /// `runs_on`: where `command` and `put_back` run.
    pub runs_on: Place,
    /// `one_shot`: what `command` chooses holds for one boot.
    pub one_shot: bool,
}

impl Default for BootSettings {
    fn default() -> Self {
        Self {
            file: None,
            arguments: None,
            timeout_ns: boot::TIMEOUT_NS,
            settle_ns: boot::SETTLE_NS,
            bootcount: false,
            fallback: None,
            command: None,
            put_back: None,
            runs_on: Place::Host,
            one_shot: false,
        }
    }
}

/// Where a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// On this host.
    Host,
    /// On the board.
    Board,
}

/// `[power] on` and `off`, argv on the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PowerSwitch {
    /// `on`.
    pub on: Vec<String>,
    /// `off`.
    pub off: Vec<String>,
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
    /// What `/proc/version` must match; `*` and `?` are wild.
    #[serde(default)]
    pub build: Option<String>,
    /// Variables of the boot loader that choose it.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// Kernel image, as the boot loader or kexec names it.
    #[serde(default)]
    pub image: Option<String>,
    /// Initial RAM disk, as the boot loader or kexec names it.
    #[serde(default)]
    pub initrd: Option<String>,
    /// Device tree, as the boot loader or kexec names it.
    #[serde(default)]
    pub device_tree: Option<String>,
    /// Pins of the variant's own root file system, beside those of `[ssh]`.
    #[serde(default)]
    pub host_keys: Vec<String>,
    /// Files on this host that are put beside what the board has.
    #[serde(default)]
    pub install: Option<Install>,
    /// Preemption model the variant must have.
    pub preemption: Option<crate::campaign::model::Preemption>,
    /// The variant must not be `PREEMPT_RT` (`preemption = "not-preempt-rt"`), whatever else it is.
    #[serde(default)]
    pub not_preempt_rt: bool,
    /// A co-kernel variant (Cobalt): in-band instruments are refused on it.
    pub cobalt: bool,
}

/// `[kernel.NAME.install]`: paths on this host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Install {
    /// Kernel image.
    pub image: String,
    /// Initial RAM disk.
    pub initrd: Option<String>,
    /// Device tree.
    pub device_tree: Option<String>,
    /// Archive of `lib/modules/RELEASE` (tar, also compressed as the board's tar can).
    pub modules: Option<String>,
    /// Kernel configuration, for boards that do not show it.
    pub config: Option<String>,
}
