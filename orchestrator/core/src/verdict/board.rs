//! Was the board in the asked state, did it stay in it, and was it left as it was found?

use super::{Evidence, Run};
use crate::facts::{Facts, FairServer, cpu_list_text, is_local_interrupt};
use crate::judgement::Outcome::{self, Degrades, Invalidates, Ok, Unknown};
use crate::quantity::{count, duration};
use crate::resolve::{self, governors};
use latprobe::stream::EventKind;
use std::collections::BTreeMap;

/// Everything the campaign and the target ask of the board: kernel variant, boot arguments, `[require]`.
pub(super) fn conditions(run: &Run) -> (Outcome, String) {
    let evidence = run.evidence;
    let all = resolve::conditions(evidence.settings, evidence.target, evidence.before);
    if let Some(broken) = all.iter().find(|c| c.holds == Some(false)) {
        let found = broken.found.as_deref().unwrap_or("unknown");
        return (Invalidates, format!("{}: asked for {}, found {found}; {}", broken.what, broken.asked, broken.remedy));
    }
    let unknown: Vec<String> =
        all.iter().filter(|c| c.holds.is_none()).map(|c| format!("{} ({})", c.what, c.asked)).collect();
    match unknown.is_empty() {
        false => (Degrades, format!("asked for, but the board does not tell: {}", unknown.join(", "))),
        true if all.is_empty() => (Ok, "the campaign asks nothing of the board's state".to_owned()),
        true => (Ok, format!("all {} conditions hold", all.len())),
    }
}

/// The board when the boot began that the facts after are of; absent when it began after the last sample.
pub(super) fn begin_of_last_boot<'a>(evidence: &Evidence<'a>) -> Option<&'a Facts> {
    let after = evidence.after.and_then(|after| after.boot_id.as_ref())?;
    let begins = std::iter::once(evidence.before).chain(evidence.boots);
    begins.rev().find(|begin| begin.boot_id.as_ref() == Some(after))
}

/// The facts before and after are of the same boot.
pub(super) fn same_boot(evidence: &Evidence) -> bool {
    begin_of_last_boot(evidence).is_some_and(|begin| std::ptr::eq(begin, evidence.before))
}

/// Facts, segments and end are of one boot of one kernel.
pub(super) fn boot(run: &Run) -> (Outcome, String) {
    let evidence = run.evidence;
    let headers: Vec<_> = evidence.segments.iter().filter_map(|s| s.header.as_ref()).collect();
    let Some(first) = headers.first() else {
        return (Invalidates, "no data: the stream has no header".to_owned());
    };
    if let Some(other) = headers.iter().find(|h| h.kernel_release != first.kernel_release) {
        return (
            Invalidates,
            format!("the kernel changed from {} to {} in mid-run", first.kernel_release, other.kernel_release),
        );
    }
    if evidence.before.boot_id.as_ref().is_some_and(|id| *id != first.boot_id) {
        return (Invalidates, "the board was rebooted between the check of its state and the measurement".to_owned());
    }
    if let Some(other) = headers.iter().find(|h| h.probe_version != first.probe_version) {
        let (was, is) = (&first.probe_version, &other.probe_version);
        return (Invalidates, format!("the probe changed from {was} to {is} in mid-run"));
    }
    if let Some(changed) = evidence.boots.iter().find_map(|boot| resolve::changed(evidence.before, boot)) {
        return (Invalidates, format!("{changed}: segments of two experiments were added up"));
    }
    let mut boots: Vec<&str> = headers.iter().map(|h| h.boot_id.as_str()).collect();
    boots.dedup();
    if boots.len() > 1 {
        return (Degrades, format!("the board was reset in mid-run: {} boots are added up here", boots.len()));
    }
    match evidence.after.and_then(|after| after.boot_id.as_deref()) {
        None => (Unknown, "the board could not be asked after the run".to_owned()),
        Some(id) if Some(&id) == boots.last() => (Ok, "one boot from the check to the end".to_owned()),
        Some(_) => (Degrades, "the board was rebooted after the measurement: its state after it is unknown".to_owned()),
    }
}

