//! What a campaign and a target ask of the board's state, against what it is.

use crate::campaign::model::{Boot, Conditions, Console, Preemption, RtRuntime, Settings};
use crate::facts::{Facts, cpu_list_text};
use crate::recipe::{self, Outcome, Subject};
use crate::target::{Arch, Target};
use latprobe::cpulist::CpuList;

/// One thing asked of the board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// What it is about (`isolated CPUs`).
    pub what: String,
    /// What was asked for.
    pub asked: String,
    /// What the board has; `None`: it does not tell.
    pub found: Option<String>,
    /// Whether it holds; `None`: unknown.
    pub holds: Option<bool>,
    /// What can be done when it does not.
    pub remedy: String,
}

/// Everything asked of the board's state, in a fixed order. What `[apply]` sets to the same value is not asked of the state before.
pub fn conditions(settings: &Settings, target: &Target, facts: &Facts) -> Vec<Condition> {
    let mut all = Vec::new();
    board(target, facts, &mut all);
    all.extend(boot_conditions(&settings.boot, target, facts));
    required(&settings.require, &settings.apply, facts, &mut all);
    checks(settings, target, facts, &mut all);
    all
}

/// Console log level that `quiet` on the kernel command line gives.
pub(crate) const QUIET_LEVEL: u32 = 4;

/// Name of an instruction set as in target files.
pub(crate) fn arch_name(arch: Arch) -> &'static str {
    match arch {
        Arch::Armv7 => "armv7",
        Arch::Aarch64 => "aarch64",
        Arch::X86_64 => "x86_64",
    }
}

/// Name of a preemption model as in campaign files.
pub fn preemption_name(model: Preemption) -> &'static str {
    match model {
        Preemption::PreemptRt => "preempt-rt",
        Preemption::Preempt => "preempt",
        Preemption::Voluntary => "voluntary",
        Preemption::Lazy => "lazy",
        Preemption::None => "none",
    }
}

/// Runtime of real-time tasks per second, in us; -1: no limit. The kernel counts per `sched_rt_period_us`.
pub(crate) fn rt_runtime_us_per_second(facts: &Facts) -> Option<i64> {
    let runtime = facts.rt_runtime_us?;
    match facts.rt_period_us {
        Some(period) if runtime >= 0 && period > 0 => Some(runtime.saturating_mul(1_000_000) / period),
        _ => Some(runtime),
    }
}

pub(crate) fn rt_runtime_asked_us(asked: RtRuntime) -> i64 {
    match asked {
        RtRuntime::Unlimited => -1,
        RtRuntime::Us(us) => i64::try_from(us).unwrap_or(i64::MAX),
    }
}

/// Governors of the CPUs that scale: the only one, or `0: powersave, 1: performance`. `none` on a board without scaling.
pub(crate) fn governors(facts: &Facts) -> String {
    let all: Vec<(u32, &str)> =
        facts.cpus.iter().map(|(cpu, f)| (*cpu, f.governor.as_deref().unwrap_or("unknown"))).collect();
    match all.first() {
        None => "none".to_owned(),
        Some((_, first)) if all.iter().all(|(_, g)| g == first) => (*first).to_owned(),
        Some(_) => all.iter().map(|(cpu, g)| format!("{cpu}: {g}")).collect::<Vec<_>>().join(", "),
    }
}

fn push(
    all: &mut Vec<Condition>,
    what: &str,
    asked: String,
    found: Option<String>,
    holds: Option<bool>,
    remedy: String,
) {
    all.push(Condition { what: what.to_owned(), asked, found, holds, remedy });
}

fn board(target: &Target, facts: &Facts, all: &mut Vec<Condition>) {
    if let Some(arch) = target.arch {
        let found = facts.machine.clone();
        // A machine that is known and none of ours is a definite mismatch.
        let holds = found.is_some().then_some(facts.arch == Some(arch));
        let remedy = format!("correct `arch` of target `{}`, or its destination", target.name);
        push(all, "architecture", arch_name(arch).to_owned(), found, holds, remedy);
    }
    if let Some(count) = target.cpu_count {
        let found = facts.online.as_ref().map(CpuList::len);
        let holds = found.map(|found| u32::try_from(found) == Ok(count));
        let remedy = format!("bring the missing CPUs online, or correct `cpu_count` of target `{}`", target.name);
        push(all, "online CPUs", count.to_string(), found.map(|n| n.to_string()), holds, remedy);
    }
}

