//! The command line of an emulated board.

use super::board::{Board, Boot, Machine};
use super::extlinux;
use super::state::State;
use crate::fetch::{Apt, Closure};
use crate::{paths, shell, tools};
use anyhow::{Context, Result, bail};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

impl Machine {
    fn program(self) -> &'static str {
        match self {
            Self::VirtArmv7 | Self::VexpressA9 => "qemu-system-arm",
            Self::VirtAarch64 => "qemu-system-aarch64",
            Self::Pc => "qemu-system-x86_64",
        }
    }

    fn model(self) -> &'static [&'static str] {
        match self {
            Self::VirtArmv7 => &["-M", "virt,highmem=off,gic-version=2", "-cpu", "cortex-a15"],
            Self::VexpressA9 => &["-M", "vexpress-a9"],
            Self::VirtAarch64 => &["-M", "virt", "-cpu", "cortex-a53"],
            Self::Pc => &["-M", "q35", "-accel", "tcg,thread=multi", "-cpu", "max"],
        }
    }

    /// Boot arguments that it needs; after a panic it resets as a board with a watchdog does.
    pub(crate) fn arguments(self) -> &'static str {
        match self {
            Self::Pc => "console=ttyS0 panic=5",
            _ => "console=ttyAMA0 panic=5",
        }
    }

    /// How virtio devices are attached.
    fn virtio(self) -> &'static str {
        if self == Self::Pc { "pci" } else { "device" }
    }
}

/// The whole command for one power-up. What to boot is read anew each time, as a boot loader does.
pub(crate) fn command(state: &State) -> Result<Command> {
    let board = &state.board;
    let mut qemu = base(board)?;
    if let Some(tree) = device_tree(state)? {
        qemu.arg("-dtb").arg(tree);
    }
    match board.boot {
        Boot::UBoot => {
            qemu.arg("-bios").arg(u_boot(board.machine)?);
        }
        Boot::Extlinux => {
            let boot = state.path("boot");
            let entry = extlinux::default_entry(&paths::read(&boot.join("extlinux/extlinux.conf"))?)?;
            qemu.arg("-kernel").arg(inside(&boot, &entry.kernel)?);
            qemu.arg("-initrd").arg(inside(&boot, &entry.initrd)?);
            qemu.args(["-append", &entry.append]);
            // A reset ends QEMU, and the keeper starts it with what the boot configuration says then.
            qemu.arg("-no-reboot");
        }
    }
    devices(state, &mut qemu)?;
    Ok(qemu)
}

fn base(board: &Board) -> Result<Command> {
    let mut qemu = Command::new(tools::program(board.machine.program())?);
    for folder in ["usr/share/qemu", "usr/share/seabios"] {
        let fetched = tools::prefix(&tools::EMULATOR)?.join(folder);
        if fetched.is_dir() {
            qemu.arg("-L").arg(fetched);
        }
    }
    qemu.args(board.machine.model());
    qemu.args(["-smp", &board.cpus.to_string(), "-m", &board.memory.to_string()]);
    if !board.battery {
        qemu.args(["-rtc", "base=1970-01-01T00:00:10"]);
    }
    qemu.args(["-nodefaults", "-display", "none", "-monitor", "none"]);
    Ok(qemu)
}

/// Network, console, machine protocol, shared folder and disks.
fn devices(state: &State, qemu: &mut Command) -> Result<()> {
    let virtio = state.board.machine.virtio();
    let rom = if state.board.machine == Machine::Pc { ",romfile=" } else { "" };
    qemu.args(["-netdev", &format!("user,id=lan,hostfwd=tcp:127.0.0.1:{}-:22", state.port()?)]);
    qemu.args(["-device", &format!("virtio-net-{virtio},netdev=lan,id=net0{rom}")]);
    for socket in ["keeper.sock", "qmp.sock"] {
        qemu.args(["-qmp", &format!("unix:{},server=on,wait=off", state.path(socket).display())]);
    }
    qemu.args([
        "-chardev",
        &format!(
            "socket,id=console,path={},server=on,wait=off,logfile={},logappend=on",
            state.path("console.sock").display(),
            state.path("console.log").display()
        ),
        "-serial",
        "chardev:console",
    ]);
    // U-Boot tries one disk only: the one that comes last here.
    let mut disks = Vec::new();
    if state.board.disk {
        disks.push("data");
    }
    match state.board.boot {
        Boot::UBoot => disks.push("boot"),
        Boot::Extlinux => {
            qemu.args(["-fsdev", &format!("local,id=boot,path={},security_model=none", state.path("boot").display())]);
            qemu.args(["-device", &format!("virtio-9p-{virtio},fsdev=boot,mount_tag=boot")]);
        }
    }
    for disk in disks {
        let image = state.path(&format!("{disk}.img"));
        qemu.args(["-drive", &format!("if=none,id={disk},format=raw,file={}", image.display())]);
        qemu.args(["-device", &format!("virtio-blk-{virtio},drive={disk},serial={disk}")]);
    }
    Ok(())
}

