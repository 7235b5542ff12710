//! The stream file of a segment. What cannot be written waits in memory and is
//! written later at the same place: nothing is lost or doubled by a full disk.

use latprobe::stream::{Encoder, Record};
use std::{
    fs::File,
    io,
    os::unix::fs::FileExt,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::Builder,
};

/// From here on checkpoints wait too: their counts stay in the shared memory.
const MAX_PENDING: usize = 4 << 20;
const STACK_BYTES: usize = 64 << 10;

pub(super) struct Journal {
    file: File,
    encoder: Encoder,
    /// Encoded and not yet in the file.
    pending: Vec<u8>,
    /// Bytes of whole and partial records in the file.
    written: u64,
    /// Of them, bytes that a sync covers, and when it was begun.
    synced: u64,
    synced_at_ns: u64,
    /// A sync is on its way.
    syncing: Arc<AtomicBool>,
    /// Why the last write failed.
    trouble: Option<String>,
}

/// What changed with a flush.
pub(super) enum Change {
    None,
    /// Writing failed for the first time, with the reason.
    Failed(String),
    /// Writing works again.
    Recovered,
}

impl Journal {
    /// A new file; an existing one is never touched.
    pub(super) fn create(path: &Path, now_ns: u64) -> io::Result<Self> {
        let file = File::options().write(true).create_new(true).open(path)?;
        let encoder = Encoder::new();
        Ok(Self {
            file,
            encoder,
            pending: Vec::new(),
            written: 0,
            synced: 0,
            synced_at_ns: now_ns,
            syncing: Arc::default(),
            trouble: None,
        })
    }

    pub(super) fn append(&mut self, record: &Record) {
        self.encoder.append(record, &mut self.pending);
    }

    /// So much waits that no more should be added.
    pub(super) fn is_full(&self) -> bool {
        self.pending.len() > MAX_PENDING
    }

    /// Everything appended is in the file.
    pub(super) fn is_written(&self) -> bool {
        self.pending.is_empty()
    }

    /// Writes what waits.
    pub(super) fn flush(&mut self) -> Change {
        let mut done = 0;
        let result = loop {
            match self.file.write_at(&self.pending[done..], self.written) {
                Ok(0) if done < self.pending.len() => break Err(io::Error::from(io::ErrorKind::WriteZero)),
                Ok(0) => break Ok(()),
                Ok(length) => {
                    done += length;
                    self.written += length as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        self.pending.drain(..done);
        match result {
            Ok(()) if self.trouble.take().is_some() => Change::Recovered,
            Ok(()) => Change::None,
            Err(error) if self.trouble.replace(error.to_string()).is_none() => Change::Failed(error.to_string()),
            Err(_) => Change::None,
        }
    }

    /// Why the last write failed, if it did.
    pub(super) fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// Begins a sync if the last one is `every_ns` ago. It may take many seconds beside a load that writes, so a
    /// thread of its own waits for it: loads must be kept up meanwhile.
    pub(super) fn sync_if_due(&mut self, now_ns: u64, every_ns: u64) {
        let due = self.synced < self.written && now_ns.saturating_sub(self.synced_at_ns) >= every_ns;
        if !due || self.syncing.load(Ordering::Acquire) {
            return;
        }
        let Ok(file) = self.file.try_clone() else { return };
        self.syncing.store(true, Ordering::Release);
        let syncing = self.syncing.clone();
        let sync = move || {
            // A failure shows as the next write's.
            let _ = file.sync_data();
            syncing.store(false, Ordering::Release);
        };
        let started = Builder::new().name("latprobe-sync".into()).stack_size(STACK_BYTES).spawn(sync);
        if started.is_err() {
            self.syncing.store(false, Ordering::Release);
            return;
        }
        (self.synced, self.synced_at_ns) = (self.written, now_ns);
    }

    /// Syncs the file and waits for it.
    pub(super) fn sync(&mut self) {
        if self.file.sync_data().is_ok() {
            self.synced = self.written;
        }
    }
}
