//! Disk images, made without mounting anything.

use crate::{paths, shell, tools};
use anyhow::{Context, Result};
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::process::Command;

const SECTOR: u64 = 512;
/// Where the partition begins, in sectors: 1 MiB.
const FIRST_SECTOR: u32 = 2048;
const BOOT_DISK_SECTORS: u32 = 160 * 2048;
const DATA_DISK_BYTES: u64 = 64 << 20;

/// An ext4 file system over the whole disk.
pub(crate) fn plain(image: &Path) -> Result<()> {
    File::create(image)
        .and_then(|file| file.set_len(DATA_DISK_BYTES))
        .with_context(|| format!("cannot make {}", image.display()))?;
    shell::output(Command::new(tools::program("mkfs.ext4")?).args(["-q", "-F"]).arg(image))?;
    Ok(())
}

/// A disk with one bootable partition that holds a copy of `folder`: boot loaders do not find a disk without a partition table.
pub(crate) fn with_partition(image: &Path, folder: &Path) -> Result<()> {
    let mut file = File::create(image).with_context(|| format!("cannot make {}", image.display()))?;
    file.set_len(u64::from(BOOT_DISK_SECTORS) * SECTOR)?;
    let size = BOOT_DISK_SECTORS - FIRST_SECTOR;
    shell::output(
        Command::new(tools::program("mkfs.ext4")?)
            .args(["-q", "-F", "-E"])
            .arg(format!("offset={},root_owner=0:0", u64::from(FIRST_SECTOR) * SECTOR))
            .arg("-d")
            .arg(folder)
            .arg(image)
            .arg(format!("{}k", size / 2)),
    )?;
    file.seek(SeekFrom::Start(446))?;
    file.write_all(&partition(FIRST_SECTOR, size)).with_context(|| format!("cannot write {}", image.display()))?;
    paths::set_mode(image, 0o600)
}

/// Partition table from byte 446 on: one bootable Linux partition, and the signature.
fn partition(first: u32, size: u32) -> [u8; 66] {
    let mut table = [0; 66];
    table[0] = 0x80; // bootable
    table[1..4].copy_from_slice(&[0xfe, 0xff, 0xff]); // no cylinders and heads: use the sector numbers
    table[4] = 0x83; // Linux
    table[5..8].copy_from_slice(&[0xfe, 0xff, 0xff]);
    table[8..12].copy_from_slice(&first.to_le_bytes());
    table[12..16].copy_from_slice(&size.to_le_bytes());
    table[64..].copy_from_slice(&[0x55, 0xaa]);
    table
}
