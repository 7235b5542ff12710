//! Which kernel runs and how it was started.

use super::Facts;
use super::captures::Captures;
use crate::campaign::model::Preemption;
use crate::target::Arch;
use latprobe::cpulist::CpuList;

pub(super) fn read(captures: &Captures, facts: &mut Facts) {
    facts.version = captures.word("/proc/version").map(str::to_owned);
    facts.release = captures.word("/proc/sys/kernel/osrelease").map(str::to_owned).or_else(|| {
        let version = facts.version.as_deref()?.strip_prefix("Linux version ")?;
        version.split_whitespace().next().map(str::to_owned)
    });
    // `sysname nodename release version machine`; only the version holds blanks.
    facts.machine = captures.word("@uname").and_then(|names| names.split_whitespace().next_back()).map(str::to_owned);
    facts.arch = facts.machine.as_deref().and_then(arch_of_machine);
    facts.boot_id = captures.word("/proc/sys/kernel/random/boot_id").map(str::to_owned);
    facts.cmdline = captures.text("/proc/cmdline").map(split_cmdline);
    facts.preemption = preemption(captures, facts);
    facts.clocksource =
        captures.word("/sys/devices/system/clocksource/clocksource0/current_clocksource").map(str::to_owned);
}

/// `uname -m` → instruction set. `armv8l` is a 32-bit userland on a 64-bit kernel.
fn arch_of_machine(machine: &str) -> Option<Arch> {
    match machine {
        "aarch64" => Some(Arch::Aarch64),
        "x86_64" => Some(Arch::X86_64),
        _ if machine.starts_with("armv7") || machine.starts_with("armv8") => Some(Arch::Armv7),
        _ => None,
    }
}

/// Blanks split, except between double quotes, as the kernel's own `next_arg` does.
fn split_cmdline(text: &str) -> Vec<String> {
    let mut quoted = false;
    text.split(|c: char| {
        quoted ^= c == '"';
        c.is_whitespace() && !quoted
    })
    .filter(|word| !word.is_empty())
    .map(str::to_owned)
    .collect()
}

/// CPUs of the last `isolcpus=` word, flags (`nohz,domain,managed_irq`) skipped; empty without the word.
/// `None`: the word cannot be read.
pub fn isolcpus_of_cmdline(cmdline: &[String]) -> Option<CpuList> {
    let Some(value) = cmdline.iter().rev().find_map(|word| word.strip_prefix("isolcpus=")) else {
        return Some(CpuList::default());
    };
    let is_flag = |part: &&str| part.starts_with(|c: char| c.is_ascii_alphabetic());
    let cpus: Vec<&str> = value.split(',').skip_while(is_flag).collect();
    CpuList::parse(&cpus.join(",")).ok()
}

/// In the order of trust: what the kernel says of its present state, then its name, then how it was built.
fn preemption(captures: &Captures, facts: &Facts) -> Option<Preemption> {
    if captures.word("/sys/kernel/realtime") == Some("1") {
        return Some(Preemption::PreemptRt);
    }
    let version = facts.version.as_deref().unwrap_or_default();
    if version.contains("PREEMPT_RT") || version.contains("PREEMPT RT") {
        return Some(Preemption::PreemptRt);
    }
    let config =
        |option: &str| facts.config.as_ref().is_some_and(|all| all.get(option).is_some_and(|value| value == "y"));
    if config("PREEMPT_RT") || config("PREEMPT_RT_FULL") {
        return Some(Preemption::PreemptRt);
    }
    // `none voluntary (full) lazy`; the bracketed word runs.
    let current = captures.word("/sys/kernel/debug/sched/preempt").and_then(|text| {
        let text = text.split_once('(')?.1;
        named(text.split_once(')')?.0)
    });
    if current.is_some() {
        return current;
    }
    let dynamic = version.contains("PREEMPT_DYNAMIC") || config("PREEMPT_DYNAMIC");
    if dynamic {
        let asked = facts.cmdline.as_ref()?.iter().rev().find_map(|word| word.strip_prefix("preempt=")).and_then(named);
        if asked.is_some() {
            return asked;
        }
    }
    // Before 6.13 PREEMPT_LAZY was an addition of the RT patch to PREEMPT, so PREEMPT is looked at first.
    let built = [
        ("PREEMPT", Preemption::Preempt),
        ("PREEMPT__LL", Preemption::Preempt),
        ("PREEMPT_LAZY", Preemption::Lazy),
        ("PREEMPT_VOLUNTARY", Preemption::Voluntary),
        ("PREEMPT_NONE", Preemption::None),
    ]
    .into_iter()
    .find(|(option, _)| config(option))
    .map(|(_, model)| model);
    // Without a configuration only PREEMPT leaves a word in the version; its lack tells not which of the others runs.
    built.or_else(|| version.split_whitespace().any(|word| word == "PREEMPT").then_some(Preemption::Preempt))
}

fn named(word: &str) -> Option<Preemption> {
    match word {
        "none" => Some(Preemption::None),
        "voluntary" => Some(Preemption::Voluntary),
        "full" => Some(Preemption::Preempt),
        "lazy" => Some(Preemption::Lazy),
        _ => None,
    }
}
