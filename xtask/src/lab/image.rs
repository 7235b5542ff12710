//! Kernels and the first root file system of the boards, from Debian 12 packages.

use super::board::{Board, SshServer, Variant};
use super::cpio::Archive;
use super::modules;
use crate::cross::Kind;
use crate::fetch::{self, Apt, Closure};
use crate::{paths, shell, tools};
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Loaded at boot where they are not built in: network, shared folders, disks.
const MODULES: [&str; 8] =
    ["virtio_mmio", "virtio_pci", "virtio_net", "9pnet_virtio", "9p", "virtio_blk", "crc32c_generic", "ext4"];

/// Programs of the boards, and the packages that hold them and their libraries.
const PROGRAMS: [&str; 8] = [
    "bin/busybox",
    "usr/sbin/sshd",
    "usr/sbin/dropbear",
    "usr/bin/dropbearkey",
    "usr/lib/openssh/sftp-server",
    "usr/bin/hackbench",
    "usr/bin/cyclictest",
    "sbin/kexec",
];
const PACKAGES: [&str; 45] = [
    "busybox-static",
    "openssh-server",
    "openssh-sftp-server",
    "dropbear-bin",
    "rt-tests",
    "libc6",
    "libcrypt1",
    "libtomcrypt1",
    "libtommath1",
    "libgmp10",
    "zlib1g",
    "libnuma1",
    "libgcc-s1",
    "libssl3",
    "libpam0g",
    "libaudit1",
    "libcap-ng0",
    "libselinux1",
    "libpcre2-8-0",
    "libsystemd0",
    "libcap2",
    "libgcrypt20",
    "libgpg-error0",
    "liblz4-1",
    "liblzma5",
    "libzstd1",
    "libwrap0",
    "libnsl2",
    "libtirpc3",
    "libgssapi-krb5-2",
    "libkrb5-3",
    "libk5crypto3",
    "libkrb5support0",
    "libcom-err2",
    "libkeyutils1",
    "libeconf0",
    "kexec-tools",
    "libxenmisc4.17",
    "libxencall1",
    "libxendevicemodel1",
    "libxenevtchn1",
    "libxenforeignmemory1",
    "libxengnttab1",
    "libxentoolcore1",
    "libxentoollog1",
];

/// Parts of the kernel packages that no board uses.
const UNUSED: [&str; 9] = [
    "./usr/share",
    "*/kernel/sound",
    "*/kernel/drivers/gpu",
    "*/kernel/drivers/media",
    "*/kernel/drivers/staging",
    "*/kernel/drivers/infiniband",
    "*/kernel/drivers/net/wireless",
    "*/kernel/drivers/scsi",
    "*/kernel/drivers/iio",
];

/// A kernel with the root file system that goes with its modules.
pub(crate) struct Image {
    pub(crate) kernel: PathBuf,
    pub(crate) initramfs: PathBuf,
    pub(crate) config: PathBuf,
    /// Device trees of the package; x86 has none.
    pub(crate) device_trees: PathBuf,
    /// `uname -r`
    pub(crate) release: String,
}

fn debian(kind: Kind) -> (&'static str, &'static str, &'static str) {
    match kind {
        Kind::Armv7 => ("armhf", "arm-linux-gnueabihf", "armmp"),
        Kind::Aarch64 => ("arm64", "aarch64-linux-gnu", "arm64"),
        Kind::X86_64 => ("amd64", "x86_64-linux-gnu", "amd64"),
    }
}

/// Fetches and builds what is not there yet.
pub(crate) fn ensure(kind: Kind, variant: Variant) -> Result<Image> {
    let (arch, _, flavour) = debian(kind);
    let place = paths::cache()?.join("boards").join(arch);
    paths::make(&place)?;
    let apt = Apt::bookworm()?;
    let packages = PACKAGES.map(|package| format!("{package}:{arch}"));
    let packages = packages.each_ref().map(String::as_str);
    let userland = fetch::place(&place.join("userland"), &packages);
    apt.unpack(&packages, Closure::Named, &["./usr/share"], &userland)?;

    let kernel = place.join(format!("kernel-{}", variant.label()));
    let release_file = place.join(format!("{}.release", variant.label()));
    if !kernel.join(".packages").exists() || !release_file.exists() {
        let flavour = if variant == Variant::Rt { format!("rt-{flavour}") } else { flavour.to_owned() };
        let package = apt.dependency(&format!("linux-image-{flavour}:{arch}"), "linux-image-6")?;
        apt.unpack(&[&format!("{package}:{arch}")], Closure::Named, &UNUSED, &kernel)?;
        paths::write(&release_file, package.trim_start_matches("linux-image-"))?;
    }
    let release = paths::read(&release_file)?;
    let image = Image {
        kernel: kernel.join("boot").join(format!("vmlinuz-{release}")),
        initramfs: place.join(format!("initramfs-{release}.cpio")),
        config: kernel.join("boot").join(format!("config-{release}")),
        device_trees: kernel.join("usr/lib").join(format!("linux-image-{release}")),
        release,
    };
    if is_stale(&image.initramfs, &[&userland.join(".packages"), &kernel.join(".packages"), &board_root()])? {
        println!("lab: building {}", image.initramfs.display());
        let bytes = base(kind, &userland, &kernel, &image.release)?;
        let fresh = image.initramfs.with_extension("new");
        paths::write(&fresh, bytes)?;
        std::fs::rename(&fresh, &image.initramfs).context("cannot rename the new initramfs")?;
    }
    Ok(image)
}

fn board_root() -> PathBuf {
    paths::root().join("xtask/board-root")
}

