//! The probe as it goes to boards: static, small, the same bits from any checkout.

use crate::{build, paths, shell, toolchain};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Instruction sets that boards have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// armv7-unknown-linux-gnueabihf
    Armv7,
    /// aarch64-unknown-linux-gnu
    Aarch64,
    /// x86_64-unknown-linux-gnu
    X86_64,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Armv7, Self::Aarch64, Self::X86_64];

    pub(crate) fn triple(self) -> &'static str {
        match self {
            Self::Armv7 => "armv7-unknown-linux-gnueabihf",
            Self::Aarch64 => "aarch64-unknown-linux-gnu",
            Self::X86_64 => "x86_64-unknown-linux-gnu",
        }
    }

    /// Prefix of GNU tools; none for this machine.
    pub(crate) fn gnu_prefix(self) -> Option<&'static str> {
        match self {
            Self::Armv7 => Some("arm-linux-gnueabihf"),
            Self::Aarch64 => Some("aarch64-linux-gnu"),
            Self::X86_64 => None,
        }
    }

    /// Its user-mode emulator; none for this machine.
    pub(crate) fn emulator(self) -> Option<&'static str> {
        match self {
            Self::Armv7 => Some("qemu-arm-static"),
            Self::Aarch64 => Some("qemu-aarch64-static"),
            Self::X86_64 => None,
        }
    }

    /// `CARGO_TARGET_<TRIPLE>`, without the setting.
    pub(crate) fn cargo_variable(self) -> String {
        format!("CARGO_TARGET_{}", self.triple().to_uppercase().replace('-', "_"))
    }

    /// Largest probe that is accepted, in bytes. Half of it is the C library; on x86_64 that has string functions for
    /// every generation.
    fn size_limit(self) -> u64 {
        match self {
            Self::Armv7 | Self::Aarch64 => 1_000_000,
            Self::X86_64 => 1_200_000,
        }
    }

    /// As `readelf -h` names it.
    fn machine(self) -> &'static str {
        match self {
            Self::Armv7 => "ARM",
            Self::Aarch64 => "AArch64",
            Self::X86_64 => "Advanced Micro Devices X86-64",
        }
    }
}

/// Where `latlab run` looks for a probe.
pub(crate) fn place(kind: Kind) -> PathBuf {
    build::target_directory().join("probes").join(kind.triple()).join("latprobe")
}

/// Builds, checks and places the probe of one kind.
pub(crate) fn build(kind: Kind) -> Result<PathBuf> {
    println!("build: latprobe for {}", kind.triple());
    let built = compile(kind, paths::root(), &build::target_directory())?;
    check(kind, &built)?;
    let place = place(kind);
    paths::make(place.parent().context("a probe has a folder")?)?;
    std::fs::copy(&built, &place).with_context(|| format!("cannot write {}", place.display()))?;
    Ok(place)
}

/// Compiles the probe of a checkout.
pub(crate) fn compile(kind: Kind, checkout: &Path, target_directory: &Path) -> Result<PathBuf> {
    let mut cargo = build::cargo();
    cargo.current_dir(checkout).envs(toolchain::environment(kind)?);
    cargo.env(format!("{}_RUSTFLAGS", kind.cargo_variable()), rustflags(checkout)?);
    cargo.args(["build", "--locked", "--package", "latprobe", "--bin", "latprobe", "--profile", "probe"]);
    cargo.args(["--target", kind.triple(), "--target-dir"]).arg(target_directory);
    shell::run(&mut cargo)?;
    Ok(target_directory.join(kind.triple()).join("probe/latprobe"))
}

/// Builds the probe again from a copy of the checkout elsewhere and compares: a probe that differs by path could not be
/// recognised by its hash.
pub(crate) fn same_bits_from_any_path() -> Result<()> {
    let elsewhere = tempfile::Builder::new().prefix("latlab-checkout-").tempdir().context("cannot make a folder")?;
    let files = shell::output(Command::new("git").current_dir(paths::root()).args([
        "ls-files",
        "--cached",
        "--others",
        "--exclude-standard",
    ]))?;
    for file in files.lines() {
        let (from, to) = (paths::root().join(file), elsewhere.path().join(file));
        if from.is_file() {
            paths::make(to.parent().context("a file has a folder")?)?;
            std::fs::copy(&from, &to).with_context(|| format!("cannot copy {file}"))?;
        }
    }
    for kind in [Kind::Armv7, Kind::X86_64] {
        let first = compile(kind, paths::root(), &build::target_directory())?;
        let second = compile(kind, elsewhere.path(), &elsewhere.path().join("target"))?;
        if std::fs::read(&first)? != std::fs::read(&second)? {
            bail!("{} differs between {} and {}", kind.triple(), paths::root().display(), elsewhere.path().display());
        }
    }
    Ok(())
}

/// Static, without tables for unwinding, without a read-only part after relocation (up to 64 kB of nothing on aarch64), and without the paths of this machine.
fn rustflags(checkout: &Path) -> Result<String> {
    let own = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = own.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    Ok(format!(
        "-C target-feature=+crt-static -C relocation-model=static -C relro-level=off -C link-arg=-Wl,-T,{0}/probe/lean.ld \
         --remap-path-prefix={0}=/latlab --remap-path-prefix={1}=/cargo",
        checkout.display(),
        home.context("neither CARGO_HOME nor HOME is set")?.display()
    ))
}

/// The right machine, static, small enough.
fn check(kind: Kind, binary: &Path) -> Result<()> {
    let size = std::fs::metadata(binary).with_context(|| format!("cannot read {}", binary.display()))?.len();
    let header = shell::output(Command::new("readelf").args(["-h", "-l", "-W"]).arg(binary).env("LC_ALL", "C"))?;
    let machine = header.lines().find_map(|line| line.trim().strip_prefix("Machine:")).map(str::trim);
    if machine != Some(kind.machine()) {
        bail!("{} is for {machine:?}, not for {}", binary.display(), kind.machine());
    }
    if header.contains("INTERP") {
        bail!("{} is not static: it asks for a loader", binary.display());
    }
    if size > kind.size_limit() {
        bail!("{} has {size} bytes, more than {}", binary.display(), kind.size_limit());
    }
    let version = toolchain::starts(kind, binary)?;
    println!("build: {} ({} kB, static, {}, `{version}`)", place(kind).display(), size / 1000, kind.machine());
    Ok(())
}

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Only these kinds; default: all.
    #[arg(value_enum)]
    kinds: Vec<Kind>,
}

pub(crate) fn main(options: &Options) -> Result<std::process::ExitCode> {
    let kinds = if options.kinds.is_empty() { &Kind::ALL[..] } else { &options.kinds[..] };
    for kind in kinds {
        build(*kind)?;
    }
    Ok(std::process::ExitCode::SUCCESS)
}
