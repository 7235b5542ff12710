//! Files below `/proc` and `/sys` that say how the board is set up.

use super::reader::Item;
use crate::sorted;
use std::{fs, path::PathBuf};

/// Content kept of one file, in bytes, and of each file of a pattern.
const MAX_FILE: u64 = 4 << 20;
const MAX_MATCH: u64 = 64 << 10;
/// Files that a pattern may stand for: a board with more interrupts than that is none.
const MAX_MATCHES: usize = 2048;

/// In this order. A part `*` stands for every name there, `name*` for those that start so.
const FILES: &[&str] = &[
    "/proc/version",
    "/proc/cmdline",
    "/proc/sys/kernel/random/boot_id",
    "/proc/uptime",
    "/proc/loadavg",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/vmstat",
    "/proc/mounts",
    "/proc/modules",
    "/proc/consoles",
    "/proc/cgroups",
    "/proc/self/cgroup",
    "/proc/1/status",
    "/proc/1/comm",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/hostname",
    "/proc/sys/kernel/printk",
    "/proc/sys/kernel/sched_rt_runtime_us",
    "/proc/sys/kernel/sched_rt_period_us",
    "/proc/sys/kernel/timer_migration",
    "/proc/sys/kernel/watchdog",
    "/proc/sys/kernel/nmi_watchdog",
    "/proc/sys/kernel/soft_watchdog",
    "/proc/sys/kernel/watchdog_cpumask",
    "/proc/sys/kernel/hung_task_timeout_secs",
    "/proc/sys/kernel/numa_balancing",
    "/proc/sys/kernel/ftrace_enabled",
    "/proc/sys/kernel/perf_event_max_sample_rate",
    "/proc/sys/vm/stat_interval",
    "/proc/sys/vm/swappiness",
    "/proc/sys/vm/compaction_proactiveness",
    "/proc/swaps",
    "/proc/xenomai/version",
    "/proc/xenomai/latency",
    "/proc/xenomai/sched/threads",
    "/proc/xenomai/clock/coreclk",
    "/proc/ipipe/version",
    "/proc/ipipe/Linux",
    "/sys/kernel/realtime",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/cpu/present",
    "/sys/devices/system/cpu/possible",
    "/sys/devices/system/cpu/offline",
    "/sys/devices/system/cpu/isolated",
    "/sys/devices/system/cpu/nohz_full",
    "/sys/devices/system/cpu/cpuidle/current_driver",
    "/sys/devices/system/cpu/cpuidle/current_governor",
    "/sys/devices/system/cpu/cpuidle/current_governor_ro",
    "/sys/devices/system/cpu/smt/control",
    "/sys/devices/system/cpu/cpu*/cpufreq/scaling_driver",
    "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
    "/sys/devices/system/cpu/cpu*/cpufreq/scaling_available_governors",
    "/sys/devices/system/cpu/cpu*/cpufreq/scaling_min_freq",
    "/sys/devices/system/cpu/cpu*/cpufreq/scaling_max_freq",
    "/sys/devices/system/cpu/cpu*/cpufreq/scaling_cur_freq",
    "/sys/devices/system/cpu/cpu*/cpufreq/cpuinfo_min_freq",
    "/sys/devices/system/cpu/cpu*/cpufreq/cpuinfo_max_freq",
    "/sys/devices/system/cpu/cpu*/cpuidle/state*/name",
    "/sys/devices/system/cpu/cpu*/cpuidle/state*/latency",
    "/sys/devices/system/cpu/cpu*/cpuidle/state*/disable",
    "/sys/devices/system/cpu/cpu*/cpuidle/state*/usage",
    "/sys/devices/system/cpu/cpu*/cpuidle/state*/time",
    "/sys/devices/system/cpu/cpu*/power/pm_qos_resume_latency_us",
    "/sys/devices/system/cpu/cpu*/topology/core_id",
    "/sys/devices/system/cpu/cpu*/topology/physical_package_id",
    "/sys/devices/system/cpu/cpu*/topology/thread_siblings_list",
    "/sys/devices/system/cpu/cpu*/cache/index*/level",
    "/sys/devices/system/cpu/cpu*/cache/index*/type",
    "/sys/devices/system/cpu/cpu*/cache/index*/size",
    "/sys/devices/system/cpu/cpu*/cache/index*/shared_cpu_list",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "/sys/devices/system/clocksource/clocksource0/available_clocksource",
    "/sys/devices/system/clockevents/clockevent*/current_device",
    "/sys/devices/virtual/workqueue/cpumask",
    "/sys/devices/virtual/workqueue/cpumask_isolated",
    "/sys/bus/workqueue/devices/writeback/cpumask",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/kernel/mm/transparent_hugepage/defrag",
    "/sys/kernel/mm/ksm/run",
    "/sys/module/printk/parameters/console_suspend",
    "/sys/module/rcutree/parameters/kthread_prio",
    "/sys/module/kernel/parameters/crash_kexec_post_notifiers",
    "/sys/kernel/debug/sched/fair_server/cpu*/runtime",
    "/sys/kernel/debug/sched/fair_server/cpu*/period",
    "/sys/kernel/debug/sched/preempt",
    "/sys/kernel/debug/sched_features",
    "/sys/kernel/debug/sched/features",
    "/sys/kernel/debug/kmemleak",
    "/sys/kernel/tracing/current_tracer",
    "/sys/kernel/tracing/tracing_on",
    "/sys/kernel/tracing/set_event",
    "/sys/kernel/tracing/osnoise/cpus",
    "/sys/kernel/debug/tracing/current_tracer",
    "/sys/kernel/debug/tracing/tracing_on",
    "/sys/kernel/debug/tracing/set_event",
    "/sys/fs/cgroup/cpuset.cpus.effective",
    "/sys/fs/cgroup/cpuset.cpus.isolated",
    "/sys/fs/cgroup/*/cpuset.cpus.partition",
    "/sys/fs/cgroup/*/cpuset.cpus.effective",
    "/sys/fs/cgroup/cpuset/*/cpuset.cpus",
    "/sys/fs/cgroup/cpuset/*/cpuset.cpu_exclusive",
    "/sys/fs/cgroup/cpuset/cpuset.sched_load_balance",
    "/sys/firmware/devicetree/base/model",
    "/sys/firmware/devicetree/base/compatible",
    "/sys/firmware/devicetree/base/serial-number",
    "/sys/class/dmi/id/product_name",
    "/sys/class/dmi/id/board_name",
    "/sys/devices/soc0/machine",
    "/sys/devices/soc0/soc_id",
    "/sys/devices/soc0/serial_number",
    "/sys/class/thermal/thermal_zone*/type",
    "/sys/class/thermal/thermal_zone*/temp",
    "/sys/class/thermal/cooling_device*/type",
    "/sys/class/thermal/cooling_device*/cur_state",
    "/sys/class/drm/*/status",
    "/sys/class/graphics/fb*/name",
    "/sys/class/tty/console/active",
    "/sys/class/watchdog/watchdog*/state",
    "/sys/class/net/*/operstate",
    "/proc/irq/default_smp_affinity",
    "/proc/irq/*/smp_affinity_list",
    "/proc/irq/*/effective_affinity_list",
    "/proc/interrupts",
    "/proc/softirqs",
    "/proc/stat",
    "/etc/os-release",
];