/// Whether a file is missing or older than one of its sources (folders: the newest below).
fn is_stale(file: &Path, sources: &[&Path]) -> Result<bool> {
    let Ok(built) = std::fs::metadata(file).and_then(|meta| meta.modified()) else { return Ok(true) };
    for source in sources {
        for path in files_below(source)? {
            if std::fs::metadata(&path)?.modified()? > built {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn files_below(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))? {
        files.extend(files_below(&entry?.path())?);
    }
    files.sort();
    Ok(files)
}

/// What all boards of a kind and kernel have in common.
fn base(kind: Kind, userland: &Path, kernel: &Path, release: &str) -> Result<Vec<u8>> {
    let mut archive = Archive::default();
    for folder in [
        "proc",
        "sys",
        "dev",
        "tmp",
        "run",
        "boot",
        "root",
        "mnt",
        "sbin",
        "usr/sbin",
        "usr/bin",
        "var/log",
        "var/lib",
        "var/tmp",
        "var/empty",
    ] {
        archive.directory(folder)?;
    }
    for file in files_below(&board_root())? {
        let path = file.strip_prefix(board_root()).context("a file below its folder")?;
        let script = path.file_name().is_some_and(|name| name == "init" || name.to_string_lossy().starts_with("run-"));
        archive.copy(&path.to_string_lossy(), if script { 0o755 } else { 0o644 }, &file)?;
    }
    archive.link("bin/sh", "busybox")?;
    archive.link("usr/lib/sftp-server", "openssh/sftp-server")?;
    let mut libraries = BTreeSet::new();
    for program in PROGRAMS {
        let file = userland.join(program);
        archive.copy(program, 0o755, &file)?;
        needed(kind, userland, &file, &mut libraries)?;
    }
    for name in ["libnss_files.so.2", "libgcc_s.so.1"] {
        libraries.insert(name.to_owned()); // opened by name at run time
    }
    for name in &libraries {
        if let Some(file) = library(kind, userland, name) {
            archive.copy(&loader_or_library(kind, name), 0o755, &file)?;
        }
    }
    let tree = kernel.join("lib/modules").join(release);
    let mut order = String::new();
    for module in modules::in_load_order(&tree, &MODULES)? {
        let name = module.file_name().context("a module has a name")?.to_string_lossy().into_owned();
        let path = format!("lib/modules/{release}/{name}");
        archive.copy(&path, 0o644, &module)?;
        order.push_str(&format!("/{path}\n"));
    }
    archive.file("etc/modules.order", 0o644, order.as_bytes())?;
    archive.finish()
}

/// Shared libraries that a program asks for, and those that they ask for.
fn needed(kind: Kind, userland: &Path, file: &Path, found: &mut BTreeSet<String>) -> Result<()> {
    let dynamic = shell::output(Command::new("readelf").args(["-d", "-W"]).arg(file).env("LC_ALL", "C"))?;
    for line in dynamic.lines().filter(|line| line.contains("(NEEDED)")) {
        let Some((_, rest)) = line.split_once('[') else { continue };
        let name = rest.trim_end().trim_end_matches(']');
        if !found.insert(name.to_owned()) {
            continue;
        }
        match library(kind, userland, name) {
            Some(path) => needed(kind, userland, &path, found)?,
            None => bail!("{} needs {name}, which no package of the board holds", file.display()),
        }
    }
    if let Some(loader) = loader(kind).rsplit('/').next() {
        found.insert(loader.to_owned());
    }
    Ok(())
}

fn loader(kind: Kind) -> &'static str {
    match kind {
        Kind::Armv7 => "lib/ld-linux-armhf.so.3",
        Kind::Aarch64 => "lib/ld-linux-aarch64.so.1",
        Kind::X86_64 => "lib64/ld-linux-x86-64.so.2",
    }
}

/// Where a library goes on the board.
fn loader_or_library(kind: Kind, name: &str) -> String {
    if loader(kind).ends_with(name) { loader(kind).to_owned() } else { format!("lib/{}/{name}", debian(kind).1) }
}

/// Where a library lies in the unpacked packages.
fn library(kind: Kind, userland: &Path, name: &str) -> Option<PathBuf> {
    let triple = debian(kind).1;
    [format!("lib/{triple}"), format!("usr/lib/{triple}"), "lib".into(), "lib64".into()]
        .iter()
        .map(|folder| userland.join(folder).join(name))
        .find(|file| file.exists())
}

/// What one board has of its own, as a second archive that the kernel unpacks over the first.
pub(crate) fn own_part(board: &Board, keys: &Path) -> Result<Vec<u8>> {
    let mut archive = Archive::default();
    let sshd = match board.ssh {
        SshServer::Openssh => "openssh",
        SshServer::Dropbear => "dropbear",
    };
    let boot = match board.boot {
        super::board::Boot::UBoot => "u-boot",
        super::board::Boot::Extlinux => "extlinux",
    };
    let configuration = format!(
        "hostname={}\nsshd={sshd}\nsftp={}\nhackbench={}\nread_only={}\ndisk={}\nboot={boot}\n",
        board.name, board.sftp, board.hackbench, board.read_only, board.disk
    );
    archive.file("etc/board.conf", 0o644, configuration.as_bytes())?;
    archive.copy("etc/ssh/host_key", 0o600, &keys.join("host_key"))?;
    archive.copy("root/.ssh/authorized_keys", 0o600, &keys.join("identity.pub"))?;
    if board.ssh == SshServer::Dropbear {
        let converted = keys.join("host_key.dropbear");
        if !converted.exists() {
            let tool = tools::program("dropbearconvert")?;
            shell::output(Command::new(tool).args(["openssh", "dropbear"]).arg(keys.join("host_key")).arg(&converted))?;
        }
        archive.copy("etc/dropbear/host_key", 0o600, &converted)?;
    }
    archive.finish()
}
