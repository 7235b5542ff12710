//! Where things are: the checkout, and the cache for all that is fetched or keeps state.

use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// The checkout this xtask was built from.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package lies in a workspace")
}

/// `$XDG_CACHE_HOME/latlab` or `~/.cache/latlab`.
pub(crate) fn cache() -> Result<PathBuf> {
    let base = match std::env::var_os("XDG_CACHE_HOME").filter(|value| !value.is_empty()) {
        Some(directory) => PathBuf::from(directory),
        None => PathBuf::from(std::env::var_os("HOME").context("HOME and XDG_CACHE_HOME are not set")?).join(".cache"),
    };
    Ok(base.join("latlab"))
}

/// Makes a directory and its parents.
pub(crate) fn make(directory: &Path) -> Result<()> {
    std::fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))
}

/// Writes a file, with the path in the error.
pub(crate) fn write(file: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    std::fs::write(file, content).with_context(|| format!("cannot write {}", file.display()))
}

/// Reads a text file, with the path in the error.
pub(crate) fn read(file: &Path) -> Result<String> {
    std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}

/// Removes a directory if it is there.
pub(crate) fn remove(directory: &Path) -> Result<()> {
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", directory.display()))
        }
        _ => Ok(()),
    }
}

/// Gives a file its permission bits.
pub(crate) fn set_mode(file: &Path, mode: u32) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(mode))
        .with_context(|| format!("cannot set mode {mode:o} on {}", file.display()))
}
