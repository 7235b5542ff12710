//! Somebody else's threads and processes, changed for a run: real-time threads are lowered, daemons stand still.

use crate::{
    error::{Doing, Result},
    facts,
    rt::{process, sched},
};
use latprobe::spec::{Spec, is_kernels_own};
use serde::{Deserialize, Serialize};
use std::{
    fs, io,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// A thread or process, known by its start time too: ids are used again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Other {
    /// A real-time thread with a lower priority for the run.
    Lowered { tid: i32, start: u64, name: String, policy: i32, priority: u32, to: u32 },
    /// A process that is stopped (`SIGSTOP`) for the run.
    Halted { pid: i32, start: u64, name: String },
    /// A service that systemd runs: it would start a process anew that does not answer its watchdog.
    Service { unit: String },
}

/// systemd gives a service 90 s to end.
const SYSTEMD_PATIENCE: Duration = Duration::from_secs(120);

/// What the spec asks for, as it is now.
pub(super) fn plan(spec: &Spec) -> Result<Vec<Other>> {
    let mut all = Vec::new();
    if spec.halt.is_empty() && spec.lower_from.is_none() {
        return Ok(all);
    }
    for entry in fs::read_dir("/proc").doing(|| "cannot list processes")?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        // Processes come and go while they are listed.
        let Some(about) = About::read(&entry.path()) else { continue };
        if spec.halt.contains(&about.name) && !about.is_kernel() && about.state != 'T' {
            let service = service_of(pid).map(|unit| Other::Service { unit });
            all.push(service.unwrap_or(Other::Halted { pid, start: about.start, name: about.name.clone() }));
        }
        if let Some(from) = spec.lower_from.filter(|_| pid != i32::try_from(std::process::id()).unwrap_or(0)) {
            all.extend(lowered(pid, from));
        }
    }
    all.dedup();
    Ok(all)
}

/// Threads of a process at the priority `from` or above.
fn lowered(pid: i32, from: u32) -> Vec<Other> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lower = |task: fs::DirEntry| {
        let tid = task.file_name().to_str()?.parse().ok()?;
        let about = About::read(&task.path()).filter(|about| !is_kernels_own(&about.name))?;
        let (policy, priority) = sched::raw_scheduling_of(tid).ok()?;
        let to = from.checked_sub(1).filter(|to| *to > 0)?;
        (sched::is_real_time(policy) && priority >= from).then_some(Other::Lowered {
            tid,
            start: about.start,
            name: about.name,
            policy,
            priority,
            to,
        })
    };
    tasks.filter_map(lower).collect()
}

/// The systemd service that a process belongs to, where systemd runs.
fn service_of(pid: i32) -> Option<String> {
    Path::new("/run/systemd/system").exists().then_some(())?;
    facts::find_program("systemctl")?;
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let unit = |line: &str| line.rsplit('/').next().filter(|unit| unit.ends_with(".service")).map(str::to_owned);
    groups.lines().find_map(unit)
}

impl Other {
    pub(super) fn subject(&self) -> String {
        match self {
            Self::Lowered { tid, name, .. } => format!("thread {tid} ({name})"),
            Self::Halted { pid, name, .. } => format!("process {pid} ({name})"),
            Self::Service { unit } => unit.clone(),
        }
    }

    pub(super) fn old(&self) -> String {
        match self {
            Self::Lowered { priority, .. } => format!("priority {priority}"),
            Self::Halted { .. } | Self::Service { .. } => "running".to_owned(),
        }
    }

    /// Changes it; in which state it is then.
    pub(super) fn apply(&self) -> io::Result<String> {
        match self {
            Self::Lowered { tid, start, policy, to, .. } => {
                alive(*tid, *start)?;
                sched::set_scheduling_of(*tid, *policy, *to)?;
                Ok(format!("priority {to}"))
            }
            Self::Halted { pid, start, .. } => {
                alive(*pid, *start)?;
                process::kill(*pid, libc::SIGSTOP)?;
                Ok("stopped".to_owned())
            }
            Self::Service { unit } => systemctl("stop", unit).map(|()| "stopped".to_owned()),
        }
    }

    /// What has ended since needs nothing.
    pub(super) fn put_back(&self) -> io::Result<()> {
        match self {
            Self::Lowered { tid, start, policy, priority, .. } if alive(*tid, *start).is_ok() => {
                sched::set_scheduling_of(*tid, *policy, *priority)
            }
            Self::Halted { pid, start, .. } if alive(*pid, *start).is_ok() => process::kill(*pid, libc::SIGCONT),
            Self::Service { unit } => systemctl("start", unit),
            _ => Ok(()),
        }
    }
}

/// The very thread or process that was seen before.
fn alive(id: i32, start: u64) -> io::Result<()> {
    let about = About::read(Path::new(&format!("/proc/{id}")));
    match about {
        Some(about) if about.start == start => Ok(()),
        _ => Err(io::Error::from_raw_os_error(libc::ESRCH)),
    }
}

fn systemctl(verb: &str, unit: &str) -> io::Result<()> {
    let mut command = Command::new("systemctl");
    let mut child =
        command.args([verb, unit]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let deadline = Instant::now() + SYSTEMD_PATIENCE;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(io::Error::other(format!("systemctl {verb}: {status}"))),
            // The supervisor reaps whatever ends; whether it went well is then not known.
            Err(error) if error.raw_os_error() == Some(libc::ECHILD) => return Ok(()),
            Err(error) => return Err(error),
            Ok(None) if Instant::now() >= deadline => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(io::Error::from_raw_os_error(libc::ETIMEDOUT));
            }
            Ok(None) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// What `stat` says of a thread or process.
struct About {
    name: String,
    state: char,
    parent: i32,
    start: u64,
}

impl About {
    fn read(dir: &Path) -> Option<Self> {
        Self::parse(&fs::read_to_string(dir.join("stat")).ok()?)
    }

    /// The name may hold anything, `)` and blanks too. The start time is field 22.
    fn parse(stat: &str) -> Option<Self> {
        let (head, tail) = stat.rsplit_once(')')?;
        let name = head.split_once('(')?.1.to_owned();
        let mut fields = tail.split_whitespace();
        let (state, parent) = (fields.next()?.chars().next()?, fields.next()?.parse().ok()?);
        Some(Self { name, state, parent, start: fields.nth(17)?.parse().ok()? })
    }

    /// A child of `kthreadd`.
    fn is_kernel(&self) -> bool {
        self.parent == 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_time_is_field_22() {
        let about = About::parse("12 (a) (b) S 7 12 12 0 -1 0 0 0 0 0 1 2 3 4 20 0 1 0 4711 99 0").unwrap();
        assert_eq!((about.name.as_str(), about.state, about.parent, about.start), ("a) (b", 'S', 7, 4711));
    }

    #[test]
    fn a_process_stands_still_and_goes_on() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let about = || About::read(Path::new(&format!("/proc/{pid}"))).unwrap();
        let wait = |state: char| {
            let deadline = Instant::now() + Duration::from_secs(10);
            while about().state != state {
                assert!(Instant::now() < deadline, "{}", about().state);
                std::thread::sleep(Duration::from_millis(2));
            }
        };
        let halted = Other::Halted { pid, start: about().start, name: "sleep".into() };
        halted.apply().unwrap();
        wait('T');
        halted.put_back().unwrap();
        wait('S');
        // Another process with that id is let alone.
        let reused = Other::Halted { pid, start: about().start + 1, name: "sleep".into() };
        assert_eq!(reused.apply().unwrap_err().raw_os_error(), Some(libc::ESRCH));
        reused.put_back().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        halted.put_back().unwrap();
    }
}
