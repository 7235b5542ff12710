//! Was the measuring process what was asked for, as the kernel sees it?

use super::Run;
use crate::judgement::Outcome::{self, Degrades, Invalidates, Ok, Unknown};
use crate::quantity::{count, total};
use latprobe::cpulist::CpuList;
use latprobe::spec::{CpuDmaLatency, Policy, Weakness};
use latprobe::stream::Instrument;

/// Nothing vouches for the set-up.
fn not_read_back(run: &Run) -> (Outcome, String) {
    let detail = match run.evidence.segments.iter().any(|segment| !segment.damage.is_empty()) {
        true => "the record of the set-up is not there: the stream is damaged",
        false => "the set-up was never read back: the run ended before its first sample",
    };
    (Invalidates, detail.to_owned())
}

/// A weakness that the campaign accepts degrades; any other invalidates.
fn weak(run: &Run, weakness: Weakness, detail: String) -> (Outcome, String) {
    match run.evidence.spec.accept.contains(&weakness) {
        true => (Degrades, format!("{detail} (accepted by the campaign)")),
        false => (Invalidates, detail),
    }
}

fn policy_text(policy: Policy, priority: u32) -> String {
    match policy {
        Policy::Fifo => format!("SCHED_FIFO {priority}"),
        Policy::Rr => format!("SCHED_RR {priority}"),
        Policy::Other => "SCHED_OTHER".to_owned(),
        Policy::Deadline => "SCHED_DEADLINE".to_owned(),
    }
}

/// Policy and priority, read back from the kernel: without a real-time policy the figures are those of ordinary tasks.
pub(super) fn policy(run: &Run) -> (Outcome, String) {
    let asked = &run.evidence.spec.measure;
    let (policy, priority) = (asked.policy, asked.priority);
    if run.instrument().is_none() {
        return not_read_back(run);
    }
    let threads = run.instruments().flat_map(|i| i.threads.iter().enumerate());
    match threads.into_iter().find(|(_, t)| (t.policy, t.priority) != (policy, priority)) {
        None => (Ok, format!("{} read back from the kernel", policy_text(policy, priority))),
        Some((index, found)) => {
            let detail = format!(
                "thread {index} ran as {}, asked for {}; run as root, or raise RLIMIT_RTPRIO",
                policy_text(found.policy, found.priority),
                policy_text(policy, priority)
            );
            weak(run, Weakness::PolicyNotGranted, detail)
        }
    }
}

/// Every thread was on its own CPU.
pub(super) fn placement(run: &Run) -> (Outcome, String) {
    let asked = &run.evidence.spec.measure.threads;
    if run.instrument().is_none() {
        return not_read_back(run);
    }
    for instrument in run.instruments() {
        if instrument.threads.len() != asked.len() {
            return (Invalidates, format!("{} sampling threads, asked for {}", instrument.threads.len(), asked.len()));
        }
        for (index, (found, asked)) in instrument.threads.iter().zip(asked).enumerate() {
            let pinned = asked.cpu.is_none_or(|cpu| found.allowed_cpus.trim() == cpu.to_string());
            if found.cpu != asked.cpu || !pinned {
                let asked = asked.cpu.map_or("any CPU".to_owned(), |cpu| format!("CPU {cpu}"));
                return (
                    Invalidates,
                    format!("thread {index} may run on CPU {}, asked for {asked}", found.allowed_cpus),
                );
            }
        }
    }
    let cpus: Vec<String> = asked.iter().filter_map(|t| t.cpu).map(|cpu| cpu.to_string()).collect();
    match cpus.is_empty() {
        true => (Ok, "threads are not pinned, as asked".to_owned()),
        false => (Ok, format!("one thread on each CPU of {}", cpus.join(","))),
    }
}

