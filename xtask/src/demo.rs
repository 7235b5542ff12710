//! `cargo xtask demo`: the whole path with the real programs, on a target that needs no hardware.

use crate::cross::{self, Kind};
use crate::lab::Board;
use crate::sshd::Sshd;
use crate::{build, lab, paths, shell, tools};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// An emulated board (`cargo xtask lab list`), `loopback` (this machine through a throw-away sshd), `local`,
    /// or any target latlab knows.
    #[arg(long, default_value = "emulated-armv7")]
    target: String,
}

pub(crate) fn main(options: &Options) -> Result<ExitCode> {
    let interrupt = shell::Interrupt::hold()?;
    tools::ensure(&tools::LOOPBACK)?;
    let name = options.target.as_str();
    if lab::names()?.iter().any(|board| board == name) {
        let home = paths::cache()?.join("demo");
        let board = Board::of(&home, name)?;
        cross::build(board.kind())?;
        let latlab = build::latlab()?;
        interrupt.check()?;
        let board = board.up(None, None)?;
        println!("demo: {name} is up, ssh on 127.0.0.1:{}", board.port()?);
        let code = run(&latlab, &board.target_file()?.display().to_string());
        board.down()?;
        println!("demo: {name} is down");
        return code;
    }
    cross::build(Kind::X86_64)?;
    let latlab = build::latlab()?;
    match name {
        "loopback" => {
            require_root_rights()?;
            let sshd = Sshd::start()?;
            println!("demo: {}", sshd.describe());
            run(&latlab, &sshd.target_file()?.display().to_string())
        }
        "local" => {
            require_root_rights()?;
            run(&latlab, name)
        }
        other => run(&latlab, other),
    }
}

/// Measuring at a real-time priority takes root on the measured machine.
fn require_root_rights() -> Result<()> {
    let sudo =
        || shell::try_output(Command::new("sudo").args(["-n", "true"])).is_ok_and(|output| output.status.success());
    if shell::is_root()? || sudo() {
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
        let mut show = latlab_command(latlab)?;
        show.arg("show").arg(&execution).arg("--results").arg(&results);
        println!("\ndemo: the result lies in {}; the same from there:", results.join(&execution).display());
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

/// Name of the execution that started last.
fn newest(results: &Path) -> Result<Option<PathBuf>> {
    let Ok(entries) = std::fs::read_dir(results) else { return Ok(None) };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        if let Ok(meta) = std::fs::metadata(entry.path().join("plan.json")) {
            found.push((meta.modified()?, PathBuf::from(entry.file_name())));
        }
    }
    Ok(found.into_iter().max().map(|(_, name)| name))
}