/// A path of the boot configuration, below the board's /boot: the board writes that file, it must not lead elsewhere.
fn inside(boot: &Path, path: &str) -> Result<PathBuf> {
    let relative = Path::new(path.trim_start_matches('/'));
    if path.is_empty() || relative.components().any(|part| !matches!(part, std::path::Component::Normal(_))) {
        bail!("extlinux.conf names the file {path:?}");
    }
    Ok(boot.join(relative))
}

fn u_boot(machine: Machine) -> Result<PathBuf> {
    let folder = match machine {
        Machine::VirtArmv7 => "qemu_arm",
        Machine::VirtAarch64 => "qemu_arm64",
        Machine::VexpressA9 | Machine::Pc => bail!("there is no U-Boot for this machine"),
    };
    Ok(u_boot_packages()?.join("usr/lib/u-boot").join(folder).join("u-boot.bin"))
}

/// U-Boot for virt machines.
fn u_boot_packages() -> Result<PathBuf> {
    let place = paths::cache()?.join("boards/u-boot");
    Apt::bookworm()?.unpack(&["u-boot-qemu"], Closure::Named, &["./usr/share"], &place)?;
    Ok(place)
}

/// Fetches what a board needs beside its image, so that a power-up later needs no network.
pub(crate) fn ensure(board: &Board) -> Result<()> {
    tools::ensure(&tools::EMULATOR)?;
    if board.boot == Boot::UBoot {
        u_boot(board.machine)?;
    }
    Ok(())
}

/// The device tree to pass; `None`: QEMU's own. Fresh random numbers in it stand for a hardware generator:
/// without them a board may wait minutes for entropy before its SSH server listens.
fn device_tree(state: &State) -> Result<Option<PathBuf>> {
    let board = &state.board;
    let tree = state.path("board.dtb");
    if board.machine == Machine::VexpressA9 {
        let shipped =
            super::image::ensure(board.machine.kind(), board.kernel)?.device_trees.join("vexpress-v2p-ca9.dtb");
        std::fs::copy(&shipped, &tree).with_context(|| format!("cannot copy {}", shipped.display()))?;
    } else if let Some(model) = &board.model {
        if !tree.exists() {
            let mut dump = base(board)?;
            dump.args(["-M", &format!("dumpdtb={}", tree.display())]);
            shell::output(&mut dump)?;
        }
        put(&tree, &["-t", "s"], &["/", "model", model])?;
        let mut compatible = vec!["/", "compatible"];
        compatible.extend(board.compatible.iter().map(String::as_str));
        compatible.push("linux,dummy-virt"); // the kernel's own name for this machine, last
        put(&tree, &["-t", "s"], &compatible)?;
    } else {
        return Ok(None);
    }
    let mut seed = [0_u8; 64];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut seed))
        .context("cannot read /dev/urandom")?;
    let bytes: Vec<String> = seed.iter().map(|byte| format!("{byte:x}")).collect();
    let mut arguments = vec!["/chosen", "rng-seed"];
    arguments.extend(bytes.iter().map(String::as_str));
    put(&tree, &["-t", "bx"], &arguments)?;
    Ok(Some(tree))
}

/// Writes a property of a device tree.
fn put(tree: &Path, kind: &[&str], arguments: &[&str]) -> Result<()> {
    shell::output(Command::new(tools::program("fdtput")?).args(kind).arg(tree).args(arguments))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_board_cannot_boot_files_of_the_host() {
        let boot = Path::new("/cache/boot");
        assert_eq!(inside(boot, "/rt/vmlinuz").unwrap(), Path::new("/cache/boot/rt/vmlinuz"));
        for path in ["", "/../../etc/shadow", "rt/../../x"] {
            assert!(inside(boot, path).is_err(), "{path}");
        }
    }
}
