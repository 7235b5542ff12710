//! The system call instruction itself.
//!
//! The C library's `syscall` moves every argument once more and keeps `errno`: a sixth of what a sample costs outside
//! the kernel. Elsewhere it does not matter.

use libc::c_long;

/// A pointer as an argument of [`raw`].
#[inline]
pub(super) fn address<T>(pointer: *const T) -> c_long {
    #[expect(clippy::cast_possible_wrap, reason = "the same bits")]
    return pointer.expose_provenance() as c_long;
}

/// Makes a system call of up to four arguments; what it answers, and on failure something negative.
///
/// # Safety
/// As the call itself: what the arguments point to must be as the kernel expects it.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) unsafe fn raw(number: c_long, [a, b, c, d]: [c_long; 4]) -> c_long {
    let answer;
    // SAFETY: changes memory as the caller allows, and no registers but these.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") number => answer,
            in("rdi") a,
            in("rsi") b,
            in("rdx") c,
            in("r10") d,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    answer
}

/// As above.
///
/// # Safety
/// As above.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(super) unsafe fn raw(number: c_long, [a, b, c, d]: [c_long; 4]) -> c_long {
    let answer;
    // SAFETY: changes memory as the caller allows, and no register but the answer's.
    unsafe {
        std::arch::asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") a => answer,
            in("x1") b,
            in("x2") c,
            in("x3") d,
            options(nostack),
        );
    }
    answer
}

/// As above.
///
/// # Safety
/// As above.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
pub(super) unsafe fn raw(number: c_long, [a, b, c, d]: [c_long; 4]) -> c_long {
    // SAFETY: the caller's promise is passed on.
    unsafe { libc::syscall(number, a, b, c, d) }
}
