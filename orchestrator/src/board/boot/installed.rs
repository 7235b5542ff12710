//! Kernels that latlab puts beside those of the board: one directory per content, named by its hash, never over anything.

use super::BootError;
use super::kept::exec;
use crate::board::{Board, BoardError};
use crate::store::sha256_hex;
use crate::transport::Request;
use latlab_core::boot::Files;
use latlab_core::facts::INSTALLED_CONFIG;
use latlab_core::target::{BootMethod, Install};
use latprobe::status::Capture;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Last of a kernel's files to be written: where it is, the others are whole.
const RECORD: &str = "latlab.json";
const TIME: Duration = Duration::from_secs(300);

/// Where the file system of `$1` is mounted.
const MOUNTED: &str = r#"df -P "$1" 2>/dev/null | awk 'END { print $NF }'"#;

/// Release of an archive of modules.
const RELEASE: &str = r#"tar -tf "$1" | sed -n 's#^\(\./\)*lib/modules/\([^/][^/]*\)/.*#\2#p' | head -n 1"#;

/// Unpacks an archive of modules; 3: others of that release are there.
const UNPACK: &str = r#"
set -e
d=/lib/modules/$2
if [ -d "$d" ]; then [ -e "$d/latlab-$3" ] || exit 3; exit 0; fi
mkdir -p "$d"
: >"$d/latlab-$3"
tar -C / -xf "$1"
command -v depmod >/dev/null && depmod "$2" || true
sync
"#;

/// Every record, one per line.
const LIST: &str = r#"for f in "$1"/*/latlab.json; do [ -f "$f" ] && cat "$f" && echo; done; true"#;

const REMOVE: &str = r#"
set -e
rm -rf -- "$1"
[ -z "$2" ] || [ ! -e "/lib/modules/$2/latlab-$3" ] || rm -rf -- "/lib/modules/$2"
rmdir "${1%/*}" 2>/dev/null || true
sync
"#;

/// A kernel that latlab put on a board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InstalledKernel {
    /// First 16 digits of the SHA-256 of all its files; name of its directory.
    pub(crate) hash: String,
    /// Variant that it was installed for.
    pub(crate) kernel: String,
    /// When: UTC, by the host's clock.
    pub(crate) installed: String,
    /// Names in the directory.
    pub(crate) files: Vec<String>,
    /// Release of its modules.
    pub(crate) modules: Option<String>,
    /// All files together, in bytes.
    pub(crate) bytes: u64,
}

/// A file of this host with its name on the board.
struct File {
    name: &'static str,
    content: Vec<u8>,
}

fn read(kernel: &str, install: &Install) -> Result<Vec<File>, BootError> {
    let named = [
        ("image", Some(&install.image)),
        ("initrd", install.initrd.as_ref()),
        ("device-tree", install.device_tree.as_ref()),
        ("modules.tar", install.modules.as_ref()),
        ("config", install.config.as_ref()),
    ];
    let mut files = Vec::new();
    for (name, path) in named {
        let Some(path) = path else { continue };
        let content = std::fs::read(path).map_err(|source| BootError::InstallFile {
            kernel: kernel.to_owned(),
            path: path.clone(),
            source,
        })?;
        files.push(File { name, content });
    }
    Ok(files)
}

fn hash(files: &[File]) -> String {
    let list: String = files.iter().map(|file| format!("{} {}\n", file.name, sha256_hex(&file.content))).collect();
    sha256_hex(list.as_bytes())[..16].to_owned()
}

/// Directory on the board, and what the boot loader calls it: it sees the file system, not the mount.
async fn place(board: &Board) -> Result<(String, String), BootError> {
    let raspberrypi = board.target.boot_method == BootMethod::Raspberrypi;
    let usual = if raspberrypi { "/boot/firmware" } else { "/boot" };
    // `/boot/extlinux/extlinux.conf` and `/boot/grub/grub.cfg` lie one deeper than the kernels.
    let folder = |path: &str| {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let deeper = ["/extlinux", "/grub", "/grub2"].iter().find_map(|name| folder.strip_suffix(name));
        deeper.unwrap_or(folder).to_owned()
    };
    let boot = board.target.boot.file.as_deref().map_or(usual.to_owned(), folder);
    let boot = boot.as_str();
    let answer = exec(&board.transport, Request::script(MOUNTED, &[boot])).await?;
    let text = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
    let inside = match (board.target.boot_method, text.as_str()) {
        // kexec opens the files as everybody does.
        (BootMethod::Kexec, _) | (_, "/" | "") => boot,
        (_, mounted) => boot.strip_prefix(mounted).unwrap_or(boot),
    };
    let inside = format!("{inside}/latlab");
    // The firmware of a Raspberry Pi names files from the root of its partition, without a slash.
    let inside = if raspberrypi { inside.trim_start_matches('/').to_owned() } else { inside };
    Ok((format!("{boot}/latlab"), inside))
}

