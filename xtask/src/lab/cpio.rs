//! Writes cpio archives (format `newc`) as the kernel unpacks them into its first root file system.
//! Everything belongs to root, whoever builds it.

use anyhow::{Context, Result, bail};
use std::path::Path;

const S_IFDIR: u32 = 0o040_000;
const S_IFREG: u32 = 0o100_000;
const S_IFLNK: u32 = 0o120_000;

/// An archive being written.
#[derive(Default)]
pub(crate) struct Archive {
    bytes: Vec<u8>,
    inode: u32,
    directories: std::collections::BTreeSet<String>,
}

impl Archive {
    /// Adds a directory and those above it.
    pub(crate) fn directory(&mut self, path: &str) -> Result<()> {
        let mut whole = String::new();
        for part in path.split('/').filter(|part| !part.is_empty()) {
            if !whole.is_empty() {
                whole.push('/');
            }
            whole.push_str(part);
            if self.directories.insert(whole.clone()) {
                self.entry(&whole, S_IFDIR | 0o755, &[])?;
            }
        }
        Ok(())
    }

    /// Adds a file with these permission bits.
    pub(crate) fn file(&mut self, path: &str, mode: u32, content: &[u8]) -> Result<()> {
        self.parent(path)?;
        self.entry(path, S_IFREG | mode, content)
    }

    /// Adds a copy of a file on this machine.
    pub(crate) fn copy(&mut self, path: &str, mode: u32, from: &Path) -> Result<()> {
        let content = std::fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
        self.file(path, mode, &content)
    }

    /// Adds a symbolic link.
    pub(crate) fn link(&mut self, path: &str, to: &str) -> Result<()> {
        self.parent(path)?;
        self.entry(path, S_IFLNK | 0o777, to.as_bytes())
    }

    /// The whole archive.
    pub(crate) fn finish(mut self) -> Result<Vec<u8>> {
        self.entry("TRAILER!!!", 0, &[])?;
        while !self.bytes.len().is_multiple_of(512) {
            self.bytes.push(0);
        }
        Ok(self.bytes)
    }

    fn parent(&mut self, path: &str) -> Result<()> {
        match path.rsplit_once('/') {
            Some((parent, _)) => self.directory(parent),
            None => Ok(()),
        }
    }

    fn entry(&mut self, path: &str, mode: u32, content: &[u8]) -> Result<()> {
        if path.starts_with('/') {
            bail!("archive paths are relative: {path}");
        }
        let size = u32::try_from(content.len()).with_context(|| format!("{path} is too large for an archive"))?;
        let name_size = u32::try_from(path.len() + 1).context("name too long")?;
        self.inode += 1;
        let links = if mode & S_IFDIR == S_IFDIR { 2 } else { 1 };
        self.bytes.extend_from_slice(b"070701");
        for field in [self.inode, mode, 0, 0, links, 0, size, 0, 0, 0, 0, name_size, 0] {
            self.bytes.extend_from_slice(format!("{field:08X}").as_bytes());
        }
        self.bytes.extend_from_slice(path.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(content);
        self.pad();
        Ok(())
    }

    fn pad(&mut self) {
        while !self.bytes.len().is_multiple_of(4) {
            self.bytes.push(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_is_newc() {
        let mut archive = Archive::default();
        archive.file("etc/x", 0o600, b"abc").unwrap();
        archive.link("bin/sh", "busybox").unwrap();
        let bytes = archive.finish().unwrap();
        assert_eq!(bytes.len() % 512, 0);
        // Magic and 13 fields, then the name: the first entry is the folder.
        assert_eq!(&bytes[..6], b"070701");
        assert_eq!(&bytes[110..114], b"etc\0");
        // Header and name take 114 bytes, padded to 116: the next entry begins there.
        assert_eq!(&bytes[116..122], b"070701");
        assert_eq!(&bytes[116 + 14..116 + 22], b"00008180");
        assert_eq!(&bytes[116 + 110..116 + 116], b"etc/x\0");
        assert_eq!(&bytes[232..235], b"abc");
        assert!(bytes.windows(11).any(|window| window == b"TRAILER!!!\0"));
    }

    #[test]
    fn absolute_paths_are_refused() {
        assert!(Archive::default().file("/x", 0o644, b"").is_err());
    }
}
