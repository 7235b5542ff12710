//! How the kernel was built and started.

use super::{CYCLONE_V, Rule, Seen, Subject, Weight, fail, few, pass, time, unknown, warn};
use crate::campaign::model::Preemption;
use crate::resolve::preemption_name;
use crate::units::SECOND;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "preempt-rt",
        reason: "without full preemption any system call or interrupt handler may hold a real-time thread back for milliseconds",
        source: CYCLONE_V,
        weight: Weight::Recipe,
        look: preempt_rt,
    },
    Rule {
        name: "threadirqs",
        reason: "interrupt handlers that are no threads run before every real-time thread, whatever its priority",
        source: CYCLONE_V,
        weight: Weight::Recipe,
        look: threadirqs,
    },
    Rule {
        name: "kernel-debug",
        reason: "debug features of the kernel cost time in every lock, allocation and scheduling decision",
        source: CYCLONE_V,
        weight: Weight::Recipe,
        look: debug,
    },
    Rule {
        name: "high-resolution-timers",
        reason: "without high-resolution timers every sleep ends at a tick: each one oversleeps by up to a tick, and the figures grow through the run",
        source: "Yocto mailing list, February 2015, BeagleBone Black",
        weight: Weight::Sound,
        look: high_resolution,
    },
    Rule {
        name: "interval-tick",
        reason: "wake-ups whose interval divides the tick always meet the tick's own work, or never do; an interval of 997 us meets it now and then",
        source: "NI Linux Real-Time's run-cyclictest uses 997 us; published figures mostly use 1000 us",
        weight: Weight::Recipe,
        look: interval,
    },
    Rule {
        name: "rt-group-scheduling",
        reason: "with real-time group scheduling a control group without a real-time budget refuses SCHED_FIFO, and one with a budget is throttled",
        source: "Linux, Documentation/scheduler/sched-rt-group.rst",
        weight: Weight::Recipe,
        look: rt_groups,
    },
    Rule {
        name: "cobalt-calibration",
        reason: "Cobalt shoots its timer early by its gravity, found by autotune: another gravity moves every figure",
        source: CYCLONE_V,
        weight: Weight::Recipe,
        look: calibration,
    },
];

/// Options that cost time wherever they are on.
const COSTLY: &[&str] = &[
    "PROVE_LOCKING",
    "PROVE_RCU",
    "LOCK_STAT",
    "DEBUG_LOCK_ALLOC",
    "DEBUG_MUTEXES",
    "DEBUG_RT_MUTEXES",
    "DEBUG_SPINLOCK",
    "DEBUG_RWSEMS",
    "DEBUG_ATOMIC_SLEEP",
    "DEBUG_PREEMPT",
    "DEBUG_OBJECTS",
    "DEBUG_KMEMLEAK",
    "DEBUG_PAGEALLOC_ENABLE_DEFAULT",
    "DEBUG_VM",
    "SLUB_DEBUG_ON",
    "KASAN",
    "KCSAN",
    "KMSAN",
    "KCOV",
    "GCOV_KERNEL",
    "IRQSOFF_TRACER",
    "PREEMPT_TRACER",
    "IPIPE_DEBUG",
    "IPIPE_TRACE",
    "XENO_OPT_DEBUG",
];

fn preempt_rt(subject: &Subject) -> Option<Seen> {
    let runs = subject.facts.preemption;
    let asked = subject.variant();
    if subject.is_cobalt() {
        return None;
    }
    let fix = "boot a kernel with PREEMPT_RT (PREEMPT_RT_FULL before Linux 5.3)";
    let Some(runs) = runs else {
        return unknown(
            "the board does not tell its preemption model",
            "keep /proc/config.gz or /boot/config-RELEASE on the board",
        );
    };
    let name = preemption_name(runs);
    match asked {
        Some(variant) if variant.not_preempt_rt => match runs == Preemption::PreemptRt {
            true => fail(
                format!("{name} runs, the campaign asks for a kernel without it"),
                "boot the kernel variant that is asked for",
            ),
            false => pass(format!("{name} runs, as asked")),
        },
        _ if runs == Preemption::PreemptRt => pass("PREEMPT_RT runs"),
        _ => fail(format!("the preemption model is {name}"), fix),
    }
}

