//! File descriptors: pipes, polling, locks.

use super::checked_int;
use std::{
    fs::File,
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd},
    time::Duration,
};

/// A pipe (read end, write end), closed in started programs.
pub(crate) fn pipe() -> io::Result<(File, File)> {
    let mut ends = [0; 2];
    // SAFETY: writes two ints.
    checked_int(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) })?;
    // SAFETY: both just created, owned by nobody else.
    Ok(unsafe { (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])) })
}

/// A connected pair of stream sockets, closed in started programs.
pub(crate) fn socket_pair() -> io::Result<(File, File)> {
    let mut ends = [0; 2];
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
    // SAFETY: writes two ints.
    checked_int(unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) })?;
    // SAFETY: both just created, owned by nobody else.
    Ok(unsafe { (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])) })
}

/// Reads and writes answer at once.
pub(crate) fn set_nonblocking(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: no pointers.
    let flags = checked_int(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) })?;
    // SAFETY: no pointers.
    checked_int(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK) }).map(drop)
}

/// Waits until one of `fds` can be read (or has ended) or the time is over; which of them can.
pub(crate) fn poll(fds: &[BorrowedFd<'_>], timeout: Duration) -> io::Result<Vec<bool>> {
    let mut list: Vec<libc::pollfd> =
        fds.iter().map(|fd| libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 }).collect();
    // Rounded up: a timeout that is too short would spin.
    let millis = i32::try_from(timeout.as_nanos().div_ceil(1_000_000)).unwrap_or(i32::MAX);
    // SAFETY: the kernel writes `revents` of `list.len()` entries.
    let answer = unsafe { libc::poll(list.as_mut_ptr(), list.len() as libc::nfds_t, millis) };
    match checked_int(answer) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        _ => Ok(list.iter().map(|entry| entry.revents != 0).collect()),
    }
}

/// Takes an exclusive lock that lives as long as the open file, copies in forked processes included.
/// `false`: somebody else holds it.
pub(crate) fn try_lock(file: &File) -> io::Result<bool> {
    flock(file, libc::LOCK_EX)
}

/// As [`try_lock`], beside others that do the same.
pub(crate) fn try_lock_shared(file: &File) -> io::Result<bool> {
    flock(file, libc::LOCK_SH)
}

fn flock(file: &File, kind: libc::c_int) -> io::Result<bool> {
    // SAFETY: no pointers.
    match checked_int(unsafe { libc::flock(file.as_raw_fd(), kind | libc::LOCK_NB) }) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error),
    }
}

/// Signals as something to poll.
pub(crate) struct Signals(File);

impl Signals {
    /// Blocks `signals` for this process and reads them here instead.
    pub(crate) fn block(signals: &[libc::c_int]) -> io::Result<Self> {
        let set = signal_set(signals);
        // SAFETY: reads one sigset; the process has one thread when this is called.
        checked_int(unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) })?;
        // SAFETY: reads one sigset.
        let fd = checked_int(unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) })?;
        // SAFETY: just created, owned by nobody else.
        Ok(Self(unsafe { File::from_raw_fd(fd) }))
    }

    /// Numbers of the signals that came since.
    pub(crate) fn take(&self) -> Vec<u32> {
        const RECORD: usize = size_of::<libc::signalfd_siginfo>();
        let mut seen = Vec::new();
        let mut buffer = [0u8; RECORD];
        while matches!(io::Read::read(&mut &self.0, &mut buffer), Ok(RECORD)) {
            // `ssi_signo` is the first field.
            seen.push(u32::from_ne_bytes([buffer[0], buffer[1], buffer[2], buffer[3]]));
        }
        seen
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn signal_set(signals: &[libc::c_int]) -> libc::sigset_t {
    let mut set = std::mem::MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: initialises the set.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    for signal in signals {
        // SAFETY: the set is initialised; a bad number is refused and ignored.
        unsafe { libc::sigaddset(set.as_mut_ptr(), *signal) };
    }
    // SAFETY: initialised above.
    unsafe { set.assume_init() }
}

/// Unblocks every signal and gives each its default action: for programs started by a process that blocks or ignores some,
/// or was itself started so (`nohup`, a shell's background job).
pub(crate) fn default_signals() {
    let set = signal_set(&[]);
    // SAFETY: reads one sigset; no handlers of ours exist.
    unsafe {
        libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut());
        // The numbers that may not be changed (KILL, STOP, the C library's own) are refused, and that is right.
        for signal in 1..=libc::SIGRTMAX() {
            libc::signal(signal, libc::SIG_DFL);
        }
    }
}

/// Ignores hang-ups and closed pipes: a run outlives the connection that started it.
pub(crate) fn ignore_hangup() {
    // SAFETY: no handler is installed.
    unsafe {
        libc::signal(libc::SIGHUP, libc::SIG_IGN);
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
    }
}

/// Standard output ends here: later writes go nowhere, and the reader sees its end.
pub(crate) fn close_stdout() -> io::Result<()> {
    let null = File::options().write(true).open("/dev/null")?;
    // SAFETY: no pointers; descriptor 1 is replaced in one step.
    checked_int(unsafe { libc::dup2(null.as_raw_fd(), 1) }).map(drop)
}
