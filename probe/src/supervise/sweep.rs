//! Finds the processes of a run by a variable in their environment.
//!
//! It is inherited by whatever a load starts, in whatever session or group,
//! and unlike a noted process id it cannot come to mean a stranger.

use crate::rt::process;
use std::{fs, path::Path, time::Duration};

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

/// Kills them until none is left; the ids of those that would not go.
pub(super) fn kill_marked(dir: &Path, spared: &[i32]) -> Vec<i32> {
    for _ in 0..100 {
        let pids = marked(dir, spared);
        if pids.is_empty() {
            return pids;
        }
        for pid in pids {
            // Gone meanwhile is fine.
            let _ = process::kill(pid, libc::SIGKILL);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    marked(dir, spared)
}
