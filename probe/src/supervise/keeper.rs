//! A tiny process that is the supervisor's parent and does nothing until it ends.
//!
//! What a load starts with an environment of its own carries no mark. While the supervisor lives such a process is
//! known as its child, orphans included. When it is killed, orphans go to the next ancestor that adopts them: without
//! this process that is process 1, and nobody would know them any more.

use super::{dir::RunDir, guard, privileges, sweep};
use crate::rt::{fd, process, process::Ended, process::Fork};
use std::{io, time::Duration};

/// Between looks at the children that are left.
const PAUSE: Duration = Duration::from_millis(20);
/// Looks before it goes in any case: the guard takes seconds at most.
const LOOKS: u32 = 3000;

/// Comes back in a child, which becomes the supervisor, with the process id of the keeper. The file that marks the run
/// as alive must be open already: it stays so until the keeper has gone.
pub(super) fn stay_behind(dir: &RunDir) -> io::Result<i32> {
    let keeper = i32::try_from(std::process::id()).unwrap_or(0);
    match process::fork()? {
        Fork::Child => Ok(keeper),
        Fork::Parent(supervisor) => keep(dir, supervisor),
    }
}

fn keep(dir: &RunDir, supervisor: i32) -> ! {
    process::set_name(c"latprobe-keep");
    // `run` must hear the end of what the supervisor says.
    let _ = fd::close_stdout();
    // Whoever wants to end the run asks the supervisor.
    let _signals = fd::Signals::block(&[libc::SIGTERM, libc::SIGINT]);
    // Without it everything is as it was on kernels before 3.4.
    let _ = process::adopt_orphans();
    let _ = privileges::spare();
    match process::wait_for(supervisor) {
        Ok(Ended::Code(code)) => process::exit_now(code),
        Ok(Ended::Signal(signal)) => {
            end_orphans(dir);
            process::exit_now(128 + signal)
        }
        Err(_) => process::exit_now(1),
    }
}

/// Until the guard has ended what is marked, and with it no more orphans come.
fn end_orphans(dir: &RunDir) {
    for _ in 0..LOOKS {
        while process::reap().is_some() {}
        let children = sweep::children();
        let marked = sweep::marked(dir.path(), &[]);
        let unmarked: Vec<i32> = children.iter().copied().filter(|pid| !marked.contains(pid)).collect();
        for pid in &unmarked {
            // Gone meanwhile is fine.
            let _ = process::kill(*pid, libc::SIGKILL);
        }
        let guarded = children.iter().any(|pid| guard::is_one(*pid));
        if unmarked.is_empty() && !guarded {
            return;
        }
        std::thread::sleep(PAUSE);
    }
}
