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
    let meminfo = |key: &str| value_of(captures.text("/proc/meminfo")?, key);
    facts.memory_total_kib = meminfo("MemTotal:");
    facts.memory_available_kib = meminfo("MemAvailable:").or_else(|| meminfo("MemFree:"));
    facts.oom_kills = captures.text("/proc/vmstat").and_then(|text| value_of(text, "oom_kill"));
    facts.uid = captures.number("@uid");
    facts.mono_ns = captures.number("@mono_ns");
    facts.tools = captures.figures("@which:").map(|(tool, path)| (tool.to_owned(), path.map(str::to_owned))).collect();
    facts.work_dirs = captures.under("@workdir:").map(|(asked, text)| work_dir(asked, text)).collect();
    facts.model = captures
        .first_word(&["/sys/firmware/devicetree/base/model", "/sys/class/dmi/id/product_name"])
        .map(str::to_owned);
    facts.kernel_log = captures.text("@kernel_log").map(kernel_log::parse);
    facts.temperatures_mc = temperatures(captures);
    facts.timer_resolution_ns = captures.number("@resolution_ns");
    facts.watchdog = captures.number::<u32>("/proc/sys/kernel/watchdog").map(|on| on > 0);
    facts.timer_migration = captures.number::<u32>("/proc/sys/kernel/timer_migration").map(|on| on > 0);
    facts.mounts = captures.text("/proc/mounts").map(mounts).unwrap_or_default();
    facts.debugfs = (!facts.mounts.is_empty()).then(|| facts.mounts.iter().any(|mount| mount.kind == "debugfs"));
    facts.swaps = captures.text("/proc/swaps").map(|text| {
        text.lines().skip(1).filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect()
    });
    facts.modules = captures
        .text("/proc/modules")
        .map(|text| text.lines().filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect());
    facts.displays = displays(captures);
    facts.cooling = cooling(captures);
    trace(captures, facts);
}

/// Where a file system is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// What is mounted (`/dev/mmcblk0p2`).
    pub device: String,
    /// Where.
    pub at: String,
    /// Kind of file system.
    pub kind: String,
}

/// `/dev/mmcblk0p2 /var ext4 rw 0 0`.
fn mounts(text: &str) -> Vec<Mount> {
    let mount = |line: &str| {
        let mut words = line.split_whitespace().map(str::to_owned);
        Some(Mount { device: words.next()?, at: words.next()?, kind: words.next()? })
    };
    text.lines().filter_map(mount).collect()
}

fn trace(captures: &Captures, facts: &mut Facts) {
    const DIRS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
    let is_there = |dir: &&str| captures.word(&format!("{dir}/current_tracer")).is_some();
    facts.tracing_dir = DIRS.into_iter().find(is_there);
    let Some(dir) = facts.tracing_dir else { return };
    facts.tracer = captures.word(&format!("{dir}/current_tracer")).map(str::to_owned);
    let events = captures.text(&format!("{dir}/set_event"));
    facts.trace_events = events.map(|text| text.lines().map(str::to_owned).collect());
}

/// Connectors that a display is on; empty on a board that has connectors, and none is used.
fn displays(captures: &Captures) -> Option<Vec<String>> {
    let all: Vec<(&str, &str)> = captures.under("/sys/class/drm/").collect();
    let connected = |(rest, status): &(&str, &str)| {
        let connector = rest.strip_suffix("/status")?;
        (status.trim() == "connected").then(|| connector.to_owned())
    };
    let known = captures.has("/sys/class/drm/");
    known.then(|| all.iter().filter_map(connected).collect())
}

fn cooling(captures: &Captures) -> BTreeMap<String, u64> {
    const BASE: &str = "/sys/class/thermal/cooling_device";
    let device = |(rest, state): (&str, &str)| {
        let number = rest.strip_suffix("/cur_state")?;
        let state: u64 = state.trim().parse().ok().filter(|state| *state > 0)?;
        let kind = captures.word(&format!("{BASE}{number}/type")).unwrap_or("device");
        Some((format!("{kind} {number}"), state))
    };
    captures.under(BASE).filter_map(device).collect()
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
