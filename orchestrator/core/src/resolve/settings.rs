//! `[apply]` → what to change on the board. What already holds is left alone: less to put back.

use super::Refusal;
use super::conditions::{QUIET_LEVEL, rt_runtime_asked_us, rt_runtime_us_per_second};
use crate::campaign::model::{Conditions, RtRuntime};
use crate::facts::Facts;
use latprobe::cpulist::CpuList;
use latprobe::spec::Setting;

/// Files to write. `measured`: CPUs of the sampling threads; all where they are not pinned.
pub(super) fn apply(asked: &Conditions, facts: &Facts, measured: &CpuList) -> Result<Vec<Setting>, Refusal> {
    let mut all = Vec::new();
    let mut set = |path: String, value: String| all.push(Setting { path, value, optional: false });
    if let Some(governor) = &asked.governor {
        for (cpu, found) in &facts.cpus {
            if !found.governors.is_empty() && !found.governors.contains(governor) {
                let available = found.governors.join(", ");
                return Err(Refusal::NoSuchGovernor { governor: governor.clone(), cpu: *cpu, available });
            }
            if found.governor.as_ref() != Some(governor) {
                set(format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"), governor.clone());
            }
        }
    }
    if let Some(asked) = asked.rt_runtime {
        let us = rt_runtime_asked_us(asked);
        if rt_runtime_us_per_second(facts) != Some(us) {
            // The kernel counts per period, which need not be one second.
            let value = match (asked, facts.rt_period_us) {
                (RtRuntime::Us(_), Some(period)) if period > 0 => us.saturating_mul(period) / 1_000_000,
                _ => us,
            };
            set("/proc/sys/kernel/sched_rt_runtime_us".to_owned(), value.to_string());
        }
    }
    if asked.console.is_some() && facts.console_level.is_none_or(|level| level > QUIET_LEVEL) {
        set("/proc/sys/kernel/printk".to_owned(), QUIET_LEVEL.to_string());
    }
    if let Some(word) = &asked.transparent_hugepage
        && facts.transparent_hugepage.as_ref() != Some(word)
    {
        set("/sys/kernel/mm/transparent_hugepage/enabled".to_owned(), word.clone());
    }
    if asked.watchdog.is_some() && facts.watchdog == Some(true) {
        set("/proc/sys/kernel/watchdog".to_owned(), "0".to_owned());
    }
    if asked.fair_server.is_some() {
        let servers = facts.fair_server.iter().flatten().filter(|(_, server)| server.runtime_ns > 0);
        servers
            .for_each(|(cpu, _)| set(format!("/sys/kernel/debug/sched/fair_server/cpu{cpu}/runtime"), "0".to_owned()));
    }
    if asked.tracing.is_some()
        && let Some(dir) = facts.tracing_dir
    {
        if facts.tracer.as_deref().is_some_and(|tracer| tracer != "nop") {
            set(format!("{dir}/current_tracer"), "nop".to_owned());
        }
        if facts.trace_events.as_ref().is_some_and(|events| !events.is_empty()) {
            set(format!("{dir}/set_event"), String::new());
        }
    }
    move_away(asked, facts, measured, &mut all)?;
    match (all.first(), facts.uid) {
        (Some(first), Some(uid)) if uid != 0 => Err(Refusal::NotRoot { path: first.path.clone(), uid }),
        _ => Ok(all),
    }
}

/// Interrupts and unbound work from the measured CPUs to the others.
fn move_away(asked: &Conditions, facts: &Facts, measured: &CpuList, all: &mut Vec<Setting>) -> Result<(), Refusal> {
    for (is_asked, key) in [(asked.irq_affinity.is_some(), "irq_affinity"), (asked.workqueues.is_some(), "workqueues")]
    {
        if is_asked && facts.online.as_ref().ok_or(Refusal::OnlineUnknown)?.without(measured).is_empty() {
            return Err(Refusal::NoHousekeeping { key: key.to_owned() });
        }
    }
    let online = facts.online.clone().unwrap_or_default();
    if asked.irq_affinity.is_some() {
        for number in facts.irqs_on(measured) {
            let rest = facts.irq_affinity.get(&number).map(|cpus| online_of(&cpus.without(measured), &online));
            let rest = rest.filter(|rest| !rest.is_empty()).unwrap_or_else(|| online.without(measured));
            let path = format!("/proc/irq/{number}/smp_affinity_list");
            all.push(Setting { path, value: rest.to_string(), optional: true });
        }
    }
    if asked.workqueues.is_some()
        && let Some(mask) = &facts.workqueue_cpus
        && measured.as_slice().iter().any(|cpu| mask.contains(*cpu))
    {
        let path = "/sys/devices/virtual/workqueue/cpumask".to_owned();
        all.push(Setting { path, value: hex_mask(&online.without(measured)), optional: false });
    }
    Ok(())
}

fn online_of(cpus: &CpuList, online: &CpuList) -> CpuList {
    cpus.as_slice().iter().copied().filter(|cpu| online.contains(*cpu)).collect()
}

/// As the kernel reads it: hexadecimal, 32 CPUs a word, the highest word first.
fn hex_mask(cpus: &CpuList) -> String {
    let words = cpus.as_slice().iter().max().map_or(1, |highest| highest / 32 + 1);
    let word = |word: u32| -> u32 {
        let bits = cpus.as_slice().iter().filter(|cpu| **cpu / 32 == word);
        bits.fold(0, |mask, cpu| mask | 1 << (cpu % 32))
    };
    (0..words).rev().map(|number| format!("{:08x}", word(number))).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_as_the_kernel_reads_them() {
        for (cpus, mask) in
            [("0", "00000001"), ("0-1,5", "00000023"), ("1,32", "00000001,00000002"), ("31", "80000000")]
        {
            assert_eq!(hex_mask(&CpuList::parse(cpus).unwrap()), mask);
        }
    }
}
