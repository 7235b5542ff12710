//! Building the product's own programs.

use crate::{paths, shell};
use anyhow::Result;
use std::path::PathBuf;
use std::process::Command;

/// cargo, in the checkout.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(paths::root());
    command
}

/// The host tool. Returns the binary.
pub(crate) fn latlab() -> Result<PathBuf> {
    println!("build: latlab");
    shell::run(cargo().args(["build", "--locked", "--package", "latlab"]))?;
    Ok(target_directory().join("debug/latlab"))
}

/// The host tool as it is installed. Returns the binary.
pub(crate) fn latlab_release() -> Result<PathBuf> {
    println!("build: latlab --release");
    shell::run(cargo().args(["build", "--locked", "--release", "--package", "latlab"]))?;
    Ok(target_directory().join("release/latlab"))
}

/// Where cargo builds.
pub(crate) fn target_directory() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| paths::root().join("target"), PathBuf::from)
}