/// What a cell asks of the boot: kernel variant, isolated CPUs, command line.
pub fn boot_conditions(boot: &Boot, target: &Target, facts: &Facts) -> Vec<Condition> {
    let mut all = Vec::new();
    if let Some(name) = &boot.kernel {
        variant(name, target, facts, &mut all);
    }
    if let Some(asked) = &boot.isolcpus {
        let holds = facts.isolated.as_ref().map(|found| asked == found);
        let found = facts.isolated.as_ref().map(|found| cpu_list_text(Some(found)));
        let remedy = match asked.is_empty() {
            false => format!("boot with isolcpus={asked}"),
            true => "boot without isolcpus=".to_owned(),
        };
        push(&mut all, "isolated CPUs", cpu_list_text(Some(asked)), found, holds, remedy);
    }
    for word in &boot.append {
        cmdline_word(word, facts, &mut all);
    }
    all
}

fn variant(name: &str, target: &Target, facts: &Facts, all: &mut Vec<Condition>) {
    let Some(variant) = super::variant(target, name) else {
        let known: Vec<&str> = target.kernels.keys().map(String::as_str).collect();
        let found = if known.is_empty() { "no variants".to_owned() } else { known.join(", ") };
        let remedy = format!("add [kernel.{name}] to target `{}`", target.name);
        push(all, "kernel variant", name.to_owned(), Some(found), Some(false), remedy);
        return;
    };
    let remedy = || format!("boot kernel variant `{name}`");
    if let Some(pattern) = &variant.release {
        let holds = facts.release.as_deref().map(|release| matches_pattern(pattern, release));
        push(all, "kernel release", pattern.clone(), facts.release.clone(), holds, remedy());
    }
    if let Some(pattern) = &variant.build {
        let holds = facts.version.as_deref().map(|version| matches_pattern(pattern, version));
        push(all, "kernel build", pattern.clone(), facts.version.clone(), holds, remedy());
    }
    if let Some(model) = variant.preemption {
        preemption(model, facts, all, remedy());
    }
    if variant.not_preempt_rt {
        let found = facts.preemption.map(|found| preemption_name(found).to_owned());
        let holds = facts.preemption.map(|found| found != Preemption::PreemptRt);
        push(all, "preemption model", "not preempt-rt".to_owned(), found, holds, remedy());
    }
    for word in &variant.append {
        cmdline_word(word, facts, all);
    }
}

fn preemption(model: Preemption, facts: &Facts, all: &mut Vec<Condition>, remedy: String) {
    let found = facts.preemption.map(|found| preemption_name(found).to_owned());
    let holds = facts.preemption.map(|found| found == model);
    push(all, "preemption model", preemption_name(model).to_owned(), found, holds, remedy);
}

fn cmdline_word(word: &str, facts: &Facts, all: &mut Vec<Condition>) {
    let holds = facts.cmdline_has(word);
    let found = facts.cmdline.as_ref().map(|words| words.join(" "));
    push(all, "kernel command line", word.to_owned(), found, holds, format!("boot with `{word}`"));
}

