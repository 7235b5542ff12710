//! Descriptions of emulated boards: `xtask/boards/NAME.toml`, beside the target file of the same name.

use crate::cross::Kind;
use crate::paths;
use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// One emulated board.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Board {
    /// File name without extension.
    #[serde(skip)]
    pub(crate) name: String,
    /// What it is good for.
    pub(crate) purpose: String,
    pub(crate) machine: Machine,
    /// CPUs, at most those of the machine.
    pub(crate) cpus: u32,
    /// RAM in MiB.
    pub(crate) memory: u32,
    /// Device-tree model and compatible strings it poses with (machines `virt` only).
    #[serde(default)]
    pub(crate) model: Option<String>,
    #[serde(default)]
    pub(crate) compatible: Vec<String>,
    pub(crate) boot: Boot,
    /// Kernel that the boot configuration names when the board is made.
    pub(crate) kernel: Variant,
    /// Boot arguments beside those the machine needs.
    pub(crate) append: String,
    pub(crate) ssh: SshServer,
    /// Whether the SSH server has an sftp subsystem.
    pub(crate) sftp: bool,
    /// Whether hackbench and cyclictest are installed.
    pub(crate) hackbench: bool,
    /// Whether the root file system is mounted read-only.
    pub(crate) read_only: bool,
    /// Whether /var/lib is a disk that survives resets; else it is RAM.
    pub(crate) disk: bool,
    /// Whether a battery keeps its clock; without one each power-up begins in 1970.
    pub(crate) battery: bool,
}

/// What QEMU emulates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Machine {
    /// `virt` with Cortex-A15.
    VirtArmv7,
    /// `vexpress-a9`: Cortex-A9, no architected timer, so no clock in the vDSO.
    VexpressA9,
    /// `virt` with Cortex-A53.
    VirtAarch64,
    /// `q35`.
    Pc,
}

impl Machine {
    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::VirtArmv7 | Self::VexpressA9 => Kind::Armv7,
            Self::VirtAarch64 => Kind::Aarch64,
            Self::Pc => Kind::X86_64,
        }
    }
}

/// How it boots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Boot {
    /// Real U-Boot reads extlinux.conf from the board's own disk.
    UBoot,
    /// The keeper reads extlinux.conf from the board's /boot (a shared folder) and acts as U-Boot would.
    Extlinux,
}

/// Kernel flavours of Debian 12.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Variant {
    /// PREEMPT_RT
    Rt,
    /// As the distribution ships it.
    Standard,
}

impl Variant {
    pub(crate) const ALL: [Self; 2] = [Self::Rt, Self::Standard];

    /// Label in extlinux.conf, and folder in /boot.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Rt => "rt",
            Self::Standard => "standard",
        }
    }
}

/// SSH server of the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SshServer {
    Openssh,
    Dropbear,
}

/// Reads the description of one board.
pub(crate) fn load(name: &str) -> Result<Board> {
    let file = paths::root().join("xtask/boards").join(format!("{name}.toml"));
    if !file.exists() {
        bail!("there is no board {name}; there are: {}", names()?.join(", "));
    }
    let mut board: Board =
        toml::from_str(&paths::read(&file)?).with_context(|| format!("{} is wrong", file.display()))?;
    name.clone_into(&mut board.name);
    if board.model.is_some() && !matches!(board.machine, Machine::VirtArmv7 | Machine::VirtAarch64) {
        bail!("{}: only virt machines can pose as another board", file.display());
    }
    Ok(board)
}

/// All boards, sorted.
pub(crate) fn names() -> Result<Vec<String>> {
    let folder = paths::root().join("xtask/boards");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_board_is_well_described_and_has_a_target() {
        let names = names().unwrap();
        assert!(names.len() >= 8);
        for name in names {
            let board = load(&name).unwrap();
            let target = paths::read(&paths::root().join("targets").join(format!("{name}.toml"))).unwrap();
            let target: toml::Table = toml::from_str(&target).unwrap();
            assert_eq!(target["name"].as_str(), Some(name.as_str()));
            assert_eq!(target["cpu_count"].as_integer(), Some(board.cpus.into()), "{name}");
            assert!(!target.contains_key("ssh"), "{name}: `lab up` writes the ssh part");
        }
    }
}
