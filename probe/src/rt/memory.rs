//! Memory that is shared, locked and touched.

use super::checked_int;
use std::{
    hint::black_box,
    io,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

/// Words shared with forked processes, zero at first, for as long as the process lives.
pub(crate) fn share(words: usize) -> io::Result<&'static [AtomicU32]> {
    let bytes = words.checked_mul(size_of::<AtomicU32>()).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))?;
    // SAFETY: a new anonymous mapping; no memory of ours is replaced.
    let address = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            bytes.max(1),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if address == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: page-aligned, `bytes` long, zeroed, never unmapped, and only ever used as atomics.
    Ok(unsafe { std::slice::from_raw_parts(address.cast::<AtomicU32>(), words) })
}

/// Writes to every page of shared memory, leaving its content. Locking reads shared pages in, but does not write to them:
/// where the hardware keeps no dirty bit (32-bit ARM) the first write to each would fault, in the loop.
pub(crate) fn touch(words: &[AtomicU32]) {
    for word in words.iter().step_by(PAGE_WORDS).chain(words.last()) {
        let value = word.load(Relaxed);
        // Another process may write the word meanwhile: then it is not ours to keep, and the page is written all the same.
        let _ = word.compare_exchange(value, value, Relaxed, Relaxed);
    }
}

/// Smallest page of any kernel, in words.
const PAGE_WORDS: usize = 4096 / size_of::<AtomicU32>();

/// Locks all memory of the process, now and later.
pub(crate) fn lock_all() -> io::Result<()> {
    give_back_spare();
    // SAFETY: no pointers.
    checked_int(unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) }).map(drop)
}

/// What the allocator holds in advance would be locked too, half of all that a small program locks.
fn give_back_spare() {
    #[cfg(target_env = "gnu")]
    // SAFETY: no pointers.
    unsafe {
        libc::mallopt(libc::M_TOP_PAD, 16 << 10);
        libc::malloc_trim(0);
    }
}

/// Keeps the allocator from giving each thread 64 MB of address space, which counts as locked.
pub(crate) fn use_one_arena() {
    #[cfg(target_env = "gnu")]
    // SAFETY: no pointers; called before other threads allocate.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1)
    };
}

/// Stack that a sampling thread uses at most, with a wide margin.
const STACK_DEPTH: usize = 16 << 10;

/// Touches the stack below the caller, so that the loop takes no page fault there.
#[inline(never)]
pub(crate) fn touch_stack() {
    let mut depth = [0u8; STACK_DEPTH];
    for page in depth.chunks_mut(1 << 10) {
        page[0] = 1;
    }
    black_box(&mut depth);
}

/// Faults and context switches of the calling thread so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) minor_faults: u32,
    pub(crate) major_faults: u32,
    pub(crate) voluntary_switches: u32,
    pub(crate) involuntary_switches: u32,
}

/// `getrusage(RUSAGE_THREAD)`, counts modulo 2^32.
pub(crate) fn thread_usage() -> Usage {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: writes one rusage.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
    // SAFETY: zeroed before, and all-zero is a valid rusage.
    let usage = unsafe { usage.assume_init() };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "read as differences modulo 2^32")]
    let low = |count: libc::c_long| count as u32;
    Usage {
        minor_faults: low(usage.ru_minflt),
        major_faults: low(usage.ru_majflt),
        voluntary_switches: low(usage.ru_nvcsw),
        involuntary_switches: low(usage.ru_nivcsw),
    }
}

/// Raises the limit of open files to what is allowed; for loads that open many.
pub(crate) fn raise_open_files() -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: writes one rlimit.
    checked_int(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) })?;
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: reads one rlimit.
    checked_int(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) }).map(drop)
}
