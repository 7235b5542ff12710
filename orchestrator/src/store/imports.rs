//! Foreign results: the raw file, and what was read from it.

use super::{Store, StoreError, files};
use latlab_core::formats::{Measurement, RULES_VERSION};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Version of `import.json`.
const IMPORT_FORMAT: u32 = 1;

/// `imports/<sha256>/import.json`.
#[derive(Debug, Serialize)]
struct Import<'a> {
    format: u32,
    /// The file as it was called.
    file: String,
    sha256: &'a str,
    latlab: &'static str,
    rules_version: u32,
    measurements: Vec<Imported<'a>>,
}

#[derive(Debug, Serialize)]
struct Imported<'a> {
    rule: &'static str,
    line: u64,
    #[serde(flatten)]
    measurement: &'a Measurement,
    /// Of each thread, in the same order: lower edge in ns, samples.
    bins_ns: Vec<&'a [(u64, u64)]>,
}

/// Reads through to another reader and hashes what passes.
pub(crate) struct Hashing<R> {
    reader: R,
    hash: Sha256,
}

impl<R: Read> Hashing<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { reader, hash: Sha256::new() }
    }

    /// The hash of all of it.
    pub(crate) fn finish(mut self) -> io::Result<String> {
        io::copy(&mut self, &mut io::sink())?;
        Ok(hex(self.hash))
    }
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let taken = self.reader.read(buffer)?;
        self.hash.update(&buffer[..taken]);
        Ok(taken)
    }
}

fn hex(hash: Sha256) -> String {
    use std::fmt::Write;
    hash.finalize().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

impl Store {
    /// Keeps an imported file and what was read from it in `imports/<sha256>/`; gives the directory. The raw file comes
    /// first: a directory with `import.json` is whole.
    pub(crate) fn keep_import(
        &self,
        file: &Path,
        sha256: &str,
        measurements: &[Measurement],
    ) -> Result<PathBuf, StoreError> {
        let directory = self.root().join("imports").join(sha256);
        let raw = directory.join("raw");
        copy_whole(file, &raw, sha256)?;
        let measurements = measurements
            .iter()
            .map(|measurement| Imported {
                rule: measurement.rule,
                line: measurement.line,
                measurement,
                bins_ns: measurement.threads.iter().map(|thread| thread.bins.as_slice()).collect(),
            })
            .collect();
        let import = Import {
            format: IMPORT_FORMAT,
            file: file.display().to_string(),
            sha256,
            latlab: env!("CARGO_PKG_VERSION"),
            rules_version: RULES_VERSION,
            measurements,
        };
        files::write_json(&directory.join("import.json"), &import)?;
        Ok(directory)
    }
}

/// Copies through a temporary file; refuses a file that is no longer the one that was read.
fn copy_whole(from: &Path, to: &Path, sha256: &str) -> Result<(), StoreError> {
    if to.exists() {
        return Ok(());
    }
    let directory = to.parent().unwrap_or(Path::new("."));
    let mut source = Hashing::new(File::open(from).map_err(|error| StoreError::read(from, error))?);
    let write = |source: &mut Hashing<File>| -> io::Result<tempfile::NamedTempFile> {
        std::fs::create_dir_all(directory)?;
        let mut copy = tempfile::Builder::new().prefix(".new-").tempfile_in(directory)?;
        io::copy(source, copy.as_file_mut())?;
        copy.flush()?;
        copy.as_file().sync_all()?;
        Ok(copy)
    };
    let copy = write(&mut source).map_err(|error| StoreError::write(to, error))?;
    if source.finish().map_err(|error| StoreError::read(from, error))? != sha256 {
        let changed = io::Error::other("the file changed while it was imported");
        return Err(StoreError::read(from, changed));
    }
    let persist = || -> io::Result<()> {
        let file = copy.persist(to).map_err(|error| error.error)?;
        files::share(&file)?;
        File::open(directory)?.sync_all()
    };
    persist().map_err(|error| StoreError::write(to, error))
}
