//! `latprobe follow DIR --segment N --from BYTE [--max BYTES]`: one piece of a stream, and no more.

use super::dir::RunDir;
use crate::{
    args::Args,
    error::{Doing, Error, Result},
};
use latprobe::status::Follow;
use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
};

const DEFAULT_MAX: u64 = 4 << 20;

pub(crate) fn follow(mut args: Args) -> Result<()> {
    let segment = args.number("--segment")?.unwrap_or(0);
    let from = args.number("--from")?.unwrap_or(0);
    let max = args.number("--max")?.unwrap_or(DEFAULT_MAX);
    let dir = RunDir::open(&args.path("DIR")?)?;
    args.finish()?;
    let segment = u32::try_from(segment)
        .map_err(|_| Error::Usage(format!("latprobe follow: --segment {segment}: no such segment")))?;
    // Before the length: a run that is over in this answer has no bytes beyond those of this answer's file.
    let status = dir.status()?;
    let path = dir.stream(segment);
    let mut file = File::open(&path).doing(|| path.display().to_string())?;
    let length = file.metadata().doing(|| path.display().to_string())?.len();
    if from > length {
        return Err(Error::Range { path, from, length });
    }
    let bytes = (length - from).min(max);
    let mut send = || {
        let mut out = io::stdout().lock();
        let mut line = serde_json::to_vec(&Follow { status: status.clone(), segment, from, bytes })?;
        line.push(b'\n');
        out.write_all(&line)?;
        file.seek(SeekFrom::Start(from))?;
        let sent = io::copy(&mut Read::by_ref(&mut file).take(bytes), &mut out)?;
        // A stream only grows: fewer bytes is a damaged file system, and the reader counts them too.
        if sent < bytes { Err(io::ErrorKind::UnexpectedEof.into()) } else { out.flush() }
    };
    send().doing(|| format!("cannot send {}", path.display()))
}