pub(super) fn items() -> Vec<Item> {
    let mut items = Vec::new();
    for pattern in FILES {
        if pattern.contains('*') {
            // By length first: `cpu10` comes behind `cpu9`.
            let paths = sorted(expand(pattern).into_iter().map(|path| (path.as_os_str().len(), path)));
            let paths = paths.iter().take(MAX_MATCHES).filter_map(|(_, path)| path.to_str());
            items.extend(paths.map(|path| Item::file(path.to_owned(), MAX_MATCH)));
        } else {
            items.push(Item::file((*pattern).to_owned(), MAX_FILE));
        }
    }
    items
}

fn expand(pattern: &str) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::from("/")];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        let Some(start) = part.strip_suffix('*') else {
            found.iter_mut().for_each(|path| path.push(part));
            continue;
        };
        let matching = |dir: &PathBuf| {
            let entries = fs::read_dir(dir).into_iter().flatten().flatten();
            // `cpu*` means numbered ones, not `cpufreq`.
            let fits = |name: &str| {
                name.strip_prefix(start)
                    .is_some_and(|rest| start.is_empty() || rest.bytes().all(|b| b.is_ascii_digit()))
            };
            let names = entries.map(|entry| entry.file_name()).filter(|name| name.to_str().is_some_and(fits));
            names.map(|name| dir.join(name)).take(MAX_MATCHES).collect::<Vec<_>>()
        };
        found = found.iter().flat_map(matching).take(MAX_MATCHES).collect();
    }
    found.retain(|path| path.exists());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_names_only() {
        let cpus = expand("/sys/devices/system/cpu/cpu*");
        assert!(!cpus.is_empty());
        let digits =
            |path: &PathBuf| path.file_name().unwrap().to_str().unwrap()[3..].bytes().all(|b| b.is_ascii_digit());
        assert!(cpus.iter().all(digits), "{cpus:?}");
    }
}
