//! Memory and caches.

use super::{Outcome, Rule, Seen, Subject, Weight, fail, few, pass, unknown, warn};
use crate::campaign::model::LoadKind;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "memory",
        reason: "a load that does not fit swaps, or is killed: the board is then busy with something else than was asked",
        source: "rteval leaves hackbench out on small boards",
        weight: Weight::Sound,
        look: room,
    },
    Rule {
        name: "swap",
        reason: "pages on disk make faults of milliseconds for everything that is not locked",
        source: "Linux, mlock(2)",
        weight: Weight::Recipe,
        look: swap,
    },
    Rule {
        name: "transparent-hugepage",
        reason: "making huge pages moves memory and stops who uses it",
        source: "Linux, Documentation/admin-guide/mm/transhuge.rst",
        weight: Weight::Recipe,
        look: hugepage,
    },
    Rule {
        name: "outer-cache",
        reason: "write-allocate and prefetch of the L2C-310 change the figures of a Cortex-A9, and stand only in the boot messages",
        source: "Xenomai mailing list, July 2014: without write-allocate an OMAP4430 stayed under 25 us at 10 kHz",
        weight: Weight::Recipe,
        look: outer_cache,
    },
];

/// Memory of one hackbench process, in KiB: its stacks, page tables, touched pages and the buffers of its sockets.
const PROCESS_KIB: u64 = 160;
/// The same of a thread, which shares most of it.
const THREAD_KIB: u64 = 32;
/// Processes of a group: 20 senders and 20 receivers.
const TASKS: u64 = 40;

fn need_kib(kind: &LoadKind) -> u64 {
    match kind {
        LoadKind::Hackbench { groups, threads, .. } => {
            (u64::from(*groups) * TASKS).saturating_mul(if *threads { THREAD_KIB } else { PROCESS_KIB })
        }
        LoadKind::Dd { block, .. } => block_kib(block).unwrap_or(0),
        LoadKind::Cat { .. } | LoadKind::Command { .. } => 0,
    }
}

/// `32M` → 32768.
fn block_kib(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: u64 = digits.parse().ok()?;
    let bytes = match &text[digits.len()..] {
        "" => number,
        "k" | "K" | "kB" => number.saturating_mul(1 << 10),
        "M" | "MB" => number.saturating_mul(1 << 20),
        "G" | "GB" => number.saturating_mul(1 << 30),
        _ => return None,
    };
    Some(bytes >> 10)
}

fn room(subject: &Subject) -> Option<Seen> {
    let needed_kib: u64 = subject.loads().iter().map(|load| need_kib(&load.kind)).fold(0, u64::saturating_add);
    if needed_kib == 0 {
        return None;
    }
    let Some(free_kib) = subject.facts.memory_available_kib else {
        return unknown("the board does not tell its memory", "look at /proc/meminfo");
    };
    let text = format!("the loads need about {} MiB of the {} MiB that are free", needed_kib >> 10, free_kib >> 10);
    let fix = "make the loads smaller: fewer groups of hackbench, smaller blocks of dd";
    match needed_kib.saturating_mul(10) {
        tenfold if tenfold > free_kib.saturating_mul(10) => fail(text, fix),
        tenfold if tenfold > free_kib.saturating_mul(8) => warn(text, fix),
        _ => pass(text),
    }
}

fn swap(subject: &Subject) -> Option<Seen> {
    match &subject.facts.swaps {
        None => unknown("the board does not tell", "look at /proc/swaps"),
        Some(areas) if areas.is_empty() => pass("none"),
        Some(areas) => warn(few(areas.iter().cloned()), "swapoff -a"),
    }
}

fn hugepage(subject: &Subject) -> Option<Seen> {
    // A kernel without them has no such file; so has one whose /sys cannot be read, and there is little to fear.
    let found = subject.facts.transparent_hugepage.as_deref()?;
    let outcome = match subject.hugepage() {
        Some(wanted) if wanted == found => Outcome::Pass,
        Some(_) => Outcome::Warn,
        None if found == "always" => Outcome::Warn,
        None => Outcome::Pass,
    };
    let wanted = subject.hugepage().unwrap_or("never");
    Some(Seen { outcome, found: found.to_owned(), fix: format!("set transparent_hugepage = \"{wanted}\" in [apply]") })
}

/// `CPU part` of a Cortex-A9, which has the L2C-310.
const CORTEX_A9: &str = "0xc09";

fn outer_cache(subject: &Subject) -> Option<Seen> {
    if !subject.facts.cpu_parts.contains(CORTEX_A9) {
        return None;
    }
    let log = subject.facts.kernel_log.as_deref().unwrap_or_default();
    let is_cache = |text: &str| text.starts_with("L2C-310") || text.starts_with("L310") || text.starts_with("l2x0");
    let lines: Vec<&str> = log.iter().map(|line| line.text.as_str()).filter(|text| is_cache(text)).collect();
    if lines.is_empty() {
        // Where the first message is still there, the cache was never turned on.
        return match log.first().and_then(|line| line.at_ns) {
            Some(0) => pass("the boot messages name no outer cache"),
            _ => {
                unknown("the boot messages are gone", "look at the log of the boot, or capture the facts soon after it")
            }
        };
    }
    let aux = lines.iter().find_map(|line| {
        let (_, rest) = line.split_once("AUX_CTRL ")?;
        let hex: String = rest.strip_prefix("0x")?.chars().take_while(char::is_ascii_hexdigit).collect();
        u32::from_str_radix(&hex, 16).ok()
    });
    let prefetch = lines.iter().any(|line| line.contains("prefetch enabled"));
    let prefetch = if prefetch { ", prefetch on" } else { "" };
    match aux {
        Some(aux) => pass(format!("AUX_CTRL {aux:#010x}: write-allocate {}{prefetch}", write_allocate(aux))),
        None => pass(format!("{}{prefetch}", lines[0])),
    }
}

/// Bits 24:23 of the auxiliary control register (ARM DDI 0246H, 3.3.4).
fn write_allocate(aux: u32) -> &'static str {
    match (aux >> 23) & 3 {
        0 => "as each access asks",
        1 => "off",
        2 => "forced",
        _ => "as each access asks (reserved setting)",
    }
}