fn required(require: &Conditions, apply: &Conditions, facts: &Facts, all: &mut Vec<Condition>) {
    let applied = |is_applied: bool, key: &str| match is_applied {
        true => None,
        false => Some(format!("set it on the board, or let latlab set it for the run with `{key}` in [apply]")),
    };
    if let Some(asked) = &require.governor
        && let Some(remedy) = applied(apply.governor.as_ref() == Some(asked), "governor")
    {
        let unknown = facts.cpus.values().any(|cpu| cpu.governor.is_none()) || facts.online.is_none();
        let differs = facts.cpus.values().any(|cpu| cpu.governor.as_ref().is_some_and(|found| found != asked));
        let holds = if differs { Some(false) } else { (!unknown).then_some(true) };
        push(all, "governor", asked.clone(), Some(governors(facts)), holds, remedy);
    }
    if let Some(asked) = require.rt_runtime
        && let Some(remedy) = applied(apply.rt_runtime == Some(asked), "rt_runtime")
    {
        let asked = rt_runtime_asked_us(asked);
        let text = |us: i64| if us < 0 { "unlimited".to_owned() } else { format!("{us} us per second") };
        let found = rt_runtime_us_per_second(facts);
        push(all, "real-time runtime", text(asked), found.map(text), found.map(|found| found == asked), remedy);
    }
    if let Some(Console::Quiet) = require.console
        && let Some(remedy) = applied(apply.console == Some(Console::Quiet), "console")
    {
        let found = facts.console_level.map(|level| format!("console log level {level}"));
        let holds = facts.console_level.map(|level| level <= QUIET_LEVEL);
        push(all, "console", format!("quiet (console log level at most {QUIET_LEVEL})"), found, holds, remedy);
    }
    if let Some(asked) = &require.transparent_hugepage
        && let Some(remedy) = applied(apply.transparent_hugepage.as_ref() == Some(asked), "transparent_hugepage")
    {
        let found = facts.transparent_hugepage.clone();
        let holds = found.as_ref().map(|found| found == asked);
        push(all, "transparent huge pages", asked.clone(), found, holds, remedy);
    }
    if let Some(model) = require.preemption {
        preemption(model, facts, all, "boot a kernel with that preemption model".to_owned());
    }
    if let Some(asked) = &require.clocksource {
        let holds = facts.clocksource.as_ref().map(|found| found == asked);
        let remedy = format!("write {asked} to current_clocksource, or boot with clocksource={asked}");
        push(all, "clock source", asked.clone(), facts.clocksource.clone(), holds, remedy);
    }
}

/// Conditions that a recipe check looks at: those of `checks`, and the keys that a rule stands for.
fn checks(settings: &Settings, target: &Target, facts: &Facts, all: &mut Vec<Condition>) {
    let require = &settings.require;
    let keys = [
        (require.fair_server.is_some(), "fair-server"),
        (require.tracing.is_some(), "tracers"),
        (require.watchdog.is_some(), "watchdogs"),
        (require.irq_affinity.is_some(), "interrupt-affinity"),
        (require.workqueues.is_some(), "workqueues"),
        (require.time_sync.is_some(), "time-sync"),
        (require.rt_threads.is_some(), "competing-threads"),
    ];
    let by_key = keys.into_iter().filter(|(is_asked, _)| *is_asked).map(|(_, rule)| rule);
    let mut names: Vec<&str> = by_key.chain(require.checks.iter().map(String::as_str)).collect();
    names.dedup();
    let subject = Subject { facts, later: None, target: Some(target), settings: Some(settings) };
    for name in names {
        // A name that a newer latlab wrote into a plan is nothing that this one can vouch for.
        let check = recipe::rule(name).map(|rule| rule.check(&subject));
        let (found, holds, remedy) = match check {
            None => (Some("no such check in this latlab".to_owned()), None, String::new()),
            Some(None) => continue,
            Some(Some(check)) => {
                let holds = match check.outcome {
                    Outcome::Pass => Some(true),
                    Outcome::Unknown => None,
                    Outcome::Warn | Outcome::Fail => Some(false),
                };
                (Some(check.found), holds, check.fix.unwrap_or_default())
            }
        };
        push(all, &format!("recipe check {name}"), "pass".to_owned(), found, holds, remedy);
    }
}

/// `*` stands for any text, `?` for any one character.
pub(crate) fn matches_pattern(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    // Greedy with one way back: to the last star, which then takes one character more.
    let (mut p, mut t, mut back) = (0, 0, None);
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                back = Some((p, t));
                p += 1;
            }
            Some(c) if *c == '?' || *c == text[t] => (p, t) = (p + 1, t + 1),
            _ => {
                let Some((star, taken)) = back else { return false };
                back = Some((star, taken + 1));
                (p, t) = (star + 1, taken + 1);
            }
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}