/// Helper threads beside a sampling thread show in its figures (cyclictest from 1.8 on puts its own there).
pub(super) fn supervisor(run: &Run) -> (Outcome, String) {
    let Some(instrument) = run.instrument() else {
        return not_read_back(run);
    };
    let measured: CpuList = run.evidence.spec.measure.threads.iter().filter_map(|t| t.cpu).collect();
    let (Some(online), Some(own)) = (&run.evidence.before.online, CpuList::parse(&instrument.supervisor_cpus).ok())
    else {
        return (Unknown, "the board does not tell its CPUs".to_owned());
    };
    let shared: CpuList = own.as_slice().iter().copied().filter(|cpu| measured.contains(*cpu)).collect();
    match (shared.is_empty(), online.without(&measured).is_empty()) {
        (true, _) => (Ok, format!("the probe's own work was on CPU {own}")),
        (false, true) => (Ok, "every CPU is measured: the probe's own work was on one of them".to_owned()),
        (false, false) => (Degrades, format!("the probe's own work could run on measured CPU {shared}")),
    }
}

/// Idle states are left as late as the campaign says: cyclictest holds them off, rtla does not, and the figures differ by it.
pub(super) fn idle_states(run: &Run) -> (Outcome, String) {
    let Some(instrument) = run.instrument() else {
        return not_read_back(run);
    };
    let found = instrument.cpu_dma_latency.as_str();
    let asked = run.evidence.spec.measure.cpu_dma_latency;
    match (asked, found) {
        (CpuDmaLatency::None, _) => (Ok, "left alone, as asked".to_owned()),
        // A kernel without power management for CPUs has no idle states to hold off.
        (CpuDmaLatency::Hold, "missing") => (Ok, "no /dev/cpu_dma_latency on this kernel".to_owned()),
        (CpuDmaLatency::PerCpu, "missing") => {
            (Degrades, "idle states could not be held off: no pm_qos_resume_latency_us of the measured CPUs".to_owned())
        }
        (CpuDmaLatency::Hold, found) if found.starts_with("held") => (Ok, format!("/dev/cpu_dma_latency {found}")),
        (CpuDmaLatency::PerCpu, "per-cpu") => (Ok, "held off on the measured CPUs".to_owned()),
        (_, found) => (Degrades, format!("idle states could not be held off: {found}")),
    }
}

/// Without locked memory a page fault can sit in any wake-up.
pub(super) fn memory_locked(run: &Run) -> (Outcome, String) {
    if !run.evidence.spec.measure.mlock {
        return (Ok, "not asked for".to_owned());
    }
    match run.instruments().map(|i| i.memory_locked).reduce(|a, b| a && b) {
        None => not_read_back(run),
        Some(true) => (Ok, "memory of the measuring process is locked".to_owned()),
        Some(false) => {
            let detail = "memory is not locked; run as root, or raise RLIMIT_MEMLOCK".to_owned();
            weak(run, Weakness::MemoryNotLocked, detail)
        }
    }
}

/// A major fault waits for storage: its latency is not the scheduler's. Minor ones are few microseconds
/// (compaction and CMA migrate even locked pages).
pub(super) fn page_faults(run: &Run) -> (Outcome, String) {
    let minor = total(run.threads.iter().map(|t| t.minor_faults));
    let major = total(run.threads.iter().map(|t| t.major_faults));
    match (minor, major) {
        (0, 0) => (Ok, "none in the sampling threads".to_owned()),
        (minor, 0) => {
            (Degrades, format!("{} minor page faults in the sampling threads after the warm-up", count(minor)))
        }
        (minor, major) => (
            Invalidates,
            format!(
                "{} major and {} minor page faults in the sampling threads after the warm-up",
                count(major),
                count(minor)
            ),
        ),
    }
}

/// A clock whose step is wider than a bin cannot fill the bins; the cost of a read is part of every figure.
pub(super) fn clock(run: &Run) -> (Outcome, String) {
    let width = run.evidence.spec.measure.bin_width_ns;
    let Some(Instrument { selftest, .. }) = run.instruments().max_by_key(|i| i.selftest.clock_step_ns) else {
        return not_read_back(run);
    };
    let tick = match selftest.timer_resolution_ns {
        0 | 1 => String::new(),
        ns => format!("; no high-resolution timers: sleeps end on a tick of {}", crate::quantity::duration(ns)),
    };
    let read = format!(
        "step {} ns, a read costs {} to {} ns ({}){tick}",
        selftest.clock_step_ns, selftest.clock_read_min_ns, selftest.clock_read_p99_ns, selftest.clock_call
    );
    match selftest.clock_step_ns > width {
        false => (Ok, read),
        true => weak(run, Weakness::CoarseClock, format!("the clock is coarser than a bin of {width} ns: {read}")),
    }
}
