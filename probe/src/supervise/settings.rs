//! Settings changed for a run, and put back however it ends.

use super::dir::{RunDir, boot_id};
use crate::error::{Doing, Error, Result};
use latprobe::spec::Setting;
use serde::{Deserialize, Serialize};
use std::{fs, io};

const UNDO: &str = "undo.json";

/// Old and new values, stored before the first change.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Undo {
    boot_id: String,
    pub(super) entries: Vec<Entry>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) path: String,
    pub(super) old: String,
    pub(super) new: String,
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
    // One write call: the kernel takes each as a whole value.
    io::Write::write_all(&mut fs::File::options().write(true).open(path)?, value.as_bytes())
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
    pub(super) fn plan(settings: &[Setting]) -> Result<Self> {
        let mut entries = Vec::new();
        for Setting { path, value } in settings {
            let old = current(path).doing(|| format!("setting {path} cannot be read, so it could not be put back"))?;
            entries.push(Entry { path: path.clone(), old, new: value.clone() });
        }
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
    /// Writes the new value; what the kernel made of it.
    pub(super) fn apply(&self) -> Result<String> {
        write(&self.path, &self.new).doing(|| format!("setting {} cannot be set to `{}`", self.path, self.new))?;
        let now = current(&self.path).doing(|| format!("setting {} cannot be read back", self.path))?;
        if same(&now, &self.old) && !same(&self.new, &self.old) {
            let problem = format!("setting {} stays `{}` after `{}` was written", self.path, now, self.new);
            return Err(Error::Refused(vec![problem]));
        }
        Ok(now)
    }

    fn put_back(&self) -> std::result::Result<(), String> {
        write(&self.path, &self.old).map_err(|error| format!("`{}` cannot be written: {error}", self.old))?;
        match current(&self.path) {
            Ok(now) if same(&now, &self.old) => Ok(()),
            Ok(now) => Err(format!("is `{now}` after `{}` was written", self.old)),
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
