//! What may run on the measured CPUs, and what did.

use super::{CYCLONE_V, Outcome, Rule, Seen, Subject, Weight, fail, few, pass, time, unknown, warn};
use crate::facts::{Facts, cpu_list_text, is_local_interrupt};
use crate::quantity::count;
use latprobe::cpulist::CpuList;
use std::collections::BTreeMap;

/// What `isolcpus=` leaves on a CPU.
const ISOLATION: &str = "Linux, Documentation/admin-guide/cpu-isolation.rst";

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "isolcpus",
        reason: "on a shared CPU every other task, its cache lines and its system calls are part of the latency",
        source: CYCLONE_V,
        weight: Weight::Recipe,
        look: isolcpus,
    },
    Rule {
        name: "housekeeping-cpus",
        reason: "loads, ssh and interrupts need a CPU that is not measured; where none is left they stand still, or run where they must not",
        source: "two-core boards such as Cyclone V and Zynq have one left",
        weight: Weight::Sound,
        look: housekeeping,
    },
    Rule {
        name: "interrupt-affinity",
        reason: "isolcpus= keeps tasks away, and not interrupts: those go where their affinity lets them",
        source: ISOLATION,
        weight: Weight::Recipe,
        look: affinity,
    },
    Rule {
        name: "interrupts-fired",
        reason: "an interrupt on the measured CPU delays whatever runs there; its affinity only says where it may go",
        source: ISOLATION,
        weight: Weight::Sound,
        look: fired,
    },
    Rule {
        name: "workqueues",
        reason: "unbound kernel work runs on any CPU of its mask, isolated ones too",
        source: ISOLATION,
        weight: Weight::Recipe,
        look: workqueues,
    },
    Rule {
        name: "rcu-callbacks",
        reason: "RCU callbacks run on the CPU that queued them unless rcu_nocbs= moves them to threads elsewhere",
        source: ISOLATION,
        weight: Weight::Recipe,
        look: rcu,
    },
    Rule {
        name: "nohz-full",
        reason: "a CPU without a tick pays more at each system call, and a thread that wakes every millisecond gains nothing",
        source: "Linux, Documentation/timers/no_hz.rst",
        weight: Weight::Recipe,
        look: nohz,
    },
    Rule {
        name: "cpuset-partitions",
        reason: "a cpuset partition takes CPUs from everybody else, as isolcpus= does, and can be made or undone at any time",
        source: "Linux, Documentation/admin-guide/cgroup-v2.rst",
        weight: Weight::Recipe,
        look: partitions,
    },
    Rule {
        name: "smt",
        reason: "threads of one core share its caches and units: the neighbour slows the measured one down",
        source: "Linux, Documentation/admin-guide/hw-vuln/core-scheduling.rst",
        weight: Weight::Recipe,
        look: smt,
    },
];

fn isolcpus(subject: &Subject) -> Option<Seen> {
    let facts = subject.facts;
    let asked = match subject.settings {
        Some(settings) => Some(settings.boot.isolcpus.clone()?),
        None => None,
    };
    let Some(found) = &facts.isolated else {
        return unknown(
            "the board does not tell which CPUs are isolated",
            "look at /sys/devices/system/cpu/isolated and the kernel command line",
        );
    };
    let text = cpu_list_text(Some(found));
    match asked {
        Some(asked) if asked == *found => pass(format!("isolated CPUs: {text}, as asked")),
        Some(asked) if asked.is_empty() => {
            fail(format!("isolated CPUs: {text}, none are asked for"), "boot without isolcpus=")
        }
        Some(asked) => fail(format!("isolated CPUs: {text}, asked for {asked}"), format!("boot with isolcpus={asked}")),
        None if !found.is_empty() => pass(format!("isolated CPUs: {text}")),
        None if facts.online.as_ref().is_some_and(|online| online.len() == 1) => {
            warn("one CPU: isolation does not exist here", "measure on a board with more CPUs, or live with it")
        }
        None => fail("no CPU is isolated", "boot with isolcpus=1, or another CPU but 0"),
    }
}

