//! The rest of the board: memory, consoles, tools, storage, log.

use super::captures::Captures;
use super::{Facts, kernel_log};
use std::collections::BTreeMap;

/// A directory on the board that runs are kept in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkDir {
    /// Path, symbolic links resolved.
    pub path: String,
    /// Kind of storage (`ext4`, `tmpfs`, `overlay`, `nfs` …).
    pub kind: Option<String>,
    /// What is mounted there (`/dev/mmcblk0p2`).
    pub device: Option<String>,
    /// Free space, in bytes.
    pub free_bytes: Option<u64>,
    /// Files can be written.
    pub writable: Option<bool>,
    /// Programs cannot be started from it.
    pub noexec: Option<bool>,
}

pub(super) fn read(captures: &Captures, facts: &mut Facts) {
    facts.transparent_hugepage = captures
        .word("/sys/kernel/mm/transparent_hugepage/enabled")
        .and_then(|text| Some(text.split_once('[')?.1.split_once(']')?.0.to_owned()));
    facts.console_level =
        captures.word("/proc/sys/kernel/printk").and_then(|text| text.split_whitespace().next()?.parse().ok());
    facts.consoles = captures.text("/proc/consoles").map(enabled_consoles);
    facts.tracer = captures
        .first_word(&["/sys/kernel/tracing/current_tracer", "/sys/kernel/debug/tracing/current_tracer"])
        .map(str::to_owned);
    let meminfo = |key: &str| value_of(captures.text("/proc/meminfo")?, key);
    facts.memory_total_kib = meminfo("MemTotal:");
    facts.memory_available_kib = meminfo("MemAvailable:").or_else(|| meminfo("MemFree:"));
    facts.oom_kills = captures.text("/proc/vmstat").and_then(|text| value_of(text, "oom_kill"));
    facts.interrupts = captures.text("/proc/interrupts").map(interrupts).unwrap_or_default();
    facts.uid = captures.number("@uid");
    facts.mono_ns = captures.number("@mono_ns");
    facts.tools = captures.figures("@which:").map(|(tool, path)| (tool.to_owned(), path.map(str::to_owned))).collect();
    facts.work_dirs = captures.under("@workdir:").map(|(asked, text)| work_dir(asked, text)).collect();
    facts.model = captures
        .first_word(&["/sys/firmware/devicetree/base/model", "/sys/class/dmi/id/product_name"])
        .map(str::to_owned);
    facts.kernel_log = captures.text("@kernel_log").map(kernel_log::parse);
    facts.temperatures_mc = temperatures(captures);
}

/// `key value …` lines, as in `/proc/meminfo` and `/proc/vmstat`.
fn value_of(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next()? == key).then(|| words.next()?.parse().ok())?
    })
}

/// `ttyS0  -W- (EC  p a)  4:64`: an `E` in the brackets is enabled.
fn enabled_consoles(text: &str) -> Vec<String> {
    text.lines()
        .filter(|line| {
            line.split_once('(').is_some_and(|(_, flags)| flags.split(')').next().unwrap_or("").contains('E'))
        })
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .collect()
}

/// `  27:  1  2  GICv2  27 Level  arch_timer`: label, one count per CPU of the heading, the rest is the name.
fn interrupts(text: &str) -> BTreeMap<String, String> {
    let mut lines = text.lines();
    let cpus = lines.next().map_or(0, |heading| heading.split_whitespace().count());
    lines
        .filter_map(|line| {
            let (label, rest) = line.split_once(':')?;
            let name: Vec<&str> = rest.split_whitespace().skip(cpus).collect();
            Some((label.trim().to_owned(), name.join(" ")))
        })
        .collect()
}

/// `key value` lines.
fn work_dir(asked: &str, text: &str) -> WorkDir {
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
        line.filter(|value| !value.is_empty())
    };
    WorkDir {
        path: value("path").unwrap_or(asked).to_owned(),
        kind: value("fstype").map(str::to_owned),
        device: value("device").map(str::to_owned),
        free_bytes: value("free_bytes").and_then(|n| n.parse().ok()),
        writable: value("writable").and_then(|b| b.parse().ok()),
        noexec: value("noexec").and_then(|b| b.parse().ok()),
    }
}

fn temperatures(captures: &Captures) -> BTreeMap<String, i64> {
    const BASE: &str = "/sys/class/thermal/thermal_zone";
    captures
        .under(BASE)
        .filter_map(|(rest, temperature)| {
            let zone = rest.strip_suffix("/temp")?;
            let name = captures.word(&format!("{BASE}{zone}/type")).unwrap_or("zone");
            Some((format!("{name} {zone}"), temperature.trim().parse().ok()?))
        })
        .collect()
}
