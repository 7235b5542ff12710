//! What cross-compiling takes: rustup's standard library of the target where it is installed,
//! else Debian 12's compiler, unpacked into the cache.

use crate::cross::Kind;
use crate::fetch::{self, Apt, Closure};
use crate::{build, paths, shell, tools};
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Parts of the packages that only cost disk space here.
const UNUSED: [&str; 12] = [
    "*/qemu-[b-z]*-static",
    "*/qemu-alpha-static",
    "*/qemu-*[be][be]-static",
    "./usr/share",
    "*/lto1",
    "*/lto-wrapper",
    "*lto-dump*",
    "*/libasan*",
    "*/libtsan*",
    "*/libhwasan*",
    "*gcov*",
    "*/ldscripts/*.xw*",
];

/// Compiler and emulators, with the libraries that a machine with apt and a C compiler may lack.
const HOST_PACKAGES: [&str; 13] = [
    "rustc-web",
    "libstd-rust-web-dev",
    "libllvm19",
    "libedit2",
    "libbsd0",
    "libmd0",
    "libffi8",
    "libxml2",
    "libicu72",
    "libz3-4",
    "libjansson4",
    "libbinutils",
    "qemu-user-static",
];

/// Environment variables that make cargo build for a kind of board.
pub(crate) fn environment(kind: Kind) -> Result<Vec<(String, OsString)>> {
    let Some(gnu) = kind.gnu_prefix() else { return Ok(Vec::new()) };
    let linker_variable = format!("{}_LINKER", kind.cargo_variable());
    if std::env::var_os(&linker_variable).is_some() {
        println!("build: {linker_variable} is set: using your toolchain for {}", kind.triple());
        return Ok(Vec::new());
    }
    let gcc = format!("{gnu}-gcc");
    let with_rustup = rustup_has(kind)?;
    let mut environment = Vec::new();
    let linker = match tools::on_machine(&gcc) {
        Some(linker) if with_rustup => linker,
        _ => fetched()?.join("bin").join(&gcc),
    };
    environment.push((linker_variable, linker.into()));
    if !with_rustup {
        environment.push(("RUSTC".into(), fetched()?.join("bin/rustc").into()));
    }
    Ok(environment)
}

/// The user-mode emulator that runs a kind's programs on this machine.
pub(crate) fn emulator(kind: Kind) -> Result<Option<PathBuf>> {
    let Some(name) = kind.emulator() else { return Ok(None) };
    Ok(Some(match tools::on_machine(name) {
        Some(found) => found,
        None => fetched()?.join("usr/bin").join(name),
    }))
}

/// Whether rustup's compiler has the standard library of a kind. The folder's name is printed even when it is missing.
fn rustup_has(kind: Kind) -> Result<bool> {
    let folder = shell::output(Command::new("rustc").args(["--print", "target-libdir", "--target", kind.triple()]))?;
    let Ok(entries) = std::fs::read_dir(folder.trim()) else { return Ok(false) };
    Ok(entries.flatten().any(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with("libstd-") && name.ends_with(".rlib")
    }))
}

/// Debian's compiler, C cross-compilers and user-mode emulators in the cache.
fn fetched() -> Result<PathBuf> {
    let apt = Apt::bookworm().context(by_hand())?;
    let library = apt.dependency("libstd-rust-web-dev", "libstd-rust-web-1").context(by_hand())?;
    let mut packages: Vec<String> = HOST_PACKAGES.map(String::from).into();
    packages.push(library);
    for (gnu, arch) in [("aarch64-linux-gnu", "arm64"), ("arm-linux-gnueabihf", "armhf")] {
        packages.push(format!("libstd-rust-web-dev:{arch}"));
        packages.extend([format!("gcc-12-{gnu}"), format!("binutils-{gnu}")]);
        packages
            .extend(["libgcc-12-dev", "libgcc-s1", "libc6", "libc6-dev"].map(|name| format!("{name}-{arch}-cross")));
    }
    let packages: Vec<&str> = packages.iter().map(String::as_str).collect();
    let prefix = fetch::place(&paths::cache()?.join("cross"), &packages);
    apt.unpack(&packages, Closure::Named, &UNUSED, &prefix).context(by_hand())?;
    let libraries = prefix.join("usr/lib/x86_64-linux-gnu").display().to_string();
    for (name, program) in [
        ("rustc", "rustc"),
        ("aarch64-linux-gnu-gcc", "aarch64-linux-gnu-gcc-12"),
        ("arm-linux-gnueabihf-gcc", "arm-linux-gnueabihf-gcc-12"),
    ] {
        tools::wrap(&prefix.join("bin").join(name), "", &prefix.join("usr/bin").join(program), &libraries)?;
    }
    Ok(prefix)
}

fn by_hand() -> String {
    "cannot fetch Debian's cross toolchain; two ways to have one: \
     `rustup target add armv7-unknown-linux-gnueabihf aarch64-unknown-linux-gnu` and the packages \
     gcc-arm-linux-gnueabihf and gcc-aarch64-linux-gnu; or CARGO_TARGET_<TRIPLE>_LINKER set to your own"
        .to_owned()
}

/// Runs the probe's unit tests as code of a kind, under user-mode emulation. The integration tests start programs,
/// which an emulated program cannot without binfmt: the emulated boards stand for them.
pub(crate) fn test_command(kind: Kind) -> Result<Option<Command>> {
    let Some(emulator) = emulator(kind)? else { return Ok(None) };
    let mut cargo = build::cargo();
    cargo.args([
        "test",
        "--locked",
        "--no-fail-fast",
        "--package",
        "latprobe",
        "--lib",
        "--bins",
        "--target",
        kind.triple(),
    ]);
    cargo.envs(environment(kind)?);
    cargo.env(format!("{}_RUNNER", kind.cargo_variable()), emulator);
    cargo.env(format!("{}_RUSTFLAGS", kind.cargo_variable()), "-C target-feature=+crt-static");
    Ok(Some(cargo))
}

/// Whether a program starts under its emulator and says its version.
pub(crate) fn starts(kind: Kind, binary: &Path) -> Result<String> {
    let mut command = match emulator(kind)? {
        Some(emulator) => {
            let mut command = Command::new(emulator);
            command.arg(binary);
            command
        }
        None => Command::new(binary),
    };
    Ok(shell::output(command.arg("--version"))?.trim().to_owned())
}
