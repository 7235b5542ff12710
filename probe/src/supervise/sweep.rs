//! Finds the processes of a run by a variable in their environment.
//!
//! It is inherited by whatever a load starts, in whatever session or group,
//! and unlike a noted process id it cannot come to mean a stranger. What starts
//! with an environment of its own is found as the supervisor's child: orphans
//! come to it, and to its keeper once it was killed.

use crate::rt::process;
use std::{collections::BTreeSet, fs, path::Path, time::Duration};

/// Variable that names the run's directory.
pub(super) const MARK: &str = "LATPROBE_RUN";

/// Process ids marked with `dir`, apart from the caller's and `spared` ones.
pub(super) fn marked(dir: &Path, spared: &[i32]) -> Vec<i32> {
    let mark = format!("{MARK}={}", dir.display());
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| *pid != own && !spared.contains(pid))
        .filter(|pid| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
        })
        .collect()
}

/// The caller's living children.
pub(super) fn children() -> Vec<i32> {
    let own = std::process::id().to_string();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_child = |pid: &i32| {
        let state_and_parent = state_and_parent(*pid);
        state_and_parent.is_some_and(|(state, parent)| parent == own && !is_over(&state))
    };
    pids.filter(is_child).collect()
}

/// Process ids marked with `dir`, and the caller's children, apart from `spared` ones.
pub(super) fn of_run(dir: &Path, spared: &[i32]) -> BTreeSet<i32> {
    children().into_iter().filter(|pid| !spared.contains(pid)).chain(marked(dir, spared)).collect()
}

/// Kills them until they and `known` others are gone; the ids of those that would not go.
///
/// One that is on its way out has no environment any more: it is waited for by its id.
pub(super) fn kill_marked(dir: &Path, spared: &[i32], known: Vec<i32>) -> Vec<i32> {
    let mut left: BTreeSet<i32> = known.into_iter().collect();
    for _ in 0..250 {
        let alive = of_run(dir, spared);
        // The children of one that was killed show at the next look.
        let none = alive.is_empty();
        for pid in &alive {
            // Gone meanwhile is fine.
            let _ = process::kill(*pid, libc::SIGKILL);
        }
        left.extend(alive);
        left.retain(|pid| !is_gone(*pid));
        if none && left.is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    left.into_iter().collect()
}

/// Not there, or nothing but an exit code that somebody has to fetch.
pub(super) fn is_gone(pid: i32) -> bool {
    state_and_parent(pid).is_none_or(|(state, _)| is_over(&state))
}

fn is_over(state: &str) -> bool {
    matches!(state, "Z" | "X")
}

/// `None`: not there.
fn state_and_parent(pid: i32) -> Option<(String, String)> {
    // The name before it may hold anything, even parentheses.
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    Some((fields.next()?.to_owned(), fields.next()?.to_owned()))
}
