//! Scheduling: real-time limits and who else is real-time.

use super::Facts;
use super::captures::Captures;
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
    /// CPU it ran on last.
    pub cpu: Option<u32>,
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
    facts.rt_threads = captures.text("@threads").map(threads);
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

/// Lines of `/proc/PID/task/TID/stat`; policy and priority are fields 41 and 40, the CPU is field 39 (proc(5)).
fn threads(text: &str) -> Vec<RtThread> {
    text.lines().filter_map(thread).collect()
}

fn thread(line: &str) -> Option<RtThread> {
    // The name may hold blanks and brackets: it ends at the last bracket.
    let (tid, rest) = line.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    // `rest` starts with field 3.
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3).copied();
    let policy = match field(41)? {
        "1" => ThreadPolicy::Fifo,
        "2" => ThreadPolicy::Rr,
        "6" => ThreadPolicy::Deadline,
        _ => return None,
    };
    Some(RtThread {
        tid: tid.trim().parse().ok()?,
        name: name.to_owned(),
        policy,
        priority: field(40)?.parse().ok()?,
        cpu: field(39)?.parse().ok(),
    })
}
