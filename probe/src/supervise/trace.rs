//! The kernel's trace of a hunt: switched on for it, and its end kept.

use super::dir::RunDir;
use crate::{
    error::{Doing, Error, Result},
    rt::tracing,
};
use latprobe::spec::{Hunt, Setting};
use std::{
    collections::VecDeque,
    fs::File,
    io::{self, Read},
};

/// Kept of a trace: its end, where the latency is.
const KEPT_BYTES: usize = 1 << 20;
/// File of a run's directory that holds it.
pub(super) const FILE: &str = "trace.txt";

/// What is switched for `hunt`, tracing itself last. Put back in the opposite order.
pub(super) fn settings(hunt: &Hunt) -> Vec<Setting> {
    // Without tracefs the hunt was refused before.
    let Ok(folder) = tracing::folder() else { return Vec::new() };
    let setting = |path: std::path::PathBuf, value: &str, optional| Setting {
        path: path.display().to_string(),
        value: value.to_owned(),
        optional,
    };
    let events = hunt.events.iter().map(|event| setting(tracing::switch(folder, event), "1", false));
    let tracer = setting(folder.join("current_tracer"), &hunt.tracer, false);
    std::iter::once(tracer).chain(events).chain([setting(folder.join("tracing_on"), "1", false)]).collect()
}

/// Refuses a hunt that the kernel cannot trace.
pub(super) fn check(hunt: &Hunt) -> Result<()> {
    let refuse = |text: String| Error::Spec { field: "measure.mode.hunt".to_owned(), problem: text };
    let folder = tracing::folder().map_err(|_| {
        refuse(
            "the kernel's tracing is not there: `mount -t tracefs nodev /sys/kernel/tracing` on the board".to_owned(),
        )
    })?;
    let tracers = std::fs::read_to_string(folder.join("available_tracers")).unwrap_or_default();
    if !tracers.split_whitespace().any(|tracer| tracer == hunt.tracer) {
        return Err(refuse(format!("the kernel has no tracer `{}`, it has: {}", hunt.tracer, tracers.trim())));
    }
    match hunt.events.iter().find(|event| !tracing::switch(folder, event).exists()) {
        Some(event) => Err(refuse(format!("the kernel has no event `{event}`"))),
        None => Ok(()),
    }
}

/// Empties the kernel's buffer: what was traced before is not of this hunt.
pub(super) fn clear() -> io::Result<()> {
    File::options().write(true).truncate(true).open(tracing::folder()?.join("trace")).map(drop)
}

/// Keeps the end of the trace with the run.
pub(super) fn keep(dir: &RunDir) -> Result<()> {
    let read = || -> io::Result<Vec<u8>> {
        let mut trace = File::open(tracing::folder()?.join("trace"))?;
        let (mut end, mut piece) = (VecDeque::new(), [0; 1 << 14]);
        loop {
            let length = trace.read(&mut piece)?;
            if length == 0 {
                return Ok(end.into());
            }
            end.extend(&piece[..length]);
            end.drain(..end.len().saturating_sub(KEPT_BYTES));
        }
    };
    let text = read().doing(|| "cannot read the kernel's trace")?;
    dir.replace(FILE, &text)
}
