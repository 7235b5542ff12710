//! Settings changed for a run, and put back however it ends.

use super::dir::{RunDir, boot_id};
use super::others;
use crate::error::{Doing, Error, Result};
use latprobe::spec::{Setting, Spec};
use serde::{Deserialize, Serialize};
use std::{fs, io};

const UNDO: &str = "undo.json";

/// Old and new values, stored before the first change.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Undo {
    boot_id: String,
    pub(super) entries: Vec<Entry>,
}

/// One change.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) kind: Kind,
    /// What is changed: a path, or words for somebody else's thread or process.
    pub(super) path: String,
    pub(super) old: String,
    pub(super) new: String,
    /// The run goes on without it.
    pub(super) optional: bool,
    /// Of a thread or process.
    pub(super) id: i32,
    /// When it was started: ids are used again.
    pub(super) start: u64,
}

/// What an [`Entry`] changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    /// A file below `/proc` or `/sys`.
    File,
    /// The priority of a real-time thread.
    Thread,
    /// Whether a process runs.
    Process,
    /// Whether a service runs: systemd would start a process anew that does not answer its watchdog.
    Service,
}

/// Answer of `latprobe restore`.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Restored {
    /// Paths and the values they have again.
    pub(crate) restored: Vec<(String, String)>,
    /// Paths that could not be put back, with the reason.
    pub(crate) failed: Vec<(String, String)>,
    /// Why nothing had to be done, where that is so.
    pub(crate) note: Option<String>,
}

/// The value in force: of `always [madvise] never` the marked word.
fn current(path: &str) -> io::Result<String> {
    let text = fs::read_to_string(path)?;
    let text = text.trim_end_matches('\n');
    let marked = text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    Ok(marked.unwrap_or(text).to_owned())
}

fn write(path: &str, value: &str) -> io::Result<()> {
    // Lists such as `set_event` are emptied by opening them so.
    let mut file = fs::File::options().write(true).truncate(value.is_empty()).open(path)?;
    // One write call: the kernel takes each as a whole value.
    io::Write::write_all(&mut file, value.as_bytes())
}

/// The same value however it is spaced or padded.
fn same(a: &str, b: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        text.split([' ', '\t', ',', '\n'])
            .filter(|w| !w.is_empty())
            .map(|w| w.trim_start_matches('0').to_owned())
            .collect()
    };
    words(a) == words(b)
}

impl Undo {
    /// Reads what the settings are now.
    pub(super) fn plan(settings: &[Setting], spec: &Spec) -> Result<Self> {
        let mut entries = Vec::new();
        for Setting { path, value, optional } in settings {
            match current(path) {
                Ok(old) => {
                    let (path, new) = (path.clone(), value.clone());
                    entries.push(Entry { kind: Kind::File, path, old, new, optional: *optional, id: 0, start: 0 });
                }
                Err(_) if *optional => {}
                Err(error) => {
                    return Err(error).doing(|| format!("setting {path} cannot be read, so it could not be put back"));
                }
            }
        }
        entries.extend(others::plan(spec)?);
        Ok(Self { boot_id: boot_id(), entries })
    }

    /// Stores it, synced, before anything is changed.
    pub(super) fn store(&self, dir: &RunDir) -> Result<()> {
        if self.entries.is_empty() {
            return Ok(());
        }
        let text = serde_json::to_vec_pretty(self).map_err(|error| Error::io(UNDO, error.into()))?;
        dir.replace(UNDO, &text)
    }

    /// Last change first.
    fn put_back(&self, answer: &mut Restored) {
        for entry in self.entries.iter().rev() {
            match entry.put_back() {
                Ok(()) => answer.restored.push((entry.path.clone(), entry.old.clone())),
                Err(reason) => answer.failed.push((entry.path.clone(), reason)),
            }
        }
    }
}

impl Entry {
    /// Changes it; what the kernel made of it.
    pub(super) fn apply(&self) -> Result<String> {
        let Self { path, old, new, .. } = self;
        if self.kind != Kind::File {
            return others::apply(self).doing(|| format!("{path} cannot be changed"));
        }
        write(path, new).doing(|| format!("setting {path} cannot be set to `{new}`"))?;
        let now = current(path).doing(|| format!("setting {path} cannot be read back"))?;
        if same(&now, old) && !same(new, old) {
            let problem = format!("setting {path} stays `{now}` after `{new}` was written");
            return Err(Error::Refused(vec![problem]));
        }
        Ok(now)
    }

    fn put_back(&self) -> std::result::Result<(), String> {
        let Self { path, old, .. } = self;
        if self.kind != Kind::File {
            return others::put_back(self).map_err(|error| error.to_string());
        }
        if self.optional && current(path).is_ok_and(|now| same(&now, old)) {
            return Ok(());
        }
        write(path, old).map_err(|error| format!("`{old}` cannot be written: {error}"))?;
        match current(path) {
            Ok(now) if same(&now, old) => Ok(()),
            Ok(now) => Err(format!("is `{now}` after `{old}` was written")),
            Err(error) => Err(format!("cannot be read back: {error}")),
        }
    }
}

/// Replays the undo file of `dir`, last change first. Without one there is nothing to do, unless somebody removed the
/// directory with it: then `kept` is what it said.
pub(super) fn restore(dir: &RunDir, kept: Option<&Undo>) -> Result<Restored> {
    let path = dir.join(UNDO);
    if let Some(undo) = kept.filter(|_| dir.is_removed()) {
        let mut answer = Restored::default();
        undo.put_back(&mut answer);
        return Ok(answer);
    }
    let mut answer = Restored::default();
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            answer.note = Some("no settings to put back".to_owned());
            return Ok(answer);
        }
        Err(error) => return Err(Error::io(path.display().to_string(), error)),
    };
    let damaged = |error: serde_json::Error| Error::Damaged { path: path.clone(), problem: error.to_string() };
    let undo: Undo = serde_json::from_slice(&text).map_err(damaged)?;
    if undo.boot_id == boot_id() {
        undo.put_back(&mut answer);
    } else {
        // Settings of /proc and /sys do not outlive a boot, and the same path may mean another device now.
        answer.note = Some("the board was reset since: its settings are those of the boot".to_owned());
    }
    if answer.failed.is_empty() {
        fs::remove_file(&path).doing(|| format!("cannot remove {}", path.display()))?;
        dir.sync().doing(|| dir.path().display().to_string())?;
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::same;

    #[test]
    fn kernels_pad_and_space_values() {
        for (a, b) in [("3", "00000003"), ("7 4 1 7", "7\t4\t1\t7"), ("0", "00000000"), ("", "")] {
            assert!(same(a, b), "{a} {b}");
        }
        for (a, b) in [("1", "10"), ("performance", "powersave"), ("0", "n/a"), ("0", ""), ("0 1", "1")] {
            assert!(!same(a, b), "{a} {b}");
        }
    }
}
