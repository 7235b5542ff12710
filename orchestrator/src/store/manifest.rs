use super::{StoreError, files};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// Version of `manifest.json`.
pub const MANIFEST_FORMAT: u32 = 1;

/// `manifest.json`: what a finished run consists of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`MANIFEST_FORMAT`].
    pub format: u32,
    /// Execution it belongs to.
    pub execution: String,
    /// Name of the run.
    pub run: String,
    /// Cell, by name.
    pub cell: String,
    /// Target, by name.
    pub target: String,
    /// When the run was closed: UTC, RFC 3339.
    pub closed: String,
    /// Every file but this one, by path below the run directory, ascending.
    pub files: Vec<ManifestFile>,
}

/// One file of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestFile {
    /// Below the run directory.
    pub path: String,
    /// Length.
    pub bytes: u64,
    /// Hexadecimal.
    pub sha256: String,
}

/// Hashes every regular file below `directory` except the manifest and temporary ones.
pub(super) fn list(directory: &Path) -> Result<Vec<ManifestFile>, StoreError> {
    let mut files = Vec::new();
    walk(directory, directory, &mut files)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn walk(root: &Path, directory: &Path, out: &mut Vec<ManifestFile>) -> Result<(), StoreError> {
    let read = |source| StoreError::read(directory, source);
    for entry in std::fs::read_dir(directory).map_err(read)? {
        let entry = entry.map_err(read)?;
        let (path, name) = (entry.path(), entry.file_name());
        if entry.file_type().map_err(read)?.is_dir() {
            walk(root, &path, out)?;
        } else if name != "manifest.json"
            && std::fs::metadata(&path).is_ok_and(|about| about.is_file())
            && !name.to_string_lossy().starts_with(".new-")
        {
            let content = files::read(&path)?;
            let below: PathBuf = path.strip_prefix(root).unwrap_or(&path).to_owned();
            out.push(ManifestFile {
                path: below.to_string_lossy().into_owned(),
                bytes: content.len() as u64,
                sha256: sha256_hex(&content),
            });
        }
    }
    Ok(())
}

/// SHA-256 in hexadecimal.
pub(crate) fn sha256_hex(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}
