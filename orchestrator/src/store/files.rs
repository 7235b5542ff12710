//! Files that are whole or not there.

use super::StoreError;
use serde::{Serialize, de::DeserializeOwned};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Writes to a temporary file, syncs, renames, syncs the directory.
pub(super) fn write_whole(path: &Path, content: &[u8]) -> Result<(), StoreError> {
    let write = || -> io::Result<()> {
        let directory = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(directory)?;
        let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(directory)?;
        file.write_all(content)?;
        file.as_file().sync_all()?;
        // The temporary file is private; results are for everyone the umask allows.
        let file = file.persist(path).map_err(|e| e.error)?;
        share(&file)?;
        File::open(directory)?.sync_all()
    };
    write().map_err(|source| StoreError::write(path, source))
}

pub(super) fn share(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

pub(super) fn write_json(path: &Path, value: &impl Serialize) -> Result<(), StoreError> {
    let mut text = serde_json::to_vec_pretty(value)
        .map_err(|e| StoreError::Damaged { path: path.to_owned(), reason: e.to_string() })?;
    text.push(b'\n');
    write_whole(path, &text)
}

pub(super) fn append_open(path: &Path) -> Result<File, StoreError> {
    refuse_special(path)?;
    let open = || -> io::Result<File> {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        OpenOptions::new().create(true).append(true).read(true).open(path)
    };
    open().map_err(|source| StoreError::write(path, source))
}

/// Appends one JSON line and syncs it.
pub(super) fn append_line(file: &mut File, path: &Path, value: &impl Serialize) -> Result<(), StoreError> {
    let mut line =
        serde_json::to_vec(value).map_err(|e| StoreError::Damaged { path: path.to_owned(), reason: e.to_string() })?;
    line.push(b'\n');
    file.write_all(&line).and_then(|()| file.sync_data()).map_err(|source| StoreError::write(path, source))
}

/// Opening a FIFO waits for its other end, perhaps for ever.
fn refuse_special(path: &Path) -> Result<(), StoreError> {
    match fs::metadata(path) {
        Ok(about) if !about.is_file() => {
            let reason = "it is not a regular file; latlab did not write it: move it away".to_owned();
            Err(StoreError::Damaged { path: path.to_owned(), reason })
        }
        // What is wrong with others shows when they are opened.
        _ => Ok(()),
    }
}

pub(super) fn read(path: &Path) -> Result<Vec<u8>, StoreError> {
    refuse_special(path)?;
    fs::read(path).map_err(|source| StoreError::read(path, source))
}

/// `None` when the file is not there.
pub(super) fn read_optional(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    refuse_special(path)?;
    match fs::read(path) {
        Ok(content) => Ok(Some(content)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(StoreError::read(path, source)),
    }
}

/// JSON of a file that carries `format`; one newer than `known` is refused by its version, before its content.
pub(super) fn read_json<T: DeserializeOwned>(path: &Path, known: Option<u32>) -> Result<T, StoreError> {
    let content = read(path)?;
    let damaged = |e: serde_json::Error| StoreError::Damaged { path: path.to_owned(), reason: e.to_string() };
    if let Some(known) = known {
        #[derive(serde::Deserialize)]
        struct Version {
            format: u32,
        }
        let Version { format: found } = serde_json::from_slice(&content).map_err(damaged)?;
        if found > known {
            return Err(StoreError::Newer { path: path.to_owned(), found, known });
        }
    }
    serde_json::from_slice(&content).map_err(damaged)
}

/// JSON lines; a torn last line (the writer was killed) is dropped, a bad one before it is damage.
pub(super) fn read_lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, StoreError> {
    let Some(content) = read_optional(path)? else { return Ok(Vec::new()) };
    let whole = content.iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
    let mut lines = Vec::new();
    for (number, line) in content[..whole].split(|b| *b == b'\n').enumerate().filter(|(_, l)| !l.is_empty()) {
        let value = serde_json::from_slice(line)
            .map_err(|e| StoreError::Damaged { path: path.to_owned(), reason: format!("line {}: {e}", number + 1) })?;
        lines.push(value);
    }
    Ok(lines)
}