fn housekeeping(subject: &Subject) -> Option<Seen> {
    let facts = subject.facts;
    let isolated = facts.isolated.as_ref().filter(|isolated| !isolated.is_empty())?;
    let Some(online) = &facts.online else { return unknown("the board does not tell its CPUs", "") };
    let rest = online.without(isolated);
    match rest.len() {
        0 => fail("every CPU is isolated", "leave at least CPU 0 out of isolcpus="),
        1 => warn(
            format!("CPU {rest} alone carries the loads, ssh and all interrupts"),
            "expect slow answers under load; that is how two-core boards are measured",
        ),
        _ => pass(format!("CPUs {rest} are left for everything else")),
    }
}

/// `45 (eth0)`.
fn named(facts: &Facts, label: &str) -> String {
    match facts.interrupts.get(label).and_then(|name| name.split_whitespace().next_back()) {
        Some(device) => format!("{label} ({device})"),
        None => label.to_owned(),
    }
}

fn affinity(subject: &Subject) -> Option<Seen> {
    let quiet = subject.quiet().filter(|quiet| !quiet.is_empty())?;
    let facts = subject.facts;
    if facts.irq_affinity.is_empty() || facts.interrupts.is_empty() {
        return unknown("the affinity of interrupts cannot be read", "look at /proc/irq/*/smp_affinity_list as root");
    }
    let may = facts.irqs_on(&quiet).map(|number| named(facts, &number.to_string()));
    let may: Vec<String> = may.collect();
    match may.is_empty() {
        true => pass(format!("no interrupt may go to CPU {quiet}")),
        false => warn(
            format!("may go to CPU {quiet}: {}", few(may)),
            "set irq_affinity = \"housekeeping\" in [apply], or boot with irqaffinity=",
        ),
    }
}

/// Counts on quiet CPUs, the local timer and calls of other CPUs apart: label → count.
fn on_quiet(facts: &Facts, quiet: &CpuList) -> BTreeMap<String, u64> {
    let is_foreign = |label: &str| !is_local_interrupt(label, facts.interrupts.get(label).map_or("", String::as_str));
    let of = |counts: &BTreeMap<u32, u64>| counts.iter().filter(|(cpu, _)| quiet.contains(**cpu)).map(|(_, n)| n).sum();
    let all = facts.interrupt_counts.iter().filter(|(label, _)| is_foreign(label));
    all.map(|(label, counts)| (label.clone(), of(counts))).collect()
}

fn fired(subject: &Subject) -> Option<Seen> {
    let quiet = subject.quiet().filter(|quiet| !quiet.is_empty())?;
    let facts = subject.facts;
    if facts.interrupt_counts.is_empty() {
        return unknown("interrupts cannot be counted", "look at /proc/interrupts");
    }
    let before = on_quiet(facts, &quiet);
    let same_boot = |later: &Facts| later.boot_id.is_some() && later.boot_id == facts.boot_id;
    let later = subject.later.filter(|later| same_boot(later));
    let text = |counts: Vec<(String, u64)>| {
        few(counts.into_iter().map(|(label, n)| format!("{} × {}", count(n), named(facts, &label))))
    };
    let fix =
        "set irq_affinity = \"housekeeping\" in [apply], or boot with irqaffinity=; some interrupts cannot be moved";
    let Some(later) = later else {
        let since_boot: Vec<(String, u64)> = before.into_iter().filter(|(_, n)| *n > 0).collect();
        return match since_boot.is_empty() {
            true => pass(format!("none on CPU {quiet} since boot but the local timer and other CPUs' calls")),
            false => warn(format!("on CPU {quiet} since boot: {}", text(since_boot)), fix),
        };
    };
    let deltas = on_quiet(later, &quiet).into_iter().filter_map(|(label, n)| {
        let fired = n.saturating_sub(before.get(&label).copied().unwrap_or(0));
        (fired > 0).then_some((label, fired))
    });
    let fired: Vec<(String, u64)> = deltas.collect();
    let span = match (facts.mono_ns, later.mono_ns) {
        (Some(from), Some(to)) => format!(" in {}", time(to.saturating_sub(from) / 1_000_000_000 * 1_000_000_000)),
        _ => String::new(),
    };
    match fired.is_empty() {
        true => pass(format!("none on CPU {quiet}{span} but the local timer and other CPUs' calls")),
        false => fail(format!("on CPU {quiet}{span}: {}", text(fired)), fix),
    }
}

