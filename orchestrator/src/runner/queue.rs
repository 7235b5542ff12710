//! The queue of this host at a board: executions that want the same board take their turn in the order they came.
//!
//! Who really has a board is what the lock on the board says. This queue saves the board from being asked by all
//! that wait, and gives them an order. Each place is a file that its process keeps locked: the places of dead
//! processes fall away by themselves.

use latlab_core::target::{Target, Transport};
use serde::{Deserialize, Serialize};
use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Who stands in the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Waiting {
    /// `process 1234`.
    pub(super) process: String,
    /// Its execution.
    pub(super) execution: String,
    /// Since when it stands there: UTC, RFC 3339.
    pub(super) since: String,
}

/// A place in the queue of one board; given up when dropped.
#[derive(Debug)]
pub(super) struct Place {
    path: PathBuf,
    number: u64,
    execution: String,
    _file: File,
}

impl Place {
    /// Takes the last place at the board of `target`.
    pub(super) fn take(target: &Target, waiting: &Waiting) -> io::Result<Self> {
        Self::take_in(&base(), &key(target), waiting)
    }

    fn take_in(base: &Path, key: &str, waiting: &Waiting) -> io::Result<Self> {
        make_private(base)?;
        let directory = base.join(key);
        loop {
            make_private(&directory)?;
            // The last one to leave removes the directory: then once more.
            match Self::append(&directory, waiting) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                taken => return taken,
            }
        }
    }

    fn append(directory: &Path, waiting: &Waiting) -> io::Result<Self> {
        let turn = File::open(directory)?;
        turn.lock()?;
        let number = numbers(directory)?.last().map_or(0, |last| last + 1);
        let path = directory.join(number.to_string());
        // Under a name that is no number until it is locked: an unlocked place counts as left.
        let new = directory.join(format!("new-{}", std::process::id()));
        let mut file = File::create(&new)?;
        file.lock()?;
        file.write_all(&serde_json::to_vec(waiting)?)?;
        std::fs::rename(&new, &path)?;
        Ok(Self { path, number, execution: waiting.execution.clone(), _file: file })
    }

    /// Which other execution stands before this place; `None`: it is the first. Several targets of one execution may be
    /// one machine.
    pub(super) fn before(&self) -> io::Result<Option<Waiting>> {
        let directory = self.path.parent().unwrap_or(Path::new("/"));
        for number in numbers(directory)?.into_iter().filter(|number| *number < self.number) {
            let path = directory.join(number.to_string());
            let file = match File::open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            match file.try_lock_shared() {
                // Its process is gone.
                Ok(()) => drop(std::fs::remove_file(&path)),
                Err(TryLockError::WouldBlock) => {
                    let unknown = || Waiting {
                        process: "another latlab process".to_owned(),
                        execution: "unknown".to_owned(),
                        since: "unknown".to_owned(),
                    };
                    let before: Waiting = serde_json::from_reader(file).unwrap_or_else(|_| unknown());
                    if before.execution != self.execution {
                        return Ok(Some(before));
                    }
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Ok(None)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What cannot be removed is unlocked with the process, which says the same.
        let _ = std::fs::remove_file(&self.path);
        if let Some(directory) = self.path.parent() {
            // Only the last one leaves it empty.
            let _ = std::fs::remove_dir(directory);
        }
    }
}

/// Removes the places that killed latlab processes left, at every board.
pub(super) fn sweep() {
    let boards = std::fs::read_dir(base()).into_iter().flatten().flatten().map(|entry| entry.path());
    for directory in boards {
        let places = std::fs::read_dir(&directory).into_iter().flatten().flatten().map(|entry| entry.path());
        for place in places {
            // A place of a living process is locked; one that is just being made has another name a moment later.
            if File::open(&place).is_ok_and(|file| file.try_lock_shared().is_ok()) {
                let _ = std::fs::remove_file(&place);
            }
        }
        // Only where it is empty now.
        let _ = std::fs::remove_dir(&directory);
    }
}

fn numbers(directory: &Path) -> io::Result<Vec<u64>> {
    let names = std::fs::read_dir(directory)?.flatten().map(|entry| entry.file_name());
    let mut numbers: Vec<u64> = names.filter_map(|name| name.to_string_lossy().parse().ok()).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// What tells boards apart on this host: where they are reached, not what a target file calls them.
fn key(target: &Target) -> String {
    let text = match &target.transport {
        Transport::Local { .. } => "local".to_owned(),
        Transport::Ssh(ssh) => match ssh.port {
            Some(port) => format!("{}:{port}", ssh.destination),
            None => ssh.destination.clone(),
        },
    };
    text.chars().map(|c| if c.is_ascii_alphanumeric() || ".-@".contains(c) { c } else { '_' }).collect()
}

/// `$XDG_RUNTIME_DIR/latlab-queue`, else `/tmp/latlab-queue-UID`.
fn base() -> PathBuf {
    match std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from) {
        Some(runtime) if runtime.is_absolute() && runtime.is_dir() => runtime.join("latlab-queue"),
        _ => PathBuf::from(format!("/tmp/latlab-queue-{}", own_uid())),
    }
}

fn own_uid() -> u32 {
    std::fs::metadata("/proc/self").map(|meta| meta.uid()).unwrap_or(0)
}

fn make_private(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ if std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir() && meta.uid() == own_uid()) => Ok(()),
        _ => {
            Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("{} belongs to another user", path.display())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(execution: &str) -> Waiting {
        Waiting { process: "process 1".into(), execution: execution.into(), since: "now".into() }
    }

    #[test]
    fn places_are_taken_in_order_and_given_up_with_their_owner() {
        let base = tempfile::tempdir().unwrap();
        let take = |execution| Place::take_in(&base.path().join("queue"), "root@board", &waiting(execution)).unwrap();
        let (first, second, third) = (take("a"), take("b"), take("c"));
        assert_eq!(first.before().unwrap(), None);
        assert_eq!(second.before().unwrap(), Some(waiting("a")));
        assert_eq!(third.before().unwrap(), Some(waiting("a")));
        drop(second);
        assert_eq!(third.before().unwrap(), Some(waiting("a")));
        drop(first);
        assert_eq!(third.before().unwrap(), None);
        // One who left and comes again is the last.
        let again = take("a");
        assert_eq!(again.before().unwrap(), Some(waiting("c")));
        assert_eq!(third.before().unwrap(), None);
        drop(third);
        drop(again);
        assert!(std::fs::read_dir(base.path().join("queue")).unwrap().next().is_none(), "nothing stays behind");
    }

    #[test]
    fn the_place_of_a_dead_process_counts_for_nothing() {
        let base = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(base.path().join("b")).unwrap();
        std::fs::write(base.path().join("b/0"), "{}").unwrap();
        let place = Place::take_in(base.path(), "b", &waiting("a")).unwrap();
        assert_eq!((place.number, place.before().unwrap()), (1, None));
        // Two targets of one execution do not wait for each other.
        let other = Place::take_in(base.path(), "b", &waiting("a")).unwrap();
        assert_eq!((other.number, other.before().unwrap()), (2, None));
    }
}
