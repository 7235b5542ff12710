//! Policy, priority and affinity: set, and read back from the kernel.

use super::checked;
use latprobe::{
    cpulist::{CpuList, MAX_CPU},
    spec::Policy,
};
use std::io;

const SCHED_OTHER: libc::c_long = 0;
const SCHED_FIFO: libc::c_long = 1;
const SCHED_RR: libc::c_long = 2;
const SCHED_DEADLINE: libc::c_long = 6;
/// Children start as `SCHED_OTHER`.
const SCHED_RESET_ON_FORK: libc::c_long = 0x4000_0000;

const MASK_BYTES: usize = (MAX_CPU as usize + 1) / 8;
type Mask = [u8; MASK_BYTES];

/// A mask word as the kernel lays it out: native longs, so byte order matters on big-endian boards only.
const WORD_BYTES: usize = size_of::<libc::c_ulong>();

#[repr(C)]
struct Param {
    priority: libc::c_int,
}

/// `struct sched_attr`, first version.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// Scheduling of the calling thread. `interval_ns` gives the deadline policy its period.
pub(crate) fn set_policy(policy: Policy, priority: u32, interval_ns: u64) -> io::Result<()> {
    match policy {
        Policy::Other => set_scheduler(SCHED_OTHER, 0),
        Policy::Fifo => set_scheduler(SCHED_FIFO, priority),
        Policy::Rr => set_scheduler(SCHED_RR, priority),
        Policy::Deadline => set_deadline(interval_ns),
    }
}

/// FIFO for the probe's own helpers; what they start is not real-time.
pub(crate) fn set_helper_fifo(priority: u32) -> io::Result<()> {
    set_scheduler(SCHED_FIFO | SCHED_RESET_ON_FORK, priority)
}

/// Back to the default policy, for loads.
pub(crate) fn set_other() -> io::Result<()> {
    set_scheduler(SCHED_OTHER, 0)
}

fn set_scheduler(policy: libc::c_long, priority: u32) -> io::Result<()> {
    let param = Param { priority: i32::try_from(priority).unwrap_or(i32::MAX) };
    // SAFETY: reads one int; raw because musl stubs this function. Thread 0 is the caller.
    checked(unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const param) }).map(drop)
}

/// A tenth of the interval as runtime, within the kernel's 1024 ns and at most half the interval.
fn set_deadline(interval_ns: u64) -> io::Result<()> {
    let runtime = (interval_ns / 10).max(20_000).min(interval_ns / 2).max(1024);
    let attributes = Attributes {
        size: u32::try_from(size_of::<Attributes>()).expect("48 bytes"),
        policy: u32::try_from(SCHED_DEADLINE).expect("6"),
        runtime,
        deadline: interval_ns,
        period: interval_ns,
        ..Default::default()
    };
    // SAFETY: reads `size` bytes.
    checked(unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) }).map(drop)
}

/// Policy and priority of the calling thread as the kernel has them. `None`: a policy that the spec does not know.
pub(crate) fn policy() -> io::Result<(Option<Policy>, u32)> {
    let (policy, priority) = scheduling_of(0)?;
    let policy = match policy {
        SCHED_OTHER => Some(Policy::Other),
        SCHED_FIFO => Some(Policy::Fifo),
        SCHED_RR => Some(Policy::Rr),
        SCHED_DEADLINE => Some(Policy::Deadline),
        _ => None,
    };
    Ok((policy, priority))
}

fn scheduling_of(tid: i32) -> io::Result<(libc::c_long, u32)> {
    let (policy, priority) = raw_scheduling_of(tid)?;
    Ok((libc::c_long::from(policy) & !SCHED_RESET_ON_FORK, priority))
}

/// Policy, its flags included, and priority of a thread: what [`set_scheduling_of`] takes to give them back.
pub(crate) fn raw_scheduling_of(tid: i32) -> io::Result<(i32, u32)> {
    // SAFETY: no pointers.
    let policy = checked(unsafe { libc::syscall(libc::SYS_sched_getscheduler, tid) })?;
    let mut param = Param { priority: 0 };
    // SAFETY: writes one int.
    checked(unsafe { libc::syscall(libc::SYS_sched_getparam, tid, &raw mut param) })?;
    // Policies and their flags have 31 bits.
    Ok((i32::try_from(policy).unwrap_or(i32::MAX), u32::try_from(param.priority).unwrap_or(0)))
}

/// Policy, with its flags, and priority of any thread.
pub(crate) fn set_scheduling_of(tid: i32, policy: i32, priority: u32) -> io::Result<()> {
    let param = Param { priority: i32::try_from(priority).unwrap_or(i32::MAX) };
    // SAFETY: reads one int.
    checked(unsafe { libc::syscall(libc::SYS_sched_setscheduler, tid, libc::c_long::from(policy), &raw const param) })
        .map(drop)
}

/// `SCHED_FIFO` or `SCHED_RR`, whatever its flags.
pub(crate) fn is_real_time(policy: i32) -> bool {
    matches!(libc::c_long::from(policy) & !SCHED_RESET_ON_FORK, SCHED_FIFO | SCHED_RR)
}

/// Pins the calling thread.
pub(crate) fn set_affinity(cpus: &CpuList) -> io::Result<()> {
    let mut mask: Mask = [0; MASK_BYTES];
    for cpu in cpus.as_slice() {
        if let Some(byte) = mask.get_mut(mask_byte(*cpu)) {
            *byte |= 1 << (cpu % 8);
        }
    }
    // SAFETY: reads MASK_BYTES bytes.
    checked(unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, MASK_BYTES, mask.as_ptr()) }).map(drop)
}

/// CPUs that the calling thread may run on.
pub(crate) fn affinity() -> io::Result<CpuList> {
    let mut mask: Mask = [0; MASK_BYTES];
    // SAFETY: writes at most MASK_BYTES bytes.
    checked(unsafe { libc::syscall(libc::SYS_sched_getaffinity, 0, MASK_BYTES, mask.as_mut_ptr()) })?;
    Ok((0..=MAX_CPU).filter(|cpu| mask[mask_byte(*cpu)] >> (cpu % 8) & 1 == 1).collect())
}

fn mask_byte(cpu: u32) -> usize {
    let byte = cpu as usize / 8;
    if cfg!(target_endian = "big") { byte / WORD_BYTES * WORD_BYTES + WORD_BYTES - 1 - byte % WORD_BYTES } else { byte }
}

/// Kernel id of the calling thread.
pub(crate) fn tid() -> i32 {
    // SAFETY: no arguments, cannot fail.
    i32::try_from(unsafe { libc::syscall(libc::SYS_gettid) }).unwrap_or(0)
}

/// Wake-ups of the calling thread are not grouped: 1 ns of timer slack (acts on `SCHED_OTHER` only).
pub(crate) fn set_least_timer_slack() -> io::Result<()> {
    // SAFETY: no pointers.
    checked_prctl(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong, 0, 0, 0) })
}

fn checked_prctl(answer: libc::c_int) -> io::Result<()> {
    super::checked_int(answer).map(drop)
}
