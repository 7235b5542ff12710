//! The probe as it goes to boards: static, small, the same bits from any checkout.

use crate::{build, paths, shell};
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

    /// Largest probe that is accepted, in bytes. The C library's string functions for every x86 generation take their room.
    fn size_limit(self) -> u64 {
        match self {
            Self::Armv7 | Self::Aarch64 => 1 << 20,
            Self::X86_64 => 5 << 18,
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
fn place(kind: Kind) -> PathBuf {
    build::target_directory().join("probes").join(kind.triple()).join("latprobe")
}

/// Builds, checks and places the probe of one kind.
pub(crate) fn build(kind: Kind) -> Result<PathBuf> {
    let triple = kind.triple();
    println!("build: latprobe for {triple}");
    let mut cargo = build::cargo();
    cargo.args([
        "build",
        "--locked",
        "--package",
        "latprobe",
        "--bin",
        "latprobe",
        "--profile",
        "probe",
        "--target",
        triple,
    ]);
    let variable = triple.to_uppercase().replace('-', "_");
    cargo.env(format!("CARGO_TARGET_{variable}_RUSTFLAGS"), rustflags()?);
    shell::run(&mut cargo)?;
    let built = build::target_directory().join(triple).join("probe/latprobe");
    check(kind, &built)?;
    let place = place(kind);
    paths::make(place.parent().context("a probe has a folder")?)?;
    std::fs::copy(&built, &place).with_context(|| format!("cannot write {}", place.display()))?;
    Ok(place)
}

/// Static, and without the paths of this machine.
fn rustflags() -> Result<String> {
    let home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let home = home.context("neither CARGO_HOME nor HOME is set")?;
    Ok(format!(
        "-C target-feature=+crt-static -C relocation-model=static --remap-path-prefix={}=/latlab --remap-path-prefix={}=/cargo",
        paths::root().display(),
        home.display()
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
    println!("build: {} ({} kB, static, {})", place(kind).display(), size / 1000, kind.machine());
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
