//! A file that is changed for a while: the original stays beside it as `FILE.latlab-original` until it is put back, and
//! `FILE.latlab-sum` says what latlab wrote, so that nobody else's change is ever overwritten.

use super::BootError;
use crate::board::BoardError;
use crate::store::sha256_hex;
use crate::transport::{Request, Transport};
use std::time::Duration;

/// Largest boot configuration.
const MAX: usize = 4 << 20;
const TIME: Duration = Duration::from_secs(120);

/// Exit code where a file is not there.
const ABSENT: i32 = 3;

/// Where a symbolic link leads: `rename` would replace the link.
const RESOLVE: &str = r#"readlink -f "$1" 2>/dev/null || echo "$1""#;

const READ: &str = r#"[ -f "$1" ] || exit 3; cat "$1""#;

/// Functions of the scripts below. A file system that is mounted read-only is made writable for the moment. `rename` is not
/// safe on FAT: there the file is written in place, synced and read back while the original lies beside it.
const HEAD: &str = r#"
set -e
f=$1
mounted=$(df -P "${f%/*}/" 2>/dev/null | awk 'END { print $NF }') || mounted=
ro=
if ! { echo x >"$f.latlab-try"; } 2>/dev/null; then
  [ -n "$mounted" ] && mount -o remount,rw "$mounted" || { echo "read-only: ${f%/*}" >&2; exit 1; }
  ro=1
fi
rm -f "$f.latlab-try"
done_writing() { sync; [ -z "$ro" ] || mount -o remount,ro "$mounted" || true; }
trap done_writing EXIT
fat() { case $(stat -f -c %T "$f" 2>/dev/null) in msdos|vfat|fat|exfat) return 0;; esac; return 1; }
place() {
  if fat; then cat "$1" >"$2"; sync; cmp -s "$1" "$2" 2>/dev/null || [ "$(cat "$1")" = "$(cat "$2")" ]; rm -f "$1"
  else sync "$1" 2>/dev/null || sync; mv -f "$1" "$2"; fi
  sync
}
"#;

/// Keeps the original, then writes standard input.
const WRITE: &str = r#"
if [ ! -e "$f.latlab-original" ]; then
  cp -p "$f" "$f.latlab-new" && place "$f.latlab-new" "$f.latlab-original"
fi
printf '%s\n' "$2" >"$f.latlab-new" && place "$f.latlab-new" "$f.latlab-sum"
cp -p "$f" "$f.latlab-new"
cat >"$f.latlab-new"
place "$f.latlab-new" "$f"
"#;

/// Writes a file that only latlab uses; nothing is kept.
const WRITE_OWN: &str = r#"
cat >"$f.latlab-new"
place "$f.latlab-new" "$f"
"#;

/// The original in its place again.
const PUT_BACK: &str = r#"
cp -p "$f.latlab-original" "$f.latlab-new" && place "$f.latlab-new" "$f"
rm -f "$f.latlab-original" "$f.latlab-sum"
"#;

const REMOVE: &str = r#"rm -f "$f""#;

/// A file of the board, or of this host.
#[derive(Debug)]
pub(super) struct KeptFile<'a> {
    place: &'a Transport,
    path: String,
}

/// What is there now.
#[derive(Debug)]
pub(super) struct Contents {
    /// As it was before latlab.
    pub(super) original: Vec<u8>,
    /// As it is.
    pub(super) current: Vec<u8>,
    /// latlab has changed it.
    pub(super) changed: bool,
}

