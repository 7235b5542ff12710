//! `CLOCK_MONOTONIC`: reading it and sleeping on it, by whichever system call the kernel really has.
//!
//! On 32-bit boards the C library's `timespec` has 32-bit or 64-bit seconds
//! depending on its age, and some vendor kernels answer nonsense to the
//! 64-bit calls. So each call is tried with structs of our own and believed
//! only when its answer makes sense.

use super::{
    checked_int,
    memory::{Usage, thread_usage},
    raw::{address, raw},
    tracing::Tracing,
};
use crate::measure::Clock;
use std::{
    io,
    mem::MaybeUninit,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
};

const SECOND_NS: u64 = 1_000_000_000;
/// `clock_gettime64` and `clock_nanosleep_time64`: same numbers on every 32-bit architecture, not in libc for arm.
#[cfg(target_pointer_width = "32")]
const SYS_CLOCK_GETTIME64: libc::c_long = 403;
#[cfg(target_pointer_width = "32")]
const SYS_CLOCK_NANOSLEEP_TIME64: libc::c_long = 407;

/// Ways to read the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadCall {
    /// The C library's function, through the vDSO where there is one.
    Libc,
    /// The native system call.
    Syscall,
    /// The system call with 64-bit seconds of 32-bit kernels ≥ 5.1.
    #[cfg(target_pointer_width = "32")]
    SyscallTime64,
}

impl ReadCall {
    /// All that this architecture could have.
    pub(crate) const CANDIDATES: &'static [ReadCall] = &[
        ReadCall::Libc,
        ReadCall::Syscall,
        #[cfg(target_pointer_width = "32")]
        ReadCall::SyscallTime64,
    ];

    /// The clock now, in ns.
    pub(crate) fn now(self) -> io::Result<u64> {
        self.read().ok_or_else(|| io::Error::from_raw_os_error(libc::ENOSYS))
    }

    /// As [`Self::now`], without an error to drop: that costs the loop a tenth of its instructions.
    #[inline(always)]
    fn read(self) -> Option<u64> {
        match self {
            ReadCall::Libc => {
                let mut ts = MaybeUninit::<libc::timespec>::uninit();
                // SAFETY: the kernel or vDSO writes one timespec of the C library's own layout.
                let answer = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, ts.as_mut_ptr()) };
                if answer != 0 {
                    return None;
                }
                // SAFETY: a call that succeeds has written both fields.
                let ts = unsafe { ts.assume_init() };
                #[expect(clippy::cast_sign_loss, reason = "CLOCK_MONOTONIC counts up from boot")]
                Some(ts.tv_sec as u64 * SECOND_NS + ts.tv_nsec as u64)
            }
            ReadCall::Syscall => {
                let mut ts = MaybeUninit::<TimeLong>::uninit();
                let clock = libc::c_long::from(libc::CLOCK_MONOTONIC);
                // SAFETY: the old call writes two C longs.
                let answer = unsafe { raw(libc::SYS_clock_gettime, [clock, address(ts.as_mut_ptr()), 0, 0]) };
                if answer != 0 {
                    return None;
                }
                // SAFETY: a call that succeeds has written both fields.
                let ts = unsafe { ts.assume_init() };
                #[expect(clippy::cast_sign_loss, reason = "CLOCK_MONOTONIC counts up from boot")]
                Some(ts.seconds as u64 * SECOND_NS + ts.nanoseconds as u64)
            }
            #[cfg(target_pointer_width = "32")]
            ReadCall::SyscallTime64 => {
                let mut ts = Time64::default();
                // SAFETY: the call writes two 64-bit fields.
                let answer = unsafe { libc::syscall(SYS_CLOCK_GETTIME64, libc::CLOCK_MONOTONIC, &raw mut ts) };
                if answer != 0 {
                    return None;
                }
                #[expect(clippy::cast_sign_loss, reason = "CLOCK_MONOTONIC counts up from boot")]
                Some(ts.seconds as u64 * SECOND_NS + ts.nanoseconds as u64)
            }
        }
    }

    /// As the checkpoint stream names it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ReadCall::Libc => "vdso",
            ReadCall::Syscall => "syscall",
            #[cfg(target_pointer_width = "32")]
            ReadCall::SyscallTime64 => "syscall-time64",
        }
    }
}

/// Ways to sleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SleepCall {
    /// `clock_nanosleep` with C longs.
    Nanosleep,
    /// `clock_nanosleep_time64` of 32-bit kernels ≥ 5.1.
    #[cfg(target_pointer_width = "32")]
    NanosleepTime64,
}

