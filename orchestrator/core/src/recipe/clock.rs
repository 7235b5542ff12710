//! The clock that everything is measured by.

use super::{Rule, Seen, Subject, Weight, fail, few, pass, unknown, warn};

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "clocksource",
        reason: "a slow or coarse clock source is part of every sample",
        source: "Linux, Documentation/timers/timekeeping.rst",
        weight: Weight::Recipe,
        look: clocksource,
    },
    Rule {
        name: "time-sync",
        reason: "a daemon that sets the clock changes the rate of CLOCK_MONOTONIC, and wakes up",
        source: "Xenomai's xeno-test stops them (commit 16d28d5c5)",
        weight: Weight::Recipe,
        look: time_sync,
    },
];

/// Daemons that set the clock, by name (`comm`).
pub(crate) const TIME_DAEMONS: &[&str] =
    &["chronyd", "ntpd", "systemd-timesyn", "openntpd", "ptp4l", "phc2sys", "ts2phc", "sntp", "connmand"];

/// Sources with a resolution of a tick, or behind a slow bus.
const POOR: &[&str] = &["jiffies", "refined-jiffies", "acpi_pm", "hpet", "pit"];

fn clocksource(subject: &Subject) -> Option<Seen> {
    let required = subject.settings.and_then(|settings| settings.require.clocksource.as_deref());
    let Some(found) = subject.facts.clocksource.as_deref() else {
        return unknown("the clock source cannot be read", "look at /sys/devices/system/clocksource/clocksource0");
    };
    match required {
        Some(asked) if asked != found => {
            fail(format!("{found}, asked for {asked}"), format!("boot with clocksource={asked}"))
        }
        None if POOR.contains(&found) => warn(found, "find out in the kernel log why the better one was given up"),
        _ => pass(found),
    }
}

fn time_sync(subject: &Subject) -> Option<Seen> {
    let Some(processes) = &subject.facts.processes else {
        return unknown("processes cannot be listed", "capture the facts as root");
    };
    let daemons = processes.iter().filter(|process| TIME_DAEMONS.contains(&process.name.as_str()));
    let daemons: Vec<String> = daemons.map(|process| format!("{} (process {})", process.name, process.pid)).collect();
    match daemons.is_empty() {
        true => pass("none runs"),
        false => warn(few(daemons), "set time_sync = \"stopped\" in [apply], or stop it"),
    }
}
