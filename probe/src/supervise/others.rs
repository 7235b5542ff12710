//! Somebody else's threads and processes, changed for a run: real-time threads are lowered, daemons stand still.

use super::settings::{Entry, Kind};
use crate::{
    error::{Doing, Result},
    facts,
    rt::{process, sched},
};
use latprobe::spec::{Spec, is_kernels_own};
use std::{
    fs, io,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// systemd gives a service 90 s to end.
const SYSTEMD_PATIENCE: Duration = Duration::from_secs(120);

/// What the spec asks for, as it is now.
pub(super) fn plan(spec: &Spec) -> Result<Vec<Entry>> {
    let mut all: Vec<Entry> = Vec::new();
    if spec.halt.is_empty() && spec.lower_from.is_none() {
        return Ok(all);
    }
    for process in fs::read_dir("/proc").doing(|| "cannot list processes")?.flatten() {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        // Processes come and go while they are listed.
        let Some(about) = About::read(pid) else { continue };
        if spec.halt.contains(&about.name) && !about.is_kernel() && about.state != 'T' {
            let service = service_of(pid);
            let kind = if service.is_some() { Kind::Service } else { Kind::Process };
            let path = service.unwrap_or_else(|| format!("process {pid} ({})", about.name));
            let entry = |path| Entry {
                kind,
                path,
                old: "running".into(),
                new: "stopped".into(),
                optional: true,
                id: pid,
                start: about.start,
            };
            if all.iter().all(|other| other.path != path) {
                all.push(entry(path));
            }
        }
        if let Some(from) = spec.lower_from.filter(|_| pid.unsigned_abs() != std::process::id()) {
            lowered(pid, from, &mut all);
        }
    }
    Ok(all)
}

/// Threads of a process at the priority `from` or above.
fn lowered(pid: i32, from: u32, all: &mut Vec<Entry>) {
    for task in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
        let Some(tid) = task.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let Some(about) = About::read(tid).filter(|about| !is_kernels_own(&about.name)) else { continue };
        let Ok((policy, priority)) = sched::raw_scheduling_of(tid) else { continue };
        if sched::is_real_time(policy) && priority >= from && from > 1 {
            all.push(Entry {
                kind: Kind::Thread,
                path: format!("thread {tid} ({})", about.name),
                old: format!("{policy} {priority}"),
                new: format!("{policy} {}", from - 1),
                optional: true,
                id: tid,
                start: about.start,
            });
        }
    }
}

/// The systemd service that a process belongs to, where systemd runs.
fn service_of(pid: i32) -> Option<String> {
    Path::new("/run/systemd/system").exists().then_some(())?;
    facts::find_program("systemctl")?;
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let unit = |line: &str| line.rsplit('/').next().filter(|unit| unit.ends_with(".service")).map(str::to_owned);
    groups.lines().find_map(unit)
}

/// Changes it; in which state it is then. What has ended is an error.
pub(super) fn apply(entry: &Entry) -> io::Result<String> {
    match entry.kind {
        Kind::Service => systemctl("stop", &entry.path)?,
        _ if !is_alive(entry) => return Err(io::Error::from_raw_os_error(libc::ESRCH)),
        Kind::Thread => schedule(entry.id, &entry.new)?,
        Kind::Process | Kind::File => process::kill(entry.id, libc::SIGSTOP)?,
    }
    Ok(entry.new.clone())
}

/// What has ended since needs nothing.
pub(super) fn put_back(entry: &Entry) -> io::Result<()> {
    match entry.kind {
        Kind::Service => systemctl("start", &entry.path),
        _ if !is_alive(entry) => Ok(()),
        Kind::Thread => schedule(entry.id, &entry.old),
        Kind::Process | Kind::File => process::kill(entry.id, libc::SIGCONT),
    }
}

/// `policy priority`, as the kernel numbers them.
fn schedule(tid: i32, text: &str) -> io::Result<()> {
    let parsed =
        text.split_once(' ').and_then(|(policy, priority)| Some((policy.parse().ok()?, priority.parse().ok()?)));
    let (policy, priority) = parsed.ok_or(io::ErrorKind::InvalidData)?;
    sched::set_scheduling_of(tid, policy, priority)
}

/// It is the very thread or process that was seen before.
fn is_alive(entry: &Entry) -> bool {
    About::read(entry.id).is_some_and(|about| about.start == entry.start)
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
    fn read(id: i32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?)
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
        let about = || About::read(pid).unwrap();
        let wait = |state: char| {
            let deadline = Instant::now() + Duration::from_secs(10);
            while about().state != state {
                assert!(Instant::now() < deadline, "{}", about().state);
                std::thread::sleep(Duration::from_millis(2));
            }
        };
        let entry = |start| Entry {
            kind: Kind::Process,
            path: "sleep".into(),
            old: "running".into(),
            new: "stopped".into(),
            optional: true,
            id: pid,
            start,
        };
        let halted = entry(about().start);
        apply(&halted).unwrap();
        wait('T');
        put_back(&halted).unwrap();
        wait('S');
        // Another process with that id is let alone.
        let reused = entry(about().start + 1);
        assert_eq!(apply(&reused).unwrap_err().raw_os_error(), Some(libc::ESRCH));
        put_back(&reused).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        put_back(&halted).unwrap();
    }
}