impl SleepCall {
    /// The first call that sleeps as told: until 200 us from now, and not less.
    pub(crate) fn probe(read: ReadCall) -> io::Result<Self> {
        #[cfg(target_pointer_width = "32")]
        if Self::NanosleepTime64.works(read)? {
            return Ok(Self::NanosleepTime64);
        }
        if Self::Nanosleep.works(read)? {
            return Ok(Self::Nanosleep);
        }
        Err(io::Error::from_raw_os_error(libc::ENOSYS))
    }

    fn works(self, read: ReadCall) -> io::Result<bool> {
        let until = read.now()? + 200_000;
        let slept = self.sleep(libc::TIMER_ABSTIME, split(until)) == 0;
        Ok(slept && read.now()? >= until)
    }

    #[inline(always)]
    fn sleep(self, flags: libc::c_int, (seconds, nanoseconds): (i64, u32)) -> libc::c_long {
        match self {
            SleepCall::Nanosleep => {
                let until = TimeLong { seconds: long(seconds), nanoseconds: long(i64::from(nanoseconds)) };
                let clock = libc::c_long::from(libc::CLOCK_MONOTONIC);
                // SAFETY: the call reads two C longs and writes no remainder.
                unsafe { raw(libc::SYS_clock_nanosleep, [clock, flags.into(), address(&raw const until), 0]) }
            }
            #[cfg(target_pointer_width = "32")]
            SleepCall::NanosleepTime64 => {
                let ts = Time64 { seconds, nanoseconds: i64::from(nanoseconds) };
                let no_remainder = std::ptr::null_mut::<libc::c_void>();
                // SAFETY: the call reads two 64-bit fields and writes no remainder.
                unsafe {
                    libc::syscall(SYS_CLOCK_NANOSLEEP_TIME64, libc::CLOCK_MONOTONIC, flags, &raw const ts, no_remainder)
                }
            }
        }
    }

    /// As the checkpoint stream names it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            SleepCall::Nanosleep => "clock_nanosleep",
            #[cfg(target_pointer_width = "32")]
            SleepCall::NanosleepTime64 => "clock_nanosleep_time64",
        }
    }
}

#[repr(C)]
struct TimeLong {
    seconds: libc::c_long,
    nanoseconds: libc::c_long,
}

#[cfg(target_pointer_width = "32")]
#[repr(C)]
#[derive(Default)]
struct Time64 {
    seconds: i64,
    nanoseconds: i64,
}

#[expect(clippy::cast_possible_wrap, reason = "seconds of a u64 of ns are below 2^35")]
fn split(at_ns: u64) -> (i64, u32) {
    ((at_ns / SECOND_NS) as i64, (at_ns % SECOND_NS) as u32)
}

/// A C long: 68 years of uptime in seconds fit its 32 bits.
#[inline]
#[cfg_attr(target_pointer_width = "32", expect(clippy::cast_possible_truncation, reason = "seconds of uptime"))]
fn long(value: i64) -> libc::c_long {
    value as libc::c_long
}

/// `CLOCK_MONOTONIC` now, in ns, for everything but the measuring loop.
pub(crate) fn now_ns() -> u64 {
    ReadCall::Libc.now().expect("CLOCK_MONOTONIC is there since Linux 2.6")
}

/// `clock_getres(CLOCK_MONOTONIC)`, in ns.
pub(crate) fn resolution_ns() -> io::Result<u64> {
    let mut ts = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: one timespec is written.
    checked_int(unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC, ts.as_mut_ptr()) })?;
    // SAFETY: zeroed before, and all-zero is a valid timespec.
    let ts = unsafe { ts.assume_init() };
    #[expect(clippy::cast_sign_loss, reason = "a resolution is positive")]
    Ok(ts.tv_sec as u64 * SECOND_NS + ts.tv_nsec as u64)
}

/// How the measuring loop waits.
enum Wait {
    Absolute,
    Relative,
    Timerfd(OwnedFd),
}

/// The clock of one sampling thread.
pub(crate) struct Monotonic {
    read: ReadCall,
    sleep: SleepCall,
    wait: Wait,
    /// Start of the second that the last due time fell into, in ns, and its number: spares a division per cycle.
    second_ns: u64,
    second: i64,
    /// Ended by a hunt.
    tracing: Option<Tracing>,
}

impl Monotonic {
    /// Sleeps until each due time.
    pub(crate) fn absolute(read: ReadCall, sleep: SleepCall) -> Self {
        Self { read, sleep, wait: Wait::Absolute, second_ns: 0, second: 0, tracing: None }
    }

