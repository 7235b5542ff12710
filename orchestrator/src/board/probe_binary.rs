//! The probe on this host: which file for which board.

use super::BoardError;
use super::error::arch_name;
use crate::store::sha256_hex;
use latlab_core::target::Arch;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// A probe, ready to be sent.
#[derive(Debug, Clone)]
pub struct ProbeBinary {
    /// Where it was found.
    pub path: PathBuf,
    /// Content.
    pub content: Vec<u8>,
    /// SHA-256, hexadecimal.
    pub sha256: String,
}

/// Rust's name of the platform that boards of this kind run.
pub fn triple(arch: Arch) -> &'static str {
    match arch {
        Arch::Armv7 => "armv7-unknown-linux-gnueabihf",
        Arch::Aarch64 => "aarch64-unknown-linux-gnu",
        Arch::X86_64 => "x86_64-unknown-linux-gnu",
    }
}

/// The kind of board that says this to `uname -m`.
pub(super) fn arch_of_machine(machine: &str) -> Option<Arch> {
    match machine {
        "x86_64" | "amd64" => Some(Arch::X86_64),
        "aarch64" | "arm64" => Some(Arch::Aarch64),
        "armv7l" | "armv7hl" | "armv8l" => Some(Arch::Armv7),
        _ => None,
    }
}

/// The probes that were read so far: many boards of a kind share one.
#[derive(Debug, Default)]
pub struct Probes(Mutex<BTreeMap<Arch, Arc<ProbeBinary>>>);

impl Probes {
    /// The probe for `arch`: in `LATLAB_PROBE_DIR`, beside this program, in the build directory.
    pub fn get(&self, arch: Arch) -> Result<Arc<ProbeBinary>, BoardError> {
        let mut read = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(binary) = read.get(&arch) {
            return Ok(Arc::clone(binary));
        }
        let binary = Arc::new(ProbeBinary::find(arch)?);
        read.insert(arch, Arc::clone(&binary));
        Ok(binary)
    }
}

impl ProbeBinary {
    fn find(arch: Arch) -> Result<Self, BoardError> {
        let searched = places(arch);
        match searched.iter().find(|path| path.is_file()) {
            Some(path) => Self::load(path, arch),
            None => Err(BoardError::ProbeMissing { triple: triple(arch), remedy: remedy(arch), searched }),
        }
    }

    fn load(path: &Path, arch: Arch) -> Result<Self, BoardError> {
        let bad = |reason: String| BoardError::BadProbe { path: path.to_owned(), reason };
        let content = std::fs::read(path).map_err(|e| bad(format!("cannot be read: {e}")))?;
        match elf_machine(&content) {
            Some(machine) if machine == expected_machine(arch) => {}
            Some(machine) => {
                let found = machine_name(machine);
                return Err(bad(format!("is a program for {found}, the board is {}", arch_name(arch))));
            }
            None => return Err(bad("is no ELF program".to_owned())),
        }
        let sha256 = sha256_hex(&content);
        Ok(Self { path: path.to_owned(), content, sha256 })
    }
}

fn places(arch: Arch) -> Vec<PathBuf> {
    let mut places = Vec::new();
    if let Some(directory) = std::env::var_os("LATLAB_PROBE_DIR").map(PathBuf::from) {
        places.push(directory.join(triple(arch)).join("latprobe"));
        places.push(directory.join("latprobe"));
        return places;
    }
    let program = std::env::current_exe().and_then(std::fs::canonicalize).unwrap_or_default();
    let beside = program.parent().unwrap_or(Path::new("."));
    places.push(beside.join("probes").join(triple(arch)).join("latprobe"));
    // A program in target/debug or target/release finds target/probes, its tests one level further up.
    let builds = beside.ancestors().skip(1).take(2);
    places.extend(builds.map(|build| build.join("probes").join(triple(arch)).join("latprobe")));
    if triple(arch).starts_with(std::env::consts::ARCH) {
        places.push(beside.join("latprobe"));
    }
    places
}

fn remedy(arch: Arch) -> String {
    let own = triple(arch).starts_with(std::env::consts::ARCH);
    let build = if own { ", or `cargo build --release -p latprobe` for this machine's own kind" } else { "" };
    format!("`cargo xtask cross` makes it{build}; or set LATLAB_PROBE_DIR to where it is")
}

fn elf_machine(content: &[u8]) -> Option<u16> {
    let header: &[u8; 20] = content.first_chunk()?;
    let little_endian = header[5] == 1;
    (header.starts_with(b"\x7fELF") && little_endian).then(|| u16::from_le_bytes([header[18], header[19]]))
}

fn expected_machine(arch: Arch) -> u16 {
    match arch {
        Arch::Armv7 => 40,
        Arch::Aarch64 => 183,
        Arch::X86_64 => 62,
    }
}

fn machine_name(machine: u16) -> String {
    match machine {
        40 => "32-bit ARM".to_owned(),
        183 => "64-bit ARM".to_owned(),
        62 => "x86-64".to_owned(),
        other => format!("ELF machine {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_for_another_machine_is_refused_before_it_is_sent() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("latprobe");
        let mut elf = b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x28\0".to_vec();
        std::fs::write(&path, &elf).unwrap();
        let error = ProbeBinary::load(&path, Arch::X86_64).unwrap_err().to_string();
        assert!(error.ends_with("is a program for 32-bit ARM, the board is x86_64"), "{error}");
        assert!(ProbeBinary::load(&path, Arch::Armv7).is_ok());
        elf.truncate(10);
        std::fs::write(&path, &elf).unwrap();
        assert!(ProbeBinary::load(&path, Arch::Armv7).unwrap_err().to_string().ends_with("is no ELF program"));
    }
}
