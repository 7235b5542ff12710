//! What the standard library and the C library would link and the probe never uses.
//!
//! The probe aborts on panic and never unwinds, but the standard library as it comes brings a reader of debug information
//! for backtraces, and the C library a parser of `/proc/self/maps`: a sixth of the binary, all of it in locked memory. Link-time
//! optimisation drops both once what calls them is known to do nothing.
#![cfg(all(panic = "abort", target_env = "gnu"))]

use libc::{c_char, c_int, c_void};

/// `_URC_END_OF_STACK`.
const END_OF_STACK: c_int = 5;

/// No frames: a panic says where it happened, and that is enough.
// SAFETY: the name and signature of the unwinder's interface; nothing else of it is linked.
#[unsafe(no_mangle)]
extern "C" fn _Unwind_Backtrace(_trace: *const c_void, _argument: *mut c_void) -> c_int {
    END_OF_STACK
}

/// Only to name a stack overflow; without it one is a plain segmentation fault.
// SAFETY: the name and signature of the C library's function, which the standard library calls and believes when it fails.
#[unsafe(no_mangle)]
extern "C" fn pthread_getattr_np(_thread: libc::pthread_t, _attributes: *mut libc::pthread_attr_t) -> c_int {
    libc::ENOSYS
}

/// No catalogues: the C library's own last words stay English.
// SAFETY: the name and signature of the C library's function; the message is what it gives without a catalogue.
#[unsafe(no_mangle)]
extern "C" fn __dcgettext(_domain: *const c_char, message: *const c_char, _category: c_int) -> *const c_char {
    message
}

/// A static program has no dynamic symbols.
// SAFETY: the name and signature of the C library's function; null is what it gives for a symbol that is not there.
#[unsafe(no_mangle)]
extern "C" fn dlsym(_handle: *mut c_void, _symbol: *const c_char) -> *mut c_void {
    std::ptr::null_mut()
}

/// The rest of the unwinder's interface: nobody gets here.
macro_rules! never {
    ($($name:ident)*) => {
        $(
            // SAFETY: a function of the unwinder, which is not linked; called only while unwinding.
            #[unsafe(no_mangle)]
            extern "C" fn $name() -> ! {
                std::process::abort()
            }
        )*
    };
}

never! {
    _Unwind_DeleteException _Unwind_FindEnclosingFunction _Unwind_ForcedUnwind _Unwind_GetCFA _Unwind_GetDataRelBase
    _Unwind_GetLanguageSpecificData _Unwind_GetRegionStart _Unwind_GetTextRelBase _Unwind_RaiseException _Unwind_Resume
    _Unwind_Resume_or_Rethrow
}

#[cfg(not(target_arch = "arm"))]
never! { _Unwind_GetGR _Unwind_GetIP _Unwind_GetIPInfo _Unwind_SetGR _Unwind_SetIP }

#[cfg(target_arch = "arm")]
never! {
    _Unwind_Complete _Unwind_VRS_Get _Unwind_VRS_Pop _Unwind_VRS_Set __aeabi_unwind_cpp_pr0 __aeabi_unwind_cpp_pr1
    __aeabi_unwind_cpp_pr2 __gnu_unwind_frame
}
