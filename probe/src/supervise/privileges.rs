//! What the supervisor takes for itself so that its own load cannot starve or kill it.

use crate::rt::{memory, sched};
use latprobe::{cpulist::CpuList, spec::Spec};
use std::fs;

/// CPUs that are online, by the kernel's word.
pub(super) fn online() -> CpuList {
    let text = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    CpuList::parse(&text).unwrap_or_default()
}

/// Moves the process out of the login session's control groups: systemd ends a session's processes at
/// logout, and kernels with RT_GROUP_SCHED refuse FIFO in a group without real-time runtime.
/// What could not be done, in words.
pub(super) fn leave_session_groups() -> Vec<String> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    groups.lines().filter_map(|line| leave(line, &mounts).err()).collect()
}

fn leave(line: &str, mounts: &str) -> Result<(), String> {
    // `4:cpu,cpuacct:/user.slice`; version 2: `0::/user.slice`.
    let mut fields = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(group)) = (fields.next(), fields.next()) else { return Ok(()) };
    // Memory limits and CPU sets of the board's administrator stay in force.
    let relevant = controllers.is_empty() || controllers.split(',').any(|c| c == "cpu" || c == "name=systemd");
    if group == "/" || !relevant {
        return Ok(());
    }
    let root = mounts.lines().find_map(|mount| {
        let fields: Vec<&str> = mount.split(' ').collect();
        let (path, kind, options) = (fields.get(1)?, fields.get(2)?, fields.get(3)?);
        let first = controllers.split(',').next().unwrap_or_default();
        let fits = if controllers.is_empty() {
            *kind == "cgroup2"
        } else {
            *kind == "cgroup" && options.split(',').any(|option| option == first)
        };
        fits.then(|| (*path).to_owned())
    });
    let Some(root) = root else { return Err(format!("control group {group} has no mounted hierarchy")) };
    fs::write(format!("{root}/cgroup.procs"), std::process::id().to_string())
        .map_err(|error| format!("cannot leave control group {group}: {error}"))
}

/// Lowest real-time priority, locked memory, on CPUs that are not measured.
/// Only after the last fork. What could not be had, in words.
pub(super) fn take(spec: &Spec, allowed: &CpuList) -> Vec<String> {
    let measured: CpuList = spec.measure.threads.iter().filter_map(|thread| thread.cpu).collect();
    let asked: CpuList = spec.housekeeping_cpus.iter().copied().collect();
    let free = online().without(&measured);
    let cpus = [asked, allowed.without(&measured), free].into_iter().find(|cpus| !cpus.is_empty());
    let mut missing = Vec::new();
    let mut note = |what: &str, result: std::io::Result<()>| {
        if let Err(error) = result {
            missing.push(format!("{what}: {error}"));
        }
    };
    if let Some(cpus) = cpus {
        note(&format!("the supervisor cannot be bound to CPUs {cpus}"), sched::set_affinity(&cpus));
    }
    note("the supervisor stays without real-time priority", sched::set_helper_fifo(1));
    note("the supervisor's memory is not locked", memory::lock_all());
    missing
}

/// The out-of-memory killer takes others first.
pub(super) fn spare() -> std::io::Result<()> {
    fs::write("/proc/self/oom_score_adj", "-1000")
}
