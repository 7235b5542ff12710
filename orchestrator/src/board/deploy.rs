//! The probe onto the board, by its hash, through nothing but `sh`, `cat` and `mv`.

use super::probe_binary::{arch_of_machine, triple};
use super::{Board, BoardError, ProbeBinary, error::arch_name};
use crate::store::sha256_hex;
use crate::transport::{Output, Request};
use latlab_core::target::Arch;
use std::time::Duration;

/// Tried in this order where the target names none.
const WORK_DIRS: [&str; 3] = ["/var/lib/latlab", "/var/tmp", "/tmp"];
/// Room for the stream of a long run, logs and facts beside the probe, in KiB.
const SPARE_KIB: u64 = 8 << 10;

/// Makes a private directory and says what stands in the way, else its free space in KiB and the hash of a probe that is there.
/// `[ -O ]`: in /tmp somebody else may have made it first.
const SURVEY: &str = r#"
d=$1 p=$2
umask 077
mkdir -p "$d/runs" 2>&1 || exit 10
[ -d "$d" ] && [ ! -L "$d" ] && [ -O "$d" ] || { echo "$d belongs to somebody else"; exit 10; }
t=$d/.try.$$
{ echo x >"$t"; } 2>&1 || exit 10
rm -f "$t"
echo "free $(df -Pk "$d" 2>/dev/null | awk 'END { print $4 }' 2>/dev/null)"
[ -f "$p" ] && { echo "have $(sha256sum <"$p" 2>/dev/null)"; }
exit 0
"#;

/// Temporary name and rename: a probe that runs is never written to, and none is ever half there. Synced before and after
/// the rename: a board that is reset soon afterwards would come back with an empty file under the right name.
const UPLOAD: &str = r#"
set -e
umask 077
f=$1 t=$1.new.$$
trap 'rm -f "$t"' EXIT
cat >"$t"
chmod "$2" "$t"
sync "$t" 2>/dev/null || sync
mv -f "$t" "$f"
trap - EXIT
sync "${f%/*}" 2>/dev/null || sync
sha256sum <"$f" 2>/dev/null || echo none
"#;

/// Older probes go once nothing runs: flash is small. The one in place stays for the next execution.
const TIDY: &str = r#"
[ -z "$(ls -A "$1/runs" 2>/dev/null)" ] || exit 0
for f in "$1"/latprobe-*; do
  [ "$f" = "$2" ] || rm -f "$f"
done
"#;

/// A probe in place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deployed {
    /// Work directory on the board.
    pub work_dir: String,
    /// Every directory that may be the work directory, in order.
    pub candidates: Vec<String>,
    /// Path of the probe there.
    pub probe: String,
    /// Its hash.
    pub sha256: String,
    /// What it says of itself.
    pub version: String,
    /// Instruction set of the board.
    pub arch: Arch,
    /// It was not there before.
    pub uploaded: bool,
    /// Work directories that were passed over, with the reason.
    pub passed_over: Vec<String>,
}

impl Deployed {
    /// What it says of itself, and its hash: two probes of one version may differ.
    pub fn version_and_hash(&self) -> String {
        format!("{}, SHA-256 {}", self.version, self.sha256)
    }
}

enum NotHere {
    /// The next directory may do.
    Directory(String),
    /// No directory will help.
    Board(BoardError),
}

impl From<BoardError> for NotHere {
    fn from(error: BoardError) -> Self {
        Self::Board(error)
    }
}

impl Board {
    /// Puts the probe into the first work directory where it runs.
    pub async fn deploy(&self) -> Result<Deployed, BoardError> {
        let arch = self.arch().await?;
        let binary = self.probes.get(arch)?;
        let configured = &self.target().work_dirs;
        let defaults = || WORK_DIRS.iter().map(|dir| (*dir).to_owned()).collect();
        let directories: Vec<String> = if configured.is_empty() { defaults() } else { configured.clone() };
        let candidates: Vec<String> = directories.iter().map(|directory| own_directory(directory)).collect();
        let mut passed_over = Vec::new();
        for (directory, own) in directories.iter().zip(&candidates) {
            match self.deploy_into(own, &binary).await {
                Ok((probe, version, uploaded)) => {
                    return Ok(Deployed {
                        work_dir: own.clone(),
                        candidates,
                        probe,
                        sha256: binary.sha256.clone(),
                        version,
                        arch,
                        uploaded,
                        passed_over,
                    });
                }
                Err(NotHere::Directory(reason)) => passed_over.push(format!("{directory}: {reason}")),
                Err(NotHere::Board(error)) => return Err(error),
            }
        }
        Err(BoardError::NoWorkDir { tried: passed_over })
    }

    /// Removes probes of other versions where no run is left that may need them.
    pub async fn tidy(&self, deployed: &Deployed) -> Result<(), BoardError> {
        self.exec(Request::script(TIDY, &[&deployed.work_dir, &deployed.probe])).await?;
        Ok(())
    }

    async fn arch(&self) -> Result<Arch, BoardError> {
        let answer = self.exec(Request::new(["uname", "-m"])).await?;
        let machine = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
        if !answer.success() || machine.is_empty() || machine.len() > 64 || machine.contains('\n') {
            return Err(BoardError::garbage("uname -m", &answer.stdout));
        }
        let Some(found) = arch_of_machine(&machine) else {
            return Err(BoardError::UnsupportedMachine { machine });
        };
        match self.target().arch {
            Some(asked) if asked != found => Err(BoardError::OtherArch { asked: arch_name(asked), found: machine }),
            _ => Ok(found),
        }
    }

