//! The process that keeps a board powered: it starts QEMU, and starts it again when the board resets.

use super::qemu;
use super::qmp::Qmp;
use super::state::State;
use crate::{paths, shell};
use anyhow::{Context, Result, bail};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Starts a keeper in a session of its own: boards keep running between commands.
pub(crate) fn start(state: &State) -> Result<()> {
    let log = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(state.path("keeper.log"))
        .context("cannot write keeper.log")?;
    // Somebody who asks whether the board is on holds a shared lock for a moment.
    let deadline = Instant::now() + Duration::from_secs(1);
    while let Err(error) = log.try_lock() {
        if Instant::now() > deadline {
            return Err(error).with_context(|| format!("board {} is on already", state.board.name));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut command = Command::new("setsid");
    command.arg(std::env::current_exe().context("cannot find xtask itself")?);
    command.args(["lab", "keep", &state.board.name, "--home"]).arg(&state.home);
    command.arg(&state.directory); // how `State::process` knows its own
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    let child = command.spawn().with_context(|| format!("cannot start `{}`", shell::text(&command)))?;
    // `setsid` execs in place, as this child leads no process group.
    paths::write(&state.path("keeper.pid"), child.id().to_string())
}

/// The keeper itself: returns when the board is switched off.
pub(crate) fn keep(state: &State) -> Result<()> {
    loop {
        for socket in ["keeper.sock", "qmp.sock", "console.sock"] {
            let _ = std::fs::remove_file(state.path(socket));
        }
        let mut command = qemu::command(state)?;
        command.stdin(Stdio::null());
        println!("keeper: {}", shell::text(&command));
        let mut child = command.spawn().with_context(|| format!("cannot start `{}`", shell::text(&command)))?;
        paths::write(&state.path("qemu.pid"), child.id().to_string())?;
        let reason = match connect(state, &mut child) {
            Ok(qmp) => qmp.wait_for_shutdown(),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(error);
            }
        };
        let status = child.wait().context("QEMU is gone")?;
        let reason = reason?;
        println!("keeper: QEMU ended ({status}, {})", reason.as_deref().unwrap_or("no reason given"));
        if !matches!(reason.as_deref(), Some("guest-reset" | "host-qmp-system-reset" | "guest-panic")) {
            return Ok(());
        }
    }
}

fn connect(state: &State, child: &mut Child) -> Result<Qmp> {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        if let Some(status) = child.try_wait()? {
            bail!("QEMU ended at once: {status}");
        }
        match Qmp::connect(&state.path("keeper.sock")) {
            Ok(qmp) => return Ok(qmp),
            Err(error) if Instant::now() > deadline => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}
