//! `[apply]` → files to write on the board. What already holds is left alone: less to put back.

use super::Refusal;
use super::conditions::{QUIET_LEVEL, rt_runtime_asked_us, rt_runtime_us_per_second};
use crate::campaign::model::{Conditions, RtRuntime};
use crate::facts::Facts;
use latprobe::spec::Setting;

pub(super) fn apply(asked: &Conditions, facts: &Facts) -> Result<Vec<Setting>, Refusal> {
    let mut all = Vec::new();
    let mut set = |path: String, value: String| all.push(Setting { path, value });
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
    match (all.first(), facts.uid) {
        (Some(first), Some(uid)) if uid != 0 => Err(Refusal::NotRoot { path: first.path.clone(), uid }),
        _ => Ok(all),
    }
}
