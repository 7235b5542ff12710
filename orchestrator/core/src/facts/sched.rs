//! Scheduling: real-time limits and who else is real-time.

use super::Facts;
use super::captures::Captures;
use latprobe::cpulist::CpuList;
use std::collections::BTreeMap;

/// Time a CPU keeps for ordinary tasks against real-time ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FairServer {
    /// Time kept in each period, in ns; 0: off.
    pub runtime_ns: u64,
    /// Period, in ns.
    pub period_ns: u64,
}

/// A thread with a policy above `SCHED_OTHER`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RtThread {
    /// Thread id.
    pub tid: u32,
    /// Its name (`comm`).
    pub name: String,
    /// Policy.
    pub policy: ThreadPolicy,
    /// Real-time priority 1..=99; 0 for deadline.
    pub priority: u32,
    /// CPUs it may run on.
    pub cpus: Option<CpuList>,
}

/// Policies above `SCHED_OTHER`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThreadPolicy {
    /// `SCHED_FIFO`.
    Fifo,
    /// `SCHED_RR`.
    Rr,
    /// `SCHED_DEADLINE`.
    Deadline,
}

pub(super) fn read(captures: &Captures, facts: &mut Facts) {
    facts.rt_runtime_us = captures.number("/proc/sys/kernel/sched_rt_runtime_us");
    facts.rt_period_us = captures.number("/proc/sys/kernel/sched_rt_period_us");
    facts.fair_server = fair_server(captures);
    facts.rt_threads = captures.text("@rt_threads").map(threads);
}

fn fair_server(captures: &Captures) -> Option<BTreeMap<u32, FairServer>> {
    const BASE: &str = "/sys/kernel/debug/sched/fair_server/cpu";
    let servers: BTreeMap<u32, FairServer> = captures
        .under(BASE)
        .filter_map(|(rest, runtime)| {
            let cpu = rest.strip_suffix("/runtime")?;
            let period_ns = captures.number(&format!("{BASE}{cpu}/period"))?;
            Some((cpu.parse().ok()?, FairServer { runtime_ns: runtime.trim().parse().ok()?, period_ns }))
        })
        .collect();
    (!servers.is_empty()).then_some(servers)
}

/// `pid tid policy priority cpus name`, one thread a line; a name may hold blanks.
fn threads(text: &str) -> Vec<RtThread> {
    text.lines().filter_map(thread).collect()
}

fn thread(line: &str) -> Option<RtThread> {
    let mut fields = line.splitn(6, ' ').skip(1);
    Some(RtThread {
        tid: fields.next()?.parse().ok()?,
        policy: match fields.next()? {
            "fifo" => ThreadPolicy::Fifo,
            "rr" => ThreadPolicy::Rr,
            "deadline" => ThreadPolicy::Deadline,
            _ => return None,
        },
        priority: fields.next()?.parse().ok()?,
        cpus: CpuList::parse(fields.next()?).ok().filter(|cpus| !cpus.is_empty()),
        name: fields.next()?.to_owned(),
    })
}
