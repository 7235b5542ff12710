//! How the kernel was built, as far as it has a known hand in latency.

use super::Facts;
use super::captures::Captures;

/// Configuration that was given with a kernel that latlab installed: the host's, for boards that do not show their own.
pub const INSTALLED: &str = "@config.installed";

pub(super) fn read(captures: &Captures, facts: &mut Facts) {
    let text = captures
        .text("@config.gz")
        .or_else(|| captures.text(INSTALLED))
        .or_else(|| captures.ending("/boot/config-", ""))
        .or_else(|| captures.ending("/lib/modules/", "/config"));
    facts.config = text.map(|text| {
        let option = |line: &str| {
            let (name, value) = line.strip_prefix("CONFIG_")?.split_once('=')?;
            matters(name).then(|| (name.to_owned(), value.to_owned()))
        };
        text.lines().filter_map(option).collect()
    });
}

/// The capture of this path is a kernel configuration.
pub(crate) fn is_config(path: &str) -> bool {
    path == "@config.gz"
        || path == INSTALLED
        || path.starts_with("/boot/config-")
        || (path.starts_with("/lib/modules/") && path.ends_with("/config"))
}

/// Options with a known hand in latency: ticks, preemption, idle and frequency, RCU, isolation, debugging, tracing, memory migration.
pub(crate) fn matters(name: &str) -> bool {
    const STARTS: [&str; 34] = [
        "HZ",
        "PREEMPT",
        "NO_HZ",
        "HIGH_RES",
        "CPU_FREQ",
        "CPU_IDLE",
        "CPU_ISOLATION",
        "RCU_",
        "IRQ_",
        "TICK_",
        "SCHED_",
        "RT_",
        "PROVE_",
        "LOCKDEP",
        "LOCK_STAT",
        "DEBUG_",
        "KASAN",
        "KCSAN",
        "KMSAN",
        "UBSAN",
        "SLUB_DEBUG",
        "FTRACE",
        "FUNCTION_TRACER",
        "TRANSPARENT_HUGEPAGE",
        "COMPACTION",
        "CMA",
        "NUMA",
        "CACHE_L2X0",
        "SMP",
        "XENO",
        "IPIPE",
        "KCOV",
        "GCOV",
        "DOVETAIL",
    ];
    STARTS.iter().any(|start| name.starts_with(start)) || name.ends_with("_TRACER")
}
