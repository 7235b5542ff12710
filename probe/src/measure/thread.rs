//! One sampling thread: set up, read back, let go.

use super::{Region, Sampler, Stepping, Work};
use crate::rt::{
    clock::{Monotonic, ReadCall, SleepCall},
    memory::touch_stack,
    sched,
    tracing::Tracing,
};
use latprobe::{
    cpulist::CpuList,
    spec::{Measure, Mode, Policy, Sleep, Weakness},
    stream::ThreadSetup,
};
use std::io;

/// A thread as the kernel granted it, and what is wrong with it.
pub(super) struct Granted {
    pub(super) setup: ThreadSetup,
    pub(super) findings: Vec<(Option<Weakness>, String)>,
}

/// Pins the calling thread, gives it its policy, and reads both back.
pub(super) fn prepare(index: usize, measure: &Measure) -> Granted {
    let thread = &measure.threads[index];
    let mut findings = Vec::new();
    if let Some(cpu) = thread.cpu {
        if let Err(error) = sched::set_affinity(&[cpu].into_iter().collect()) {
            findings.push((None, format!("thread {index} cannot be pinned to CPU {cpu}: {error}")));
        }
    }
    let asked = sched::set_policy(measure.policy, measure.priority, thread.interval_ns);
    let (policy, priority) = sched::policy().unwrap_or((None, 0));
    if let Some(text) = refusal(index, measure, asked, (policy, priority)) {
        findings.push((Some(Weakness::PolicyNotGranted), text));
    }
    if measure.policy == Policy::Other {
        if let Err(error) = sched::set_least_timer_slack() {
            findings.push((Some(Weakness::PolicyNotGranted), format!("thread {index} keeps its timer slack: {error}")));
        }
    }
    let allowed = sched::affinity().unwrap_or_default();
    if let Some(cpu) = thread.cpu.filter(|cpu| allowed != [*cpu].into_iter().collect::<CpuList>()) {
        findings.push((None, format!("thread {index} should run on CPU {cpu} but may run on `{allowed}`")));
    }
    touch_stack();
    let setup = ThreadSetup {
        tid: sched::tid(),
        cpu: thread.cpu,
        allowed_cpus: allowed.to_string(),
        policy: policy.unwrap_or(Policy::Other),
        priority,
        interval_ns: thread.interval_ns,
    };
    Granted { setup, findings }
}

fn refusal(index: usize, measure: &Measure, asked: io::Result<()>, got: (Option<Policy>, u32)) -> Option<String> {
    let priority = if matches!(measure.policy, Policy::Fifo | Policy::Rr) { measure.priority } else { 0 };
    if asked.is_ok() && got == (Some(measure.policy), priority) {
        return None;
    }
    let wanted = words(Some(measure.policy), priority);
    let Err(error) = asked else {
        return Some(format!("thread {index} should have {wanted}, the kernel has {}", words(got.0, got.1)));
    };
    let remedy = match (error.raw_os_error(), measure.policy) {
        (Some(libc::EPERM), Policy::Deadline) => {
            "a pinned deadline thread needs sched_rt_runtime_us = -1, or an exclusive cpuset"
        }
        (Some(libc::EPERM), _) => {
            "needs root, CAP_SYS_NICE or RLIMIT_RTPRIO; with RT_GROUP_SCHED also a cgroup that has real-time runtime"
        }
        (Some(libc::EBUSY), Policy::Deadline) => "the kernel's deadline bandwidth is used up",
        _ => "not supported by this kernel",
    };
    Some(format!("thread {index}: {wanted} was refused: {error} ({remedy})"))
}

fn words(policy: Option<Policy>, priority: u32) -> String {
    match policy {
        Some(Policy::Fifo) => format!("fifo priority {priority}"),
        Some(Policy::Rr) => format!("rr priority {priority}"),
        Some(Policy::Other) => "policy other".to_owned(),
        Some(Policy::Deadline) => "policy deadline".to_owned(),
        None => "a policy unknown here".to_owned(),
    }
}

/// Samples until its schedule or the supervisor ends it.
pub(super) fn sample(index: usize, measure: &Measure, region: Region, calls: (ReadCall, SleepCall)) -> io::Result<()> {
    let thread = &measure.threads[index];
    let schedule = region.schedule();
    let first_due_ns = schedule.first_due_ns(thread.interval_ns, thread.offset_ns);
    let (read, sleep) = calls;
    let (mut clock, stepping) = match measure.sleep {
        Sleep::Absolute => (Monotonic::absolute(read, sleep), Stepping::Grid),
        Sleep::Relative => (Monotonic::relative(read, sleep), Stepping::FromWake),
        Sleep::Timerfd => (Monotonic::timerfd(read, sleep, first_due_ns, thread.interval_ns)?, Stepping::Timer),
    };
    let work = match &measure.mode {
        Mode::Measure => Work::Sample { hunted_ns: u64::MAX },
        Mode::Hunt(hunt) => {
            clock.trace_with(Tracing::open(index)?);
            Work::Sample { hunted_ns: hunt.at_least_ns }
        }
        Mode::Noise { duty_percent } => Work::Spin { busy_ns: thread.interval_ns * u64::from(*duty_percent) / 100 },
    };
    let slot = region.slot(index);
    Sampler::new(slot, (stepping, work), thread.interval_ns, measure.bin_width_ns, measure.block_ns, first_due_ns)
        .run(&mut clock, schedule);
    Ok(())
}
