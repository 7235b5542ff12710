//! The kernel's tracing, as a hunt uses it.

use std::{
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
};

/// Where tracefs is looked for; the second since before Linux 4.1.
const FOLDERS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// Where tracefs is mounted.
pub(crate) fn folder() -> io::Result<&'static Path> {
    let found = FOLDERS.into_iter().map(Path::new).find(|folder| folder.join("trace_marker").exists());
    found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "tracefs is not mounted"))
}

/// The file of `events/GROUP/NAME` that switches `group:name`.
pub(crate) fn switch(folder: &Path, event: &str) -> PathBuf {
    folder.join("events").join(event.replace(':', "/")).join("enable")
}

/// What a sampling thread needs to end the tracing without opening anything then.
pub(crate) struct Tracing {
    thread: usize,
    marker: File,
    on: File,
}

impl Tracing {
    pub(crate) fn open(thread: usize) -> io::Result<Self> {
        let folder = folder()?;
        let open = |name: &str| File::options().write(true).open(folder.join(name));
        Ok(Self { thread, marker: open("trace_marker")?, on: open("tracing_on")? })
    }

    /// The last entry, then no more. Without the entry the trace still ends here.
    pub(crate) fn stop(&mut self, latency_ns: u64, due_ns: u64) {
        let text = format!("latprobe: thread {} woke {latency_ns} ns late, due at {due_ns} ns\n", self.thread);
        let _ = self.marker.write_all(text.as_bytes());
        let _ = self.on.write_all(b"0");
    }
}
