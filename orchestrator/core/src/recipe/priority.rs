//! Who else is real-time, and what keeps time from real-time threads.

use super::{CYCLONE_V, Rule, Seen, Subject, Weight, fail, few, pass, time, unknown, warn};
use crate::campaign::model::RtRuntime;
use crate::facts::{RtThread, ThreadPolicy};
use crate::resolve::{rt_runtime_asked_us, rt_runtime_us_per_second};
use crate::target::Arch;
use latprobe::spec::is_kernels_own;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "competing-threads",
        reason: "a thread at or above the sampling thread's priority runs first, and its run time becomes latency",
        source: CYCLONE_V,
        weight: Weight::Sound,
        look: competing,
    },
    Rule {
        name: "high-priority",
        reason: "at 98 and 99 the sampling thread competes with the kernel's own threads; a busy one hangs the board",
        source: "the published recipe uses 98; NI Linux Real-Time stays below",
        weight: Weight::Recipe,
        look: high,
    },
    Rule {
        name: "rt-throttling",
        reason: "when real-time threads use 95 % of a second, the kernel takes the CPU from them for the rest of it",
        source: CYCLONE_V,
        weight: Weight::Recipe,
        look: throttling,
    },
    Rule {
        name: "fair-server",
        reason: "from Linux 6.12 on a deadline server keeps 50 ms of each second for ordinary tasks, whatever sched_rt_runtime_us says",
        source: "Linux, commit d741f297 (sched/fair: Fair server interface)",
        weight: Weight::Recipe,
        look: fair_server,
    },
    Rule {
        name: "fair-server-scaling",
        reason: "early fair servers scale their runtime by frequency and capacity: on slow cores they hold real-time tasks back for seconds",
        source: "Linux, commit fc975cfb (sched/deadline: Fix dl_server runtime calculation formula)",
        weight: Weight::Recipe,
        look: scaling,
    },
    Rule {
        name: "watchdogs",
        reason: "the lockup detectors wake on every CPU; before Linux 4.19 with threads at SCHED_FIFO 99",
        source: "Linux, Documentation/admin-guide/lockup-watchdogs.rst",
        weight: Weight::Recipe,
        look: watchdogs,
    },
];

fn competing(subject: &Subject) -> Option<Seen> {
    // Cobalt's threads run before all of Linux.
    if subject.is_cobalt() {
        return None;
    }
    let priority = subject.priority()?;
    let Some(threads) = &subject.facts.rt_threads else {
        return unknown("real-time threads cannot be listed", "capture the facts as root");
    };
    let measured = subject.measured();
    let on_measured = |thread: &RtThread| match (&thread.cpus, &measured) {
        (Some(cpus), Some(measured)) => cpus.as_slice().iter().any(|cpu| measured.contains(*cpu)),
        _ => true,
    };
    let competes = |thread: &&RtThread| {
        let at_or_above = thread.policy == ThreadPolicy::Deadline || thread.priority >= priority;
        at_or_above && !is_kernels_own(&thread.name) && on_measured(thread)
    };
    let found: Vec<&RtThread> = threads.iter().filter(competes).collect();
    let Some(first) = found.first() else {
        return pass(format!(
            "none at or above {priority} but the kernel's own migration, watchdog and posixcputmr threads"
        ));
    };
    let policy = |thread: &RtThread| match thread.policy {
        ThreadPolicy::Fifo => format!("SCHED_FIFO {}", thread.priority),
        ThreadPolicy::Rr => format!("SCHED_RR {}", thread.priority),
        ThreadPolicy::Deadline => "SCHED_DEADLINE".to_owned(),
    };
    let text = few(found.iter().map(|thread| format!("{} ({}, thread {})", thread.name, policy(thread), thread.tid)));
    let fix = format!(
        "stop it, or lower it: chrt -f -p {} {}; or set rt_threads = \"below\" in [apply]",
        priority.saturating_sub(1).max(1),
        first.tid
    );
    fail(text, fix)
}

fn high(subject: &Subject) -> Option<Seen> {
    let priority = subject.settings.and_then(|_| subject.priority())?;
    match priority >= 98 {
        true => warn(
            format!("measured at {priority}"),
            "set priority = 97 or less, unless a published figure is to be repeated",
        ),
        false => pass(format!("measured at {priority}")),
    }
}

fn throttling(subject: &Subject) -> Option<Seen> {
    if subject.is_cobalt() {
        return None;
    }
    let wanted = subject.rt_runtime();
    let Some(found) = rt_runtime_us_per_second(subject.facts) else {
        return unknown("sched_rt_runtime_us cannot be read", "look at /proc/sys/kernel/sched_rt_runtime_us");
    };
    let text = match found {
        ..0 => "no throttling".to_owned(),
        us => format!("throttled after {us} us of each second"),
    };
    if found == rt_runtime_asked_us(wanted) {
        return pass(text);
    }
    let fix = match wanted {
        RtRuntime::Unlimited => {
            "set rt_runtime = \"unlimited\" in [apply], or echo -1 > /proc/sys/kernel/sched_rt_runtime_us".to_owned()
        }
        RtRuntime::Us(us) => format!("set rt_runtime = \"{us}us\" in [apply]"),
    };
    fail(text, fix)
}

fn fair_server(subject: &Subject) -> Option<Seen> {
    if subject.is_cobalt() {
        return None;
    }
    let facts = subject.facts;
    let fix = "set fair_server = \"off\" in [apply], or echo 0 > /sys/kernel/debug/sched/fair_server/cpuN/runtime";
    match &facts.fair_server {
        Some(servers) => match servers.values().max_by_key(|server| server.runtime_ns) {
            Some(server) if server.runtime_ns > 0 => {
                fail(format!("keeps {} of each {}", time(server.runtime_ns), time(server.period_ns)), fix)
            }
            _ => pass("off on every CPU"),
        },
        // Seen as root with debugfs mounted: the directory would be there.
        None if facts.debugfs == Some(true) && facts.uid == Some(0) => pass("this kernel has none"),
        None => unknown(
            "cannot be seen without debugfs",
            "mount -t debugfs none /sys/kernel/debug, and capture the facts as root",
        ),
    }
}

/// Linux 6.12 to 6.16: the server is there, the mended formula is not, unless a stable release has it.
fn scaling(subject: &Subject) -> Option<Seen> {
    let facts = subject.facts;
    if !matches!(facts.arch, Some(Arch::Armv7 | Arch::Aarch64)) {
        return None;
    }
    let mut version = facts.release.as_deref()?.split(['.', '-']);
    let (major, minor): (u32, u32) = (version.next()?.parse().ok()?, version.next()?.parse().ok()?);
    let is_on = facts.fair_server.as_ref().is_none_or(|servers| servers.values().any(|server| server.runtime_ns > 0));
    if major != 6 || !(12..=16).contains(&minor) {
        return None;
    }
    match is_on {
        true => warn(
            format!("Linux {major}.{minor} may be one of them"),
            "turn the fair server off (fair_server = \"off\" in [apply]), or use Linux 6.17 or a stable release with that fix",
        ),
        false => pass("the fair server is off"),
    }
}

fn watchdogs(subject: &Subject) -> Option<Seen> {
    match subject.facts.watchdog {
        Some(true) => warn("the lockup detectors are on", "set watchdog = \"off\" in [apply], or boot with nowatchdog"),
        Some(false) => pass("the lockup detectors are off"),
        None => unknown(
            "the board does not tell",
            "look at /proc/sys/kernel/watchdog; a kernel without lockup detectors has no such file",
        ),
    }
}
