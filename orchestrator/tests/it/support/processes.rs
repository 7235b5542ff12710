//! Processes by what /proc says of them. Only processes that a test started are ever ended.

use std::fs;
use std::process::Command;

fn ids() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_string_lossy().parse().ok())
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Children of `pid`, theirs, and so on.
pub(crate) fn descendants(pid: u32) -> Vec<u32> {
    let mut found = vec![pid];
    let all: Vec<(u32, u32)> = ids().filter_map(|id| Some((id, parent(id)?))).collect();
    let mut at = 0;
    while at < found.len() {
        let of_this = found[at];
        found.extend(all.iter().filter(|(_, of)| *of == of_this).map(|(id, _)| *id));
        at += 1;
    }
    found.split_off(1)
}

/// Living processes whose command line or environment holds `text`: (pid, command line).
pub(crate) fn mentioning(text: &str) -> Vec<(u32, String)> {
    let read = |pid: u32, what: &str| {
        let raw = fs::read(format!("/proc/{pid}/{what}")).ok()?;
        Some(String::from_utf8_lossy(&raw).replace('\0', " "))
    };
    let line = |pid: u32| {
        let line = read(pid, "cmdline").filter(|line| !line.is_empty())?;
        let found = line.contains(text) || read(pid, "environ").unwrap_or_default().contains(text);
        (pid != std::process::id() && found).then_some((pid, line))
    };
    ids().filter_map(line).collect()
}

pub(crate) fn kill(pid: u32) {
    // It may have ended by itself.
    let _ = Command::new("kill").args(["-KILL", &pid.to_string()]).stderr(std::process::Stdio::null()).status();
}
