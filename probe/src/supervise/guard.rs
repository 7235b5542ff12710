//! A tiny process that does nothing until the supervisor is killed: then it ends what
//! the supervisor started and puts the settings back.

use super::{
    dir::RunDir,
    settings::{self, Undo},
    sweep,
};
use crate::rt::{fd, process, process::Fork, sched};
use latprobe::status::Stage;
use std::{
    fs::File,
    io::{Read, Write},
};

const NAME: &std::ffi::CStr = c"latprobe-guard";

/// The supervisor's end of the guard.
pub(super) struct Guard {
    pub(super) pid: i32,
    line: File,
}

impl Guard {
    /// Forks the guard. It holds the lock of `alive` too, so that the run counts as alive until it has cleaned up.
    /// After the fork of the measuring process, which would keep the line open.
    pub(super) fn start(dir: &RunDir, undo: &Undo, keeper: i32) -> std::io::Result<Self> {
        let (wait, line) = fd::pipe()?;
        match process::fork()? {
            Fork::Parent(pid) => Ok(Self { pid, line }),
            Fork::Child => {
                drop(line);
                watch(dir, undo, keeper, wait)
            }
        }
    }

    /// Lets the guard go: everything was put back.
    pub(super) fn dismiss(mut self) {
        // A guard that is gone already needs no word.
        let _ = self.line.write_all(b".");
        let _ = process::wait_for(self.pid);
    }
}

/// Whether a process is one, by its name.
pub(super) fn is_one(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim_end().as_bytes() == NAME.to_bytes())
}

fn watch(dir: &RunDir, undo: &Undo, keeper: i32, mut wait: File) -> ! {
    process::set_name(NAME);
    // Away from the supervisor's process group and session. Without these it still works, only later.
    let _ = process::new_session();
    let _ = sched::set_helper_fifo(1);
    if matches!(wait.read(&mut [0]), Ok(1)) {
        process::exit_now(0);
    }
    // The keeper ends what is not marked, and goes by itself.
    let stuck = sweep::kill_marked(dir.path(), &[keeper], Vec::new());
    let mut message = "the supervisor was killed".to_owned();
    match settings::restore(dir, Some(undo)) {
        Ok(answer) if answer.failed.is_empty() => message.push_str("; everything was put back"),
        Ok(answer) => message.push_str(&format!("; not put back: {:?}", answer.failed)),
        Err(error) => message.push_str(&format!("; settings not put back: {error}")),
    }
    if !stuck.is_empty() {
        message.push_str(&format!("; processes {stuck:?} would not end"));
    }
    if let Ok(Some(mut state)) = dir.state() {
        (state.stage, state.message) = (Stage::Dead, Some(message));
        let _ = dir.write_state(&state);
    }
    process::exit_now(0)
}