impl<'a> KeptFile<'a> {
    /// The file at `path`, links followed.
    pub(super) async fn at(place: &'a Transport, path: &str) -> Result<Self, BootError> {
        let answer = exec(place, Request::script(RESOLVE, &[path])).await?;
        let text = String::from_utf8_lossy(&answer.stdout);
        let path = text.lines().next().filter(|line| line.starts_with('/')).unwrap_or(path).to_owned();
        Ok(Self { place, path })
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    async fn read_at(&self, path: &str) -> Result<Option<Vec<u8>>, BootError> {
        let request = Request::script(READ, &[path]).timeout(TIME).max_output(MAX);
        let answer = exec(self.place, request).await?;
        match answer.status {
            0 => Ok(Some(answer.stdout)),
            ABSENT => Ok(None),
            _ => Err(BootError::File { verb: "read", file: path.to_owned(), complaint: answer.complaint() }),
        }
    }

    /// What is there; an error when somebody else changed what latlab had changed.
    pub(super) async fn read(&self) -> Result<Contents, BootError> {
        let current = self.read_at(&self.path).await?;
        let original = self.read_at(&format!("{}.latlab-original", self.path)).await?;
        let gone =
            || BootError::File { verb: "read", file: self.path.clone(), complaint: "it is not there".to_owned() };
        match (current, original) {
            (None, None) => Err(gone()),
            (Some(current), None) => Ok(Contents { original: current.clone(), current, changed: false }),
            // On FAT, a cut while it was written: the original is whole.
            (None, Some(original)) => Ok(Contents { original, current: Vec::new(), changed: true }),
            (Some(current), Some(original)) => {
                let sum = self.read_at(&format!("{}.latlab-sum", self.path)).await?.unwrap_or_default();
                let sum = String::from_utf8_lossy(&sum).trim().to_owned();
                // Torn or half written by latlab itself: a prefix of what it wrote cannot be told from a foreign change,
                // but an untouched original can.
                let ours = sum == sha256_hex(&current) || current == original || current.is_empty();
                match ours {
                    true => Ok(Contents { original, current, changed: true }),
                    false => Err(BootError::Changed { file: self.path.clone() }),
                }
            }
        }
    }

    async fn write_by(&self, script: &str, sum: &str, content: &[u8]) -> Result<(), BootError> {
        let script = format!("{HEAD}{script}");
        let answer =
            exec(self.place, Request::script(&script, &[&self.path, sum]).stdin(content).timeout(TIME)).await?;
        match answer.success() {
            true => Ok(()),
            false => Err(BootError::File { verb: "write", file: self.path.clone(), complaint: answer.complaint() }),
        }
    }

    /// Changes it, and reads it back.
    pub(super) async fn write(&self, content: &[u8]) -> Result<(), BootError> {
        self.write_by(WRITE, &sha256_hex(content), content).await?;
        self.check(content).await
    }

    /// Writes a file that is latlab's alone, and reads it back.
    pub(super) async fn write_own(&self, content: &[u8]) -> Result<(), BootError> {
        self.write_by(WRITE_OWN, "", content).await?;
        self.check(content).await
    }

    async fn check(&self, content: &[u8]) -> Result<(), BootError> {
        match self.read_at(&self.path).await? {
            Some(found) if found == content => Ok(()),
            _ => {
                let complaint = "it reads back otherwise than it was written".to_owned();
                Err(BootError::File { verb: "write", file: self.path.clone(), complaint })
            }
        }
    }

    /// Removes a file that is latlab's alone.
    pub(super) async fn remove(&self) -> Result<(), BootError> {
        self.write_by(REMOVE, "", &[]).await
    }

    /// The original in its place; whether there was something to do.
    pub(super) async fn put_back(&self) -> Result<bool, BootError> {
        let contents = match self.read().await {
            Ok(contents) => contents,
            // The configuration is gone, and nothing of latlab's is there.
            Err(BootError::File { verb: "read", .. }) if self.read_at(&self.path).await?.is_none() => return Ok(false),
            Err(error) => return Err(error),
        };
        if !contents.changed {
            return Ok(false);
        }
        self.write_by(PUT_BACK, "", &[]).await?;
        self.check(&contents.original).await?;
        Ok(true)
    }
}

/// One command, with its error as the board's.
pub(super) async fn exec(place: &Transport, request: Request<'_>) -> Result<crate::transport::Output, BootError> {
    place.exec(request).await.map_err(|error| BootError::Board(BoardError::Link(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> (tempfile::TempDir, String, Transport) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("extlinux.conf").to_string_lossy().into_owned();
        std::fs::write(&path, "one\n").unwrap();
        (folder, path, Transport::host())
    }

    fn names(folder: &tempfile::TempDir) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[tokio::test]
    async fn the_original_is_kept_and_put_back() {
        let (folder, path, host) = place();
        let file = KeptFile::at(&host, &path).await.unwrap();
        assert!(!file.put_back().await.unwrap());
        file.write(b"two\n").await.unwrap();
        file.write(b"three\n").await.unwrap();
        let contents = file.read().await.unwrap();
        assert_eq!(
            (&contents.original[..], &contents.current[..], contents.changed),
            (&b"one\n"[..], &b"three\n"[..], true)
        );
        assert!(file.put_back().await.unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), b"one\n");
        assert_eq!(names(&folder), ["extlinux.conf"]);
    }

    #[tokio::test]
    async fn nobody_elses_change_is_overwritten() {
        let (_folder, path, host) = place();
        let file = KeptFile::at(&host, &path).await.unwrap();
        file.write(b"two\n").await.unwrap();
        std::fs::write(&path, "by hand\n").unwrap();
        assert!(matches!(file.read().await, Err(BootError::Changed { .. })));
        assert!(matches!(file.put_back().await, Err(BootError::Changed { .. })));
        assert_eq!(std::fs::read(&path).unwrap(), b"by hand\n");
    }

    /// latlab killed, or power cut, between any two steps.
    #[tokio::test]
    async fn what_a_cut_leaves_is_put_back() {
        for (left, content) in [("original only", "one\n"), ("sum of a write that never came", "one\n"), ("torn", "")] {
            let (folder, path, host) = place();
            let file = KeptFile::at(&host, &path).await.unwrap();
            file.write(b"two\n").await.unwrap();
            std::fs::write(&path, content).unwrap();
            if left == "original only" {
                std::fs::remove_file(format!("{path}.latlab-sum")).unwrap();
            }
            assert!(file.put_back().await.unwrap(), "{left}");
            assert_eq!(std::fs::read(&path).unwrap(), b"one\n", "{left}");
            assert_eq!(names(&folder), ["extlinux.conf"], "{left}");
        }
    }

    #[tokio::test]
    async fn a_link_stays_a_link_and_a_missing_file_is_named() {
        let (folder, path, host) = place();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let file = KeptFile::at(&host, &link.to_string_lossy()).await.unwrap();
        file.write(b"two\n").await.unwrap();
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::read(&path).unwrap(), b"two\n");
        let missing = KeptFile::at(&host, "/nonexistent/extlinux.conf").await.unwrap();
        let error = missing.read().await.unwrap_err().to_string();
        assert!(
            error.contains("cannot read the boot configuration /nonexistent/extlinux.conf: it is not there"),
            "{error}"
        );
        assert!(!missing.put_back().await.unwrap());
    }
}
