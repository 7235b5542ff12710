//! Processes: forking, ending, and what they inherit.

use super::checked_int;
use std::io;

/// Which side of a fork this is.
pub(crate) enum Fork {
    Child,
    Parent(i32),
}

/// Copies the process. Only for processes with a single thread.
pub(crate) fn fork() -> io::Result<Fork> {
    // SAFETY: with one thread the child may do whatever the parent could; the callers see to that.
    match checked_int(unsafe { libc::fork() })? {
        0 => Ok(Fork::Child),
        pid => Ok(Fork::Parent(pid)),
    }
}

/// Ends the process at once: no destructors, no buffers written twice in a forked child.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: does not return.
    unsafe { libc::_exit(code) }
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Code(i32),
    Signal(i32),
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Ended::Code(code) => write!(f, "exit code {code}"),
            Ended::Signal(signal) => write!(f, "signal {signal}"),
        }
    }
}

/// A child that has ended since, if any.
pub(crate) fn reap() -> Option<(i32, Ended)> {
    wait(-1, libc::WNOHANG).ok().flatten()
}

/// Waits for one child.
pub(crate) fn wait_for(pid: i32) -> io::Result<Ended> {
    loop {
        match wait(pid, 0) {
            Ok(Some((_, ended))) => return Ok(ended),
            Ok(None) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn wait(pid: i32, flags: libc::c_int) -> io::Result<Option<(i32, Ended)>> {
    let mut status = 0;
    // SAFETY: writes one int.
    let pid = checked_int(unsafe { libc::waitpid(pid, &raw mut status, flags) })?;
    let ended = if libc::WIFSIGNALED(status) {
        Ended::Signal(libc::WTERMSIG(status))
    } else {
        Ended::Code(libc::WEXITSTATUS(status))
    };
    Ok((pid > 0).then_some((pid, ended)))
}

/// Sends a signal to one process.
pub(crate) fn kill(pid: i32, signal: i32) -> io::Result<()> {
    if pid <= 1 {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    // SAFETY: no pointers; a single process, never a group or everything.
    checked_int(unsafe { libc::kill(pid, signal) }).map(drop)
}

/// Sends a signal to a process group.
pub(crate) fn kill_group(group: i32, signal: i32) -> io::Result<()> {
    if group <= 1 {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    // SAFETY: no pointers; a group above 1, never everything.
    checked_int(unsafe { libc::kill(-group, signal) }).map(drop)
}

/// A session of its own, away from the terminal and the connection.
pub(crate) fn new_session() -> io::Result<()> {
    // SAFETY: no arguments.
    checked_int(unsafe { libc::setsid() }).map(drop)
}

/// The kernel kills this process when its parent ends.
pub(crate) fn die_with_parent() -> io::Result<()> {
    // SAFETY: no pointers.
    checked_int(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong, 0, 0, 0) }).map(drop)
}

/// Orphans among the caller's descendants become its children, not those of process 1. Since Linux 3.4.
pub(crate) fn adopt_orphans() -> io::Result<()> {
    // SAFETY: no pointers.
    checked_int(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }).map(drop)
}

/// Name shown by `ps` for this thread, at most 15 bytes.
pub(crate) fn set_name(name: &std::ffi::CStr) {
    // SAFETY: the kernel copies at most 16 bytes of a terminated string.
    unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr(), 0, 0, 0) };
}

/// Process id of the caller's parent.
pub(crate) fn parent() -> i32 {
    // SAFETY: no arguments, cannot fail.
    unsafe { libc::getppid() }
}

/// Effective user id.
pub(crate) fn uid() -> u32 {
    // SAFETY: no arguments, cannot fail.
    unsafe { libc::geteuid() }
}