    async fn deploy_into(&self, directory: &str, binary: &ProbeBinary) -> Result<(String, String, bool), NotHere> {
        let probe = format!("{directory}/latprobe-{}", &binary.sha256[..16]);
        let survey = self.exec(Request::script(SURVEY, &[directory, &probe])).await?;
        let text = String::from_utf8_lossy(&survey.stdout).into_owned();
        match survey.status {
            0 => {}
            10 => return Err(NotHere::Directory(reason(&text))),
            _ => return Err(NotHere::Directory(survey.complaint())),
        }
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let have = field("have ").and_then(|text| text.split_whitespace().next());
        let uploaded = have != Some(binary.sha256.as_str());
        if uploaded {
            let needed = binary.content.len() as u64 / 1024 + SPARE_KIB;
            // A board without df or awk says nothing: a full disk then shows at the upload.
            if let Some(free) = field("free ").and_then(|kib| kib.parse::<u64>().ok()).filter(|free| *free < needed) {
                return Err(NotHere::Directory(format!("only {free} KiB free, {needed} KiB are needed")));
            }
            match self.upload(&probe, &binary.content, "755").await {
                Err(BoardError::Upload { complaint, .. }) => return Err(NotHere::Directory(complaint)),
                other => other?,
            }
        }
        let version = self.probe_version(&probe).await?;
        Ok((probe, version, uploaded))
    }

    async fn probe_version(&self, probe: &str) -> Result<String, NotHere> {
        // Through a shell: its exit codes tell a noexec mount (126) from everything else.
        let answer = self.exec(Request::script("exec \"$1\" --version", &[probe])).await?;
        let text = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
        if answer.success() && text.starts_with("latprobe ") && text.len() < 200 {
            return Ok(text);
        }
        if answer.success() {
            return Err(BoardError::garbage("latprobe --version", &answer.stdout).into());
        }
        let complaint = answer.complaint();
        if complaint.contains("ermission denied") {
            return Err(NotHere::Directory(format!(
                "programs cannot be run there, is it mounted noexec? ({complaint})"
            )));
        }
        let remedy = does_not_run(&answer);
        Err(BoardError::ProbeDoesNotRun { complaint, remedy }.into())
    }

    /// Writes a file on the board and checks that it arrived.
    pub(super) async fn upload(&self, path: &str, content: &[u8], mode: &str) -> Result<(), BoardError> {
        // 1 MiB takes seconds over a slow serial-speed link; a loaded board needs patience.
        let time = Duration::from_secs(60 + content.len() as u64 / 50_000);
        let request = Request::script(UPLOAD, &[path, mode]).stdin(content).timeout(time);
        let answer = self.exec(request).await?;
        if !answer.success() {
            return Err(BoardError::Upload { path: path.to_owned(), complaint: answer.complaint() });
        }
        let expected = sha256_hex(content);
        let text = String::from_utf8_lossy(&answer.stdout);
        let found = match text.split_whitespace().next() {
            Some("none") | None => self.hash_by_reading(path, content.len()).await?,
            Some(hash) => hash.to_owned(),
        };
        match found == expected {
            true => Ok(()),
            false => Err(BoardError::UploadDamaged { path: path.to_owned(), expected, found }),
        }
    }

    /// For boards without sha256sum.
    async fn hash_by_reading(&self, path: &str, length: usize) -> Result<String, BoardError> {
        let time = Duration::from_secs(60 + length as u64 / 50_000);
        let request = Request::script("cat \"$1\"", &[path]).timeout(time).max_output(length + 4096);
        let answer = self.exec(request).await?;
        Ok(sha256_hex(&answer.stdout))
    }
}

/// Ours alone: a directory that everybody uses gets one of our own in it.
fn own_directory(directory: &str) -> String {
    let trimmed = directory.trim_end_matches('/');
    match trimmed.rsplit('/').next() {
        Some("latlab") => trimmed.to_owned(),
        _ => format!("{trimmed}/latlab"),
    }
}

fn reason(text: &str) -> String {
    let last = text.lines().last().unwrap_or("not writable").trim();
    // `sh: 5: cannot create /x/.try.123: Read-only file system` → the part that matters.
    last.rsplit(": ").next().unwrap_or(last).to_owned()
}

fn does_not_run(answer: &Output) -> &'static str {
    match answer.status {
        127 => "it needs a loader that the board has not: use a static probe (`cargo xtask cross`)",
        126 | 2 => "it is made for another kind of machine, or the board's kernel is too old for it",
        _ => "run it by hand on the board to see why",
    }
}

/// The platform that a deployed probe was built for.
impl Deployed {
    /// Rust's name of it.
    pub fn triple(&self) -> &'static str {
        triple(self.arch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_directories_get_one_of_our_own() {
        for (given, own) in [
            ("/var/lib/latlab", "/var/lib/latlab"),
            ("/tmp", "/tmp/latlab"),
            ("/data/", "/data/latlab"),
            ("/", "/latlab"),
        ] {
            assert_eq!(own_directory(given), own);
        }
    }
}