fn threadirqs(subject: &Subject) -> Option<Seen> {
    if subject.is_cobalt() {
        return None;
    }
    match (subject.facts.preemption, subject.facts.cmdline_has("threadirqs")) {
        (_, Some(true)) => pass("on the kernel command line"),
        (Some(Preemption::PreemptRt), _) => pass("PREEMPT_RT makes threads of interrupt handlers by itself"),
        (_, Some(false)) => warn("interrupt handlers are no threads", "boot with threadirqs"),
        (_, None) => unknown("the kernel command line is not known", "boot with threadirqs"),
    }
}

fn debug(subject: &Subject) -> Option<Seen> {
    let Some(config) = &subject.facts.config else {
        return unknown(
            "no kernel configuration is at hand",
            "build with IKCONFIG_PROC, or keep /boot/config-RELEASE on the board",
        );
    };
    let on: Vec<String> =
        COSTLY.iter().filter(|name| config.contains_key(**name)).map(|name| (*name).to_owned()).collect();
    match on.is_empty() {
        true => pass("none of the costly debug options is built in"),
        false => fail(few(on), "build the kernel without these options"),
    }
}

fn high_resolution(subject: &Subject) -> Option<Seen> {
    let facts = subject.facts;
    let fix = "build with HIGH_RES_TIMERS, boot without highres=off, and use a timer that can do one shot";
    match (facts.timer_resolution_ns, facts.cmdline_value("highres"), facts.built_with("HIGH_RES_TIMERS")) {
        (Some(1), ..) => pass("the clock's timers have a resolution of 1 ns"),
        (Some(ns), ..) => fail(format!("the clock's timers step by {}", time(ns)), fix),
        (None, Some("off"), _) => fail("highres=off is on the kernel command line", fix),
        (None, _, Some(false)) => fail("the kernel is built without HIGH_RES_TIMERS", fix),
        (None, _, Some(true)) => pass("the kernel is built with HIGH_RES_TIMERS"),
        (None, _, None) => {
            unknown("the board does not tell", "build with IKCONFIG_PROC, or keep /boot/config-RELEASE on the board")
        }
    }
}

fn interval(subject: &Subject) -> Option<Seen> {
    let interval_ns = subject.settings?.measure.interval_ns;
    let hz: Option<u64> = subject.facts.config.as_ref().and_then(|config| config.get("HZ")?.parse().ok());
    let Some(tick_ns) = hz.filter(|hz| *hz > 0).map(|hz| SECOND / hz) else {
        return unknown(
            "the length of the tick is not known",
            "keep /proc/config.gz or /boot/config-RELEASE on the board",
        );
    };
    let (interval, tick) = (time(interval_ns), time(tick_ns));
    if interval_ns.is_multiple_of(tick_ns) || tick_ns.is_multiple_of(interval_ns) {
        let fix = "set interval = \"997us\", unless a published figure is to be repeated";
        return warn(format!("an interval of {interval} keeps its phase to the tick of {tick}"), fix);
    }
    pass(format!("an interval of {interval} drifts through the tick of {tick}"))
}

fn rt_groups(subject: &Subject) -> Option<Seen> {
    match subject.facts.built_with("RT_GROUP_SCHED") {
        Some(false) => pass("the kernel is built without it"),
        Some(true) => warn(
            "the kernel is built with RT_GROUP_SCHED",
            "build without RT_GROUP_SCHED, or boot with rt_group_sched=0 (Linux 6.15 on)",
        ),
        None => {
            unknown("no kernel configuration is at hand", "keep /proc/config.gz or /boot/config-RELEASE on the board")
        }
    }
}

fn calibration(subject: &Subject) -> Option<Seen> {
    if !subject.is_cobalt() {
        return None;
    }
    match &subject.facts.gravity {
        Some(gravity) => pass(format!("{gravity} (the default was near enough on Cyclone V)")),
        None => {
            unknown("Cobalt's gravity cannot be read", "run `autotune` once after each boot, and note what it sets")
        }
    }
}