/// Puts a variant's kernel there, unless it is; its files as the boot loader names them.
pub(super) async fn install(board: &Board, kernel: &str, install: &Install) -> Result<Files, BootError> {
    let files = read(kernel, install)?;
    let hash = hash(&files);
    let (folder, inside) = place(board).await?;
    let folder = format!("{folder}/{hash}");
    let there = list(board).await?.into_iter().any(|known| known.hash == hash);
    if !there {
        let made = exec(&board.transport, Request::script("mkdir -p \"$1\"", &[&folder])).await?;
        if !made.success() {
            return Err(BootError::File { verb: "write", file: folder, complaint: made.complaint() });
        }
        for file in &files {
            board.upload(&format!("{folder}/{}", file.name), &file.content, "644").await?;
        }
        let modules = match &install.modules {
            Some(_) => Some(unpack(board, kernel, &format!("{folder}/modules.tar"), &hash).await?),
            None => None,
        };
        let record = InstalledKernel {
            hash: hash.clone(),
            kernel: kernel.to_owned(),
            installed: crate::store::now(),
            files: files.iter().map(|file| file.name.to_owned()).collect(),
            modules,
            bytes: files.iter().map(|file| file.content.len() as u64).sum(),
        };
        let text =
            serde_json::to_vec(&record).map_err(|error| BoardError::garbage(RECORD, error.to_string().as_bytes()))?;
        board.upload(&format!("{folder}/{RECORD}"), &text, "644").await?;
    }
    let named = |name: &str| files.iter().any(|file| file.name == name).then(|| format!("{inside}/{hash}/{name}"));
    Ok(Files { image: named("image"), initrd: named("initrd"), device_tree: named("device-tree") })
}

/// The release of the modules that are unpacked now.
async fn unpack(board: &Board, kernel: &str, archive: &str, hash: &str) -> Result<String, BootError> {
    let what = |name: &str| format!("{name} of kernel.{kernel}.install.modules on the board");
    let answer = exec(&board.transport, Request::script(RELEASE, &[archive]).timeout(TIME)).await?;
    let release = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
    if release.is_empty() {
        let complaint = format!("it holds no lib/modules/RELEASE: {}", answer.complaint());
        return Err(BootError::Program { what: what("tar -t"), complaint });
    }
    let answer = exec(&board.transport, Request::script(UNPACK, &[archive, &release, hash]).timeout(TIME)).await?;
    match answer.status {
        0 => Ok(release),
        3 => {
            let directory = format!("/lib/modules/{release}");
            Err(BootError::ModulesThere { kernel: kernel.to_owned(), release, directory })
        }
        _ => Err(BootError::Program { what: what("tar -x"), complaint: answer.complaint() }),
    }
}

async fn list(board: &Board) -> Result<Vec<InstalledKernel>, BootError> {
    let (folder, _) = place(board).await?;
    let answer = exec(&board.transport, Request::script(LIST, &[&folder])).await?;
    let text = String::from_utf8_lossy(&answer.stdout);
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let parsed = lines.map(|line| serde_json::from_str(line).map_err(|_| BoardError::garbage(RECORD, line.as_bytes())));
    Ok(parsed.collect::<Result<_, _>>()?)
}

impl Board {
    /// The configuration that the target file gives with a kernel, as a fact.
    pub(crate) fn installed_config(&self, kernel: &str) -> Option<Capture> {
        let path = self.target.kernels.get(kernel)?.install.as_ref()?.config.as_ref()?;
        let (text, error) = match std::fs::read_to_string(path) {
            Ok(text) => (Some(text), None),
            Err(error) => (None, Some(error.to_string())),
        };
        Some(Capture { path: INSTALLED_CONFIG.to_owned(), text, error })
    }

    /// Kernels that latlab put there.
    pub(crate) async fn installed_kernels(&self) -> Result<Vec<InstalledKernel>, BootError> {
        list(self).await
    }

    /// Removes one of them.
    pub(crate) async fn remove_kernel(&self, kernel: &InstalledKernel) -> Result<(), BootError> {
        let (folder, _) = place(self).await?;
        let folder = format!("{folder}/{}", kernel.hash);
        let modules = kernel.modules.as_deref().unwrap_or_default();
        let answer = exec(&self.transport, Request::script(REMOVE, &[&folder, modules, &kernel.hash])).await?;
        match answer.success() {
            true => Ok(()),
            false => Err(BootError::File { verb: "write", file: folder, complaint: answer.complaint() }),
        }
    }
}