/// Another clock source is another measure.
pub(super) fn clocksource(run: &Run) -> (Outcome, String) {
    let before = run.evidence.before.clocksource.as_deref();
    let after = run.evidence.after.and_then(|after| after.clocksource.as_deref());
    match (before, after) {
        (Some(before), Some(after)) if before == after => (Ok, format!("{before} before and after")),
        (Some(before), Some(after)) => (Invalidates, format!("the clock source changed from {before} to {after}")),
        _ => (Unknown, "the clock source before or after is unknown".to_owned()),
    }
}

/// Interrupts that fired on measured CPUs, by the counters and not by affinity masks. On an isolated CPU none should.
pub(super) fn interrupts(run: &Run) -> (Outcome, String) {
    let evidence = run.evidence;
    let mut foreign: BTreeMap<u32, Vec<(u64, String)>> = BTreeMap::new();
    for segment in evidence.segments {
        for ((cpu, label), n) in &segment.interrupts {
            let name = evidence.before.interrupts.get(label).map(String::as_str).unwrap_or_default();
            if *n > 0 && !is_local_interrupt(label, name) {
                let text = if name.is_empty() { label.clone() } else { format!("{label} ({name})") };
                foreign.entry(*cpu).or_default().push((*n, text));
            }
        }
    }
    let seen = evidence.segments.iter().any(|s| !s.interrupts.is_empty());
    if foreign.is_empty() {
        return match seen {
            true => (Ok, "none on measured CPUs but the local timer and other CPUs' calls".to_owned()),
            false => (Unknown, "interrupts on measured CPUs were not counted".to_owned()),
        };
    }
    let isolated = |cpu: &u32| evidence.before.isolated.as_ref().is_some_and(|isolated| isolated.contains(*cpu));
    let outcome = if foreign.keys().any(isolated) { Degrades } else { Ok };
    let text = foreign
        .into_iter()
        .filter(|(cpu, _)| outcome == Ok || isolated(cpu))
        .map(|(cpu, mut all)| {
            all.sort_unstable_by(|a, b| b.cmp(a));
            let kind = if isolated(&cpu) { "isolated " } else { "" };
            let most: Vec<String> = all.iter().take(3).map(|(n, text)| format!("{} × {text}", count(*n))).collect();
            let more = if all.len() > 3 { format!(" and {} others", all.len() - 3) } else { String::new() };
            format!("on {kind}CPU {cpu}: {}{more}", most.join(", "))
        })
        .collect::<Vec<_>>();
    (outcome, text.join("; "))
}

/// Limits of real-time tasks. From Linux 6.12 on the fair deadline server keeps time for ordinary tasks, whatever the throttle says.
pub(super) fn throttling(run: &Run) -> (Outcome, String) {
    let facts = run.evidence.before;
    let applied = run.evidence.spec.apply.iter().find(|s| s.path == "/proc/sys/kernel/sched_rt_runtime_us");
    let runtime = applied.and_then(|s| s.value.parse().ok()).or(facts.rt_runtime_us);
    let throttle = match (runtime, facts.rt_period_us) {
        (None, _) => "throttle unknown".to_owned(),
        (Some(us), _) if us < 0 => "no throttle".to_owned(),
        (Some(us), period) => format!("throttle after {us} us in {} us", period.unwrap_or(1_000_000)),
    };
    let server = match &facts.fair_server {
        None => "fair server cannot be seen".to_owned(),
        Some(servers) => match servers.values().max_by_key(|s| s.runtime_ns) {
            Some(s) if s.runtime_ns > 0 => {
                format!("fair server keeps {} in {}", duration(s.runtime_ns), duration(s.period_ns))
            }
            _ => "fair server off".to_owned(),
        },
    };
    (if runtime.is_some() { Ok } else { Unknown }, format!("{throttle}, {server}"))
}

