//! `cargo xtask demo`: the whole path with the real programs, on a target that needs no hardware.

use crate::sshd::Sshd;
use crate::{build, paths, shell, tools};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// `loopback` (this machine through a throw-away sshd), `local`, or any target latlab knows.
    #[arg(long, default_value = "loopback")]
    target: String,
}

pub(crate) fn main(options: &Options) -> Result<ExitCode> {
    shell::hold_signals()?;
    tools::ensure(&tools::LOOPBACK)?;
    build::native_probe()?;
    let latlab = build::latlab()?;
    match options.target.as_str() {
        "loopback" => {
            require_root_rights()?;
            let sshd = Sshd::start()?;
            println!("demo: {}", sshd.describe());
            let target = sshd.target_file()?;
            run(&latlab, &target.display().to_string())
        }
        "local" => {
            require_root_rights()?;
            run(&latlab, "local")
        }
        other => run(&latlab, other),
    }
}

/// Measuring at a real-time priority takes root on the measured machine.
fn require_root_rights() -> Result<()> {
    if shell::is_root()?
        || shell::try_output(Command::new("sudo").args(["-n", "true"])).is_ok_and(|o| o.status.success())
    {
        return Ok(());
    }
    bail!("measuring this machine takes root: run as root, or allow `sudo -n` for this user")
}

fn run(latlab: &Path, target: &str) -> Result<ExitCode> {
    let results = build::target_directory().join("demo");
    let mut command = latlab_command(latlab)?;
    command.args(["run", "campaigns/demo.toml", "--target", target, "--results"]).arg(&results);
    println!("demo: {}", shell::text(&command));
    let status = command.status().context("cannot start latlab")?;
    if let Some(execution) = newest(&results)? {
        println!("\ndemo: the result lies in {}", execution.display());
        let mut show = latlab_command(latlab)?;
        show.arg("show").arg(&execution);
        println!("demo: {}", shell::text(&show));
        shell::run(&mut show)?;
    }
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

/// latlab in the checkout, with the fetched programs in reach.
pub(crate) fn latlab_command(latlab: &Path) -> Result<Command> {
    let mut command = Command::new(latlab);
    command.current_dir(paths::root()).env("PATH", tools::path()?);
    Ok(command)
}

/// The execution that started last.
fn newest(results: &Path) -> Result<Option<PathBuf>> {
    let Ok(entries) = std::fs::read_dir(results) else { return Ok(None) };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.join("plan.json").exists() {
            found.push((std::fs::metadata(path.join("plan.json"))?.modified()?, path));
        }
    }
    Ok(found.into_iter().max().map(|(_, path)| path))
}
