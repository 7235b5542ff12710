//! Facts that have no file.

use super::checked_int;
use std::{ffi::CString, io, mem::MaybeUninit, os::unix::ffi::OsStrExt, path::Path};

/// `uname(2)`: system, node name, release, version, machine.
pub(crate) fn uname() -> io::Result<[String; 5]> {
    let mut names = MaybeUninit::<libc::utsname>::zeroed();
    // SAFETY: writes one utsname.
    checked_int(unsafe { libc::uname(names.as_mut_ptr()) })?;
    // SAFETY: zeroed before, and all-zero is a valid utsname.
    let names = unsafe { names.assume_init() };
    let text = |field: &[libc::c_char]| {
        let bytes: Vec<u8> = field.iter().take_while(|c| **c != 0).map(|c| c.to_ne_bytes()[0]).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Ok([&names.sysname, &names.nodename, &names.release, &names.version, &names.machine].map(|field| text(field)))
}

/// The newest `limit` bytes of the kernel log, `syslog(2)`.
pub(crate) fn kernel_log(limit: usize) -> io::Result<Vec<u8>> {
    const READ_ALL: libc::c_int = 3;
    let mut buffer = vec![0u8; limit];
    let size = i32::try_from(limit).unwrap_or(i32::MAX);
    // SAFETY: writes at most `size` bytes.
    let length = checked_int(unsafe { libc::klogctl(READ_ALL, buffer.as_mut_ptr().cast(), size) })?;
    buffer.truncate(usize::try_from(length).unwrap_or(0));
    Ok(buffer)
}

/// State of the clock discipline, `adjtimex(2)`: (answer, status, offset, freq, maxerror, esterror).
pub(crate) fn clock_discipline() -> io::Result<(i32, i32, i64, i64, i64, i64)> {
    // SAFETY: all-zero is a valid timex, and modes 0 changes nothing.
    let mut timex: libc::timex = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: reads and writes one timex.
    let state = checked_int(unsafe { libc::adjtimex(&raw mut timex) })?;
    let [offset, freq, maxerror, esterror] = [timex.offset, timex.freq, timex.maxerror, timex.esterror].map(wide);
    Ok((state, timex.status, offset, freq, maxerror, esterror))
}

/// A file system, as it stands now.
pub(crate) struct FileSystem {
    pub(crate) kind: i64,
    pub(crate) total_bytes: u64,
    pub(crate) free_bytes: u64,
    pub(crate) free_inodes: u64,
    pub(crate) read_only: bool,
    pub(crate) no_exec: bool,
}

/// What holds `path`.
pub(crate) fn file_system(path: &Path) -> io::Result<FileSystem> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let mut kind = MaybeUninit::<libc::statfs>::zeroed();
    // SAFETY: reads a terminated string, writes one statfs.
    checked_int(unsafe { libc::statfs(path.as_ptr(), kind.as_mut_ptr()) })?;
    let mut space = MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: reads a terminated string, writes one statvfs.
    checked_int(unsafe { libc::statvfs(path.as_ptr(), space.as_mut_ptr()) })?;
    // SAFETY: zeroed before, and all-zero is valid for both.
    let (kind, space) = unsafe { (kind.assume_init(), space.assume_init()) };
    Ok(FileSystem {
        kind: wide(kind.f_type),
        total_bytes: unsigned(space.f_blocks) * unsigned(space.f_frsize),
        free_bytes: unsigned(space.f_bavail) * unsigned(space.f_frsize),
        free_inodes: unsigned(space.f_favail),
        read_only: space.f_flag & libc::ST_RDONLY != 0,
        no_exec: space.f_flag & libc::ST_NOEXEC != 0,
    })
}

/// C types whose width differs between boards.
fn wide(value: impl Into<i64>) -> i64 {
    value.into()
}

fn unsigned(value: impl Into<u64>) -> u64 {
    value.into()
}