    /// What a hunt ends.
    pub(crate) fn trace_with(&mut self, tracing: Tracing) {
        self.tracing = Some(tracing);
    }

    /// Sleeps for the time that is left until the due time.
    pub(crate) fn relative(read: ReadCall, sleep: SleepCall) -> Self {
        Self { wait: Wait::Relative, ..Self::absolute(read, sleep) }
    }

    /// A periodic timer that first expires at `first_ns`.
    pub(crate) fn timerfd(read: ReadCall, sleep: SleepCall, first_ns: u64, interval_ns: u64) -> io::Result<Self> {
        // SAFETY: no pointers; the descriptor is owned below.
        let fd = checked_int(unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC) })?;
        // SAFETY: just created, owned by nobody else.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        // SAFETY: all-zero is a valid itimerspec.
        let mut spec: libc::itimerspec = unsafe { MaybeUninit::zeroed().assume_init() };
        for (field, ns) in [(&mut spec.it_value, first_ns), (&mut spec.it_interval, interval_ns)] {
            let (seconds, nanoseconds) = split(ns);
            field.tv_sec = long(seconds);
            field.tv_nsec = long(i64::from(nanoseconds));
        }
        // SAFETY: reads one itimerspec of the C library's own layout.
        checked_int(unsafe {
            libc::timerfd_settime(fd.as_raw_fd(), libc::TFD_TIMER_ABSTIME, &raw const spec, std::ptr::null_mut())
        })?;
        Ok(Self { wait: Wait::Timerfd(fd), ..Self::absolute(read, sleep) })
    }

    /// `at_ns` as seconds and nanoseconds, without a division while the second is the same.
    #[inline(always)]
    fn split(&mut self, at_ns: u64) -> (i64, u32) {
        let mut into = at_ns.wrapping_sub(self.second_ns);
        if into >= SECOND_NS {
            into = self.change_second(at_ns);
        }
        #[expect(clippy::cast_possible_truncation, reason = "below 10^9")]
        (self.second, into as u32)
    }

    /// Takes the second of `at_ns` for the next ones; the nanoseconds in it.
    #[cold]
    fn change_second(&mut self, at_ns: u64) -> u64 {
        let (second, into) = split(at_ns);
        (self.second, self.second_ns) = (second, at_ns - u64::from(into));
        u64::from(into)
    }
}

impl Clock for Monotonic {
    #[inline(always)]
    fn now_ns(&self) -> u64 {
        // A call that worked in the self-test does not fail later; were it to, 0 shows as a negative difference.
        self.read.read().unwrap_or_default()
    }

    #[inline(always)]
    fn wait(&mut self, due_ns: u64, last_ns: u64) -> u64 {
        match &self.wait {
            Wait::Absolute => {
                let due = self.split(due_ns);
                self.sleep.sleep(libc::TIMER_ABSTIME, due);
            }
            Wait::Relative => {
                self.sleep.sleep(0, split(due_ns.saturating_sub(last_ns)));
            }
            Wait::Timerfd(fd) => {
                let mut expirations = 0u64;
                // SAFETY: a timerfd read writes at most eight bytes.
                unsafe { libc::read(fd.as_raw_fd(), (&raw mut expirations).cast(), size_of::<u64>()) };
                return expirations.max(1);
            }
        }
        1
    }

    fn usage(&self) -> Usage {
        thread_usage()
    }

    fn stop_tracing(&mut self, latency_ns: u64, due_ns: u64) {
        if let Some(tracing) = &mut self.tracing {
            tracing.stop(latency_ns, due_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_and_far_times_split_the_same() {
        let mut clock = Monotonic::absolute(ReadCall::Libc, SleepCall::Nanosleep);
        let steps = [0, 1, 999_999_999, 1, 1_000_000_000, 3_999_999_999, 10_000_000_000, 500, 4_000_000_001];
        let mut at = 7;
        for step in steps {
            at += step;
            assert_eq!(clock.split(at), split(at), "{at}");
        }
        // Earlier than the second before, as after a change of phase.
        assert_eq!(clock.split(3), (0, 3));
    }

    #[test]
    fn every_call_that_answers_agrees() {
        let libc = ReadCall::Libc.now().unwrap();
        let raw = ReadCall::Syscall.now().unwrap();
        assert!(raw >= libc && raw - libc < SECOND_NS);
        assert!(SleepCall::probe(ReadCall::Libc).is_ok());
    }
}