/// A measured CPU that changes its speed measures two boards. Only a campaign that asks for a governor is degraded by it.
pub(super) fn frequency(run: &Run) -> (Outcome, String) {
    let evidence = run.evidence;
    let mut range: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for (_, cpu, khz) in evidence.segments.iter().flat_map(|s| &s.frequencies_khz) {
        let (low, high) = range.entry(*cpu).or_insert((*khz, *khz));
        (*low, *high) = ((*low).min(*khz), (*high).max(*khz));
    }
    let Some((cpu, (low, high))) = range.iter().max_by_key(|(_, (low, high))| high - low) else {
        return match evidence.before.online.is_some() && evidence.before.cpus.is_empty() {
            true => (Ok, "no frequency scaling on this board".to_owned()),
            false => (Unknown, "the board does not tell its frequency".to_owned()),
        };
    };
    let mhz = |khz: u64| format!("{} MHz", khz / 1000);
    // Counters that are read through the hardware vary by some per cent.
    if high - low <= high / 20 {
        return (Ok, format!("steady at {}", mhz(*high)));
    }
    let asked = [&evidence.settings.require.governor, &evidence.settings.apply.governor];
    let fixed = asked.into_iter().flatten().any(|g| g == "performance" || g == "powersave");
    let outcome = if fixed { Degrades } else { Ok };
    (outcome, format!("CPU {cpu} ran between {} and {}", mhz(*low), mhz(*high)))
}

/// Every setting made for the run was put back.
pub(super) fn restored(run: &Run) -> (Outcome, String) {
    if let Some(event) = run.events(EventKind::RestoreFailed).next() {
        return (Degrades, format!("{} could not be put back: {}", event.subject, event.detail));
    }
    let applied = run.events(EventKind::SettingApplied).count();
    match run.evidence.segments.last().and_then(|s| s.end.as_ref()) {
        None => (Unknown, "the stream has no ending; `latprobe restore` puts settings back".to_owned()),
        Some(end) if !end.restored => (Degrades, "not every setting was put back".to_owned()),
        Some(_) if applied == 0 => (Ok, "no setting was changed".to_owned()),
        Some(_) => (Ok, format!("{applied} settings were put back")),
    }
}

fn fair_servers(servers: &BTreeMap<u32, FairServer>) -> String {
    servers.iter().map(|(cpu, s)| format!("{cpu}: {}/{} ns", s.runtime_ns, s.period_ns)).collect::<Vec<_>>().join(", ")
}

fn affinities(facts: &Facts) -> String {
    facts.irq_affinity.iter().map(|(number, cpus)| format!("{number}: {cpus}")).collect::<Vec<_>>().join(", ")
}

/// What a run must leave as it was: name and value.
fn state(facts: &Facts) -> Vec<(&'static str, Option<String>)> {
    vec![
        ("kernel command line", facts.cmdline.as_ref().map(|words| words.join(" "))),
        ("online CPUs", facts.online.as_ref().map(|cpus| cpu_list_text(Some(cpus)))),
        ("isolated CPUs", facts.isolated.as_ref().map(|cpus| cpu_list_text(Some(cpus)))),
        ("governor", Some(governors(facts))),
        ("sched_rt_runtime_us", facts.rt_runtime_us.map(|us| us.to_string())),
        ("transparent huge pages", facts.transparent_hugepage.clone()),
        ("console log level", facts.console_level.map(|level| level.to_string())),
        ("tracer", facts.tracer.clone()),
        ("trace events", facts.trace_events.as_ref().map(|events| events.len().to_string())),
        ("lockup detectors", facts.watchdog.map(|on| if on { "on" } else { "off" }.to_owned())),
        ("CPUs of workqueues", facts.workqueue_cpus.as_ref().map(|cpus| cpu_list_text(Some(cpus)))),
        ("fair server", facts.fair_server.as_ref().map(fair_servers)),
        ("affinity of interrupts", (!facts.irq_affinity.is_empty()).then(|| affinities(facts))),
    ]
}

/// The board after the run equals the board before it; a difference also says that something else was at work meanwhile.
pub(super) fn state_after(run: &Run) -> (Outcome, String) {
    let Some(after) = run.evidence.after else {
        return (Unknown, "the board could not be asked after the run".to_owned());
    };
    let changed: Vec<String> = state(run.evidence.before)
        .into_iter()
        .zip(state(after))
        .filter_map(|((what, before), (_, after))| match (before, after) {
            (Some(before), Some(after)) if before != after => Some(format!("{what} was {before}, is {after}")),
            _ => None,
        })
        .collect();
    match changed.is_empty() {
        true => (Ok, "as before the run".to_owned()),
        false => (Degrades, format!("not as before the run: {}", changed.join("; "))),
    }
}
