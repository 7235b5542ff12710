//! The state of the board as raw text: the host parses it. What cannot be read says why.

mod figures;
mod files;
mod reader;

use crate::{
    args::Args,
    error::{Doing, Result},
};
use latprobe::status::Capture;
use std::{
    env,
    io::{self, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// Text that one answer holds at most, in bytes.
const MAX_ANSWER: usize = 16 << 20;

/// `latprobe facts [--workdir DIR]... [--since MONO_NS]`
pub(crate) fn facts(mut args: Args) -> Result<()> {
    let since_ns = args.number("--since")?.unwrap_or(0);
    let mut workdirs = Vec::new();
    while let Some(workdir) = args.option("--workdir")? {
        workdirs.push(workdir);
    }
    args.finish()?;
    let mut items = figures::items(&workdirs, since_ns);
    items.extend(files::items());
    let mut out = io::BufWriter::new(io::stdout().lock());
    let (mut room, mut failed) = (MAX_ANSWER, None);
    let mut sink = |mut capture: Capture| {
        let length = capture.text.as_ref().map_or(0, String::len);
        if length > room {
            (capture.text, capture.error) = (None, Some("left out: the answer is full".to_owned()));
        } else {
            room -= length;
        }
        let line = serde_json::to_vec(&capture).map_err(io::Error::from);
        let written = line.and_then(|line| out.write_all(&line)).and_then(|()| out.write_all(b"\n"));
        if let Err(error) = written {
            failed.get_or_insert(error);
        }
    };
    reader::read_all(&items, &mut sink).doing(|| "cannot read the state of the board")?;
    let end = failed.map_or_else(|| out.flush(), Err);
    end.doing(|| "cannot write to standard output")
}

/// Directories that programs are looked for in.
pub(crate) fn search_path() -> String {
    env::var("PATH").unwrap_or_else(|_| "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned())
}

/// Where a program is, as `exec` would find it.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let is_program =
        |path: &Path| path.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0);
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| is_program(path));
    }
    search_path().split(':').map(|dir| Path::new(dir).join(name)).find(|path| is_program(path))
}

/// The usual name of an error: the host tells missing from forbidden by it.
fn reason(error: &io::Error) -> String {
    let names = [
        (libc::ENOENT, "ENOENT"),
        (libc::EACCES, "EACCES"),
        (libc::EPERM, "EPERM"),
        (libc::EINVAL, "EINVAL"),
        (libc::EIO, "EIO"),
        (libc::ENODEV, "ENODEV"),
        (libc::ENXIO, "ENXIO"),
        (libc::EAGAIN, "EAGAIN"),
        (libc::EOPNOTSUPP, "EOPNOTSUPP"),
        (libc::ENOSYS, "ENOSYS"),
        (libc::EBUSY, "EBUSY"),
        (libc::ENODATA, "ENODATA"),
    ];
    let known = names.iter().find(|(number, _)| error.raw_os_error() == Some(*number));
    known.map_or_else(|| error.to_string(), |(_, name)| (*name).to_owned())
}
