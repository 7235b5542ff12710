//! `cargo xtask ci`: what every commit must pass, in under three minutes on a warm machine.

use crate::{build, cross, shell, test, tidy, tools};
use anyhow::Result;
use std::process::ExitCode;
use std::time::Instant;

pub(crate) fn main() -> Result<ExitCode> {
    let start = Instant::now();
    lints()?;
    tidy::check()?;
    tools::ensure(&tools::LOOPBACK)?;
    cross::build(cross::Kind::X86_64)?;
    let count = test::cargo_test(&["--workspace"])?;
    println!("ci: {:.0} s", start.elapsed().as_secs_f64());
    Ok(test::close(count))
}

/// Format, clippy and documentation, all with warnings denied.
fn lints() -> Result<()> {
    let deny = "-D warnings";
    println!("ci: format");
    shell::run(build::cargo().args(["fmt", "--all", "--check"]))?;
    println!("ci: clippy");
    shell::run(build::cargo().args([
        "clippy",
        "--locked",
        "--quiet",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ]))?;
    println!("ci: documentation");
    shell::run(
        build::cargo()
            .args(["doc", "--locked", "--quiet", "--workspace", "--no-deps", "--document-private-items"])
            .env("RUSTDOCFLAGS", deny),
    )
}
