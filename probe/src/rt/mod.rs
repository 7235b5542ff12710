//! Every unsafe system call of the probe, in small safe functions.
//!
//! Raw system call numbers are used where C libraries fall back to something
//! else or stub: time with 64-bit seconds on 32-bit boards, scheduling on musl.
#![expect(unsafe_code, reason = "the one room that talks to the kernel past the standard library")]

#[cfg(test)]
pub(crate) mod alloc;
pub(crate) mod clock;
pub(crate) mod fd;
mod lean;
pub(crate) mod memory;
pub(crate) mod process;
mod raw;
pub(crate) mod sched;
pub(crate) mod system;
pub(crate) mod tracing;

use std::io;

/// The result of a call that answers -1 and `errno`.
fn checked(answer: libc::c_long) -> io::Result<libc::c_long> {
    if answer == -1 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

/// As [`checked`], for calls that answer a C `int`.
fn checked_int(answer: libc::c_int) -> io::Result<libc::c_int> {
    if answer == -1 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}
