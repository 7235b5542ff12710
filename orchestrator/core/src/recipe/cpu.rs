//! Speed and sleep of the CPUs.

use super::{CYCLONE_V, Rule, Seen, Subject, Weight, fail, few, pass, unknown, warn};
use crate::resolve::governors;
use latprobe::spec::CpuDmaLatency;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "governor",
        reason: "a CPU that changes its frequency measures several boards, and changing it takes time itself",
        source: CYCLONE_V,
        weight: Weight::Recipe,
        look: governor,
    },
    Rule {
        name: "cpuidle",
        reason: "leaving a deep idle state takes up to milliseconds; the published recipe has no cpuidle driver, plain WFI",
        source: CYCLONE_V,
        weight: Weight::Recipe,
        look: cpuidle,
    },
    Rule {
        name: "cooling",
        reason: "a board that is held back for heat is slower than its figures say",
        source: "Linux, Documentation/driver-api/thermal/sysfs-api.rst",
        weight: Weight::Recipe,
        look: cooling,
    },
];

fn governor(subject: &Subject) -> Option<Seen> {
    let facts = subject.facts;
    let wanted = subject.governor();
    if facts.cpus.is_empty() {
        return match facts.online {
            Some(_) => pass("no frequency scaling"),
            None => unknown("the board does not tell its CPUs", ""),
        };
    }
    let text = governors(facts);
    if facts.cpus.values().all(|cpu| cpu.governor.as_deref() == Some(wanted)) {
        return pass(text);
    }
    fail(text, format!("set governor = \"{wanted}\" in [apply], or cpupower frequency-set -g {wanted}"))
}

/// States that take longer to leave than plain waiting for an interrupt.
const WFI_US: u64 = 2;

fn cpuidle(subject: &Subject) -> Option<Seen> {
    let facts = subject.facts;
    let Some(driver) = facts.idle_driver.as_deref() else {
        return unknown(
            "the board does not tell its cpuidle driver",
            "look at /sys/devices/system/cpu/cpuidle/current_driver",
        );
    };
    if driver == "none" {
        return pass("no cpuidle driver: plain wait for interrupt");
    }
    let measured = subject.measured();
    let of_measured = |cpu: &u32| measured.as_ref().is_none_or(|measured| measured.contains(*cpu));
    let states = facts.idle_states.iter().filter(|(cpu, _)| of_measured(cpu)).flat_map(|(_, states)| states);
    let mut deep: Vec<(u64, &str)> = states
        .filter(|state| state.is_disabled != Some(true))
        .filter_map(|state| Some((state.exit_latency_us?, state.name.as_str())))
        .filter(|(us, _)| *us > WFI_US)
        .collect();
    deep.sort_unstable();
    deep.dedup();
    if deep.is_empty() {
        return pass(format!("driver {driver}, no state deeper than waiting for an interrupt"));
    }
    let text = format!("driver {driver}, states {}", few(deep.iter().map(|(us, name)| format!("{name} ({us} us)"))));
    let fix = "boot with cpuidle.off=1, or build without the driver";
    match subject.settings.map(|settings| settings.measure.cpu_dma_latency) {
        Some(CpuDmaLatency::None) => fail(text, format!("set cpu_dma_latency = \"hold\" in [measure]; {fix}")),
        _ => warn(format!("{text}; kept out of them for the run by cpu_dma_latency"), fix),
    }
}

fn cooling(subject: &Subject) -> Option<Seen> {
    let held = &subject.facts.cooling;
    match held.is_empty() {
        true => pass("nothing is held back"),
        false => warn(few(held.iter().map(|(device, state)| format!("{device} at {state}"))), "cool the board"),
    }
}