fn workqueues(subject: &Subject) -> Option<Seen> {
    let quiet = subject.quiet().filter(|quiet| !quiet.is_empty())?;
    let Some(mask) = &subject.facts.workqueue_cpus else {
        return unknown("the mask of workqueues cannot be read", "look at /sys/devices/virtual/workqueue/cpumask");
    };
    match quiet.as_slice().iter().any(|cpu| mask.contains(*cpu)) {
        true => warn(format!("unbound work may run on CPUs {mask}"), "set workqueues = \"housekeeping\" in [apply]"),
        false => pass(format!("unbound work runs on CPUs {mask}")),
    }
}

fn rcu(subject: &Subject) -> Option<Seen> {
    let quiet = subject.quiet().filter(|quiet| !quiet.is_empty())?;
    let Some(moved) = &subject.facts.rcu_nocbs else { return unknown("the kernel command line is not known", "") };
    let left = quiet.without(moved);
    match left.is_empty() {
        true => pass(format!("moved away from CPUs {moved}")),
        false => warn(
            format!("may run on CPU {left}"),
            format!("boot with rcu_nocbs={quiet} (the published recipe does not)"),
        ),
    }
}

fn nohz(subject: &Subject) -> Option<Seen> {
    let quiet = subject.quiet().filter(|quiet| !quiet.is_empty())?;
    let Some(full) = &subject.facts.nohz_full else {
        return unknown("the board does not tell", "look at /sys/devices/system/cpu/nohz_full");
    };
    match quiet.as_slice().iter().any(|cpu| full.contains(*cpu)) {
        true => warn(format!("CPUs without a tick: {full}"), "boot without nohz_full= to repeat published figures"),
        false => pass(format!("CPUs without a tick: {}", cpu_list_text(Some(full)))),
    }
}

fn partitions(subject: &Subject) -> Option<Seen> {
    let facts = subject.facts;
    if facts.partitions.is_empty() {
        return pass("none");
    }
    let measured = subject.measured();
    let touches = |cpus: &CpuList| {
        let measured = measured.as_ref()?;
        Some(cpus.as_slice().iter().any(|cpu| measured.contains(*cpu)) && facts.isolated.as_ref() != Some(cpus))
    };
    let text = few(facts
        .partitions
        .iter()
        .map(|p| format!("{} ({}) has CPUs {}", p.name, p.kind, cpu_list_text(p.cpus.as_ref()))));
    let is_measured = facts.partitions.iter().any(|p| p.cpus.as_ref().and_then(touches).unwrap_or(true));
    let outcome = if is_measured { Outcome::Warn } else { Outcome::Pass };
    let fix = "undo the partition, or note it: a board without it is another experiment".to_owned();
    Some(Seen { outcome, found: text, fix })
}

fn smt(subject: &Subject) -> Option<Seen> {
    let siblings = &subject.facts.siblings;
    let measured = subject.measured()?;
    let shared: Vec<String> = measured
        .as_slice()
        .iter()
        .filter_map(|cpu| Some(format!("CPU {cpu} with {}", siblings.get(cpu)?.without(&[*cpu].into_iter().collect()))))
        .collect();
    match shared.is_empty() {
        true => pass("no measured CPU shares its core"),
        false => warn(
            format!("cores are shared: {}", few(shared)),
            "turn SMT off: echo off > /sys/devices/system/cpu/smt/control, or nosmt on the command line",
        ),
    }
}
