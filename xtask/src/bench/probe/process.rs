//! Processes and threads as `/proc` tells of them.

use anyhow::{Context, Result};
use std::path::PathBuf;

/// A thread.
#[derive(Debug, Clone)]
pub(super) struct Task {
    folder: PathBuf,
    pub(super) tid: i32,
    /// Real-time priority, 0 for others.
    pub(super) priority: u32,
    /// CPUs it may run on, as the kernel lists them.
    pub(super) allowed: String,
}

/// What a thread has used up to now.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Used {
    /// Time on a CPU, in ns.
    pub(super) run_ns: u64,
    /// Sleeps.
    pub(super) sleeps: u64,
}

fn read(file: PathBuf) -> Result<String> {
    std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))
}

fn field<'a>(status: &'a str, name: &str) -> &'a str {
    status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap_or_default().trim()
}

/// Fields of `stat` behind the name, which may hold anything.
fn stat(text: &str) -> Vec<&str> {
    text.rsplit_once(')').map_or("", |(_, rest)| rest).split_ascii_whitespace().collect()
}

/// A process and its children.
pub(super) fn with_children(pid: i32) -> Result<Vec<i32>> {
    let mut all = vec![pid];
    for entry in std::fs::read_dir("/proc").context("cannot list /proc")?.flatten() {
        let Some(other) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        // One that ends meanwhile is none.
        let Ok(text) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        if stat(&text).get(1) == Some(&pid.to_string().as_str()) {
            all.push(other);
        }
    }
    Ok(all)
}

pub(super) fn is_there(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|text| stat(&text).first() != Some(&"Z"))
}

pub(super) fn tasks(pid: i32) -> Result<Vec<Task>> {
    let mut tasks = Vec::new();
    for entry in std::fs::read_dir(format!("/proc/{pid}/task")).context("the process has ended")?.flatten() {
        let (folder, name) = (entry.path(), entry.file_name());
        let tid = name.to_str().and_then(|name| name.parse().ok()).context("a task has a number")?;
        let priority = stat(&read(folder.join("stat"))?).get(37).and_then(|text| text.parse().ok()).unwrap_or(0);
        let allowed = field(&read(folder.join("status"))?, "Cpus_allowed_list").to_owned();
        tasks.push(Task { folder, tid, priority, allowed });
    }
    Ok(tasks)
}

impl Task {
    pub(super) fn used(&self) -> Result<Used> {
        let run = read(self.folder.join("schedstat"))?;
        let run_ns = run.split_whitespace().next().and_then(|ns| ns.parse().ok()).context("schedstat holds times")?;
        let status = read(self.folder.join("status"))?;
        let sleeps = field(&status, "voluntary_ctxt_switches").parse().context("status holds switches")?;
        Ok(Used { run_ns, sleeps })
    }
}

/// Sum over threads.
pub(super) fn used(tasks: &[Task]) -> Result<Used> {
    tasks.iter().try_fold(Used::default(), |sum, task| {
        let used = task.used()?;
        Ok(Used { run_ns: sum.run_ns + used.run_ns, sleeps: sum.sleeps + used.sleeps })
    })
}

/// (peak resident, locked) of an instrument, in kB: of its largest process all, of the others what they do not share.
/// Libraries and the program count for every instrument as if it were alone.
pub(super) fn memory_kb(pids: &[i32]) -> Result<(u64, u64)> {
    let mut all = pids.iter().map(|pid| Memory::of(*pid)).collect::<Result<Vec<_>>>()?;
    all.sort_by_key(|memory| std::cmp::Reverse(memory.peak_kb));
    let (first, others) = all.split_first().context("an instrument has a process")?;
    let sum = |part: fn(&Memory) -> u64| others.iter().map(part).sum::<u64>();
    Ok((first.peak_kb + sum(|m| m.private_kb), first.locked_kb + sum(|m| m.private_locked_kb)))
}

struct Memory {
    peak_kb: u64,
    locked_kb: u64,
    private_kb: u64,
    private_locked_kb: u64,
}

impl Memory {
    fn of(pid: i32) -> Result<Self> {
        let status = read(PathBuf::from(format!("/proc/{pid}/status")))?;
        let maps = read(PathBuf::from(format!("/proc/{pid}/smaps")))?;
        let mut found =
            Self { peak_kb: kb(field(&status, "VmHWM")), locked_kb: 0, private_kb: 0, private_locked_kb: 0 };
        let (mut resident, mut private) = (0, 0);
        for line in maps.lines() {
            let Some((name, value)) = line.split_once(':') else { continue };
            match name {
                "Rss" => (resident, private) = (kb(value), 0),
                "Private_Clean" | "Private_Dirty" => private += kb(value),
                "VmFlags" => {
                    found.private_kb += private;
                    if value.split_whitespace().any(|flag| flag == "lo") {
                        found.locked_kb += resident;
                        found.private_locked_kb += private;
                    }
                }
                _ => {}
            }
        }
        Ok(found)
    }
}

fn kb(text: &str) -> u64 {
    text.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0)
}
