//! Was the load there all the time?

use super::{Evidence, Run};
use crate::judgement::Outcome::{self, Degrades, Invalidates, Ok, Unknown};
use crate::quantity::{count, duration, percent, total};
use latprobe::stream::{EventKind, Folded, LoadDelta};

/// What one load did over the measuring phase.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadRow {
    /// Name in the campaign.
    pub name: String,
    /// Share of the time it ran, pauses of its recipe not counted; absent: no time was measured.
    pub duty: Option<f64>,
    /// Smallest share asked for.
    pub min_duty: f64,
    /// Sums over the measuring phase.
    pub sum: LoadDelta,
}

/// Loads in the order of the campaign.
pub fn load_rows(evidence: &Evidence) -> Vec<LoadRow> {
    let measured_ns = total(evidence.segments.iter().map(Folded::measured_ns));
    evidence
        .settings
        .loads
        .iter()
        .map(|load| {
            let mut sum = LoadDelta::default();
            for segment in evidence.segments {
                let names = segment.header.iter().flat_map(|h| &h.loads);
                let deltas = names.zip(&segment.loads).filter(|(name, _)| **name == load.name);
                for (_, delta) in deltas {
                    sum.load = delta.load;
                    sum.active_ns = sum.active_ns.saturating_add(delta.active_ns);
                    sum.pause_ns = sum.pause_ns.saturating_add(delta.pause_ns);
                    sum.starts = sum.starts.saturating_add(delta.starts);
                    sum.failures = sum.failures.saturating_add(delta.failures);
                }
            }
            let due_ns = measured_ns.saturating_sub(sum.pause_ns);
            // Its times are taken a moment apart from those of the phases.
            let duty = (measured_ns > 0)
                .then(|| if due_ns == 0 { 0.0 } else { (sum.active_ns as f64 / due_ns as f64).min(1.0) });
            LoadRow { name: load.name.clone(), duty, min_duty: load.min_duty, sum }
        })
        .collect()
}

/// A load that ends and is started late leaves the board idle most of the time (hackbench lives half a second by default).
pub(super) fn duty(run: &Run) -> (Outcome, String) {
    let rows = load_rows(run.evidence);
    if rows.is_empty() {
        return (Ok, "no load asked for".to_owned());
    }
    if let Some(row) = rows.iter().find(|row| row.duty.is_none_or(|duty| duty < row.min_duty)) {
        let ran = row.duty.map_or("never".to_owned(), |duty| format!("{} of the time", percent(duty)));
        let pauses = if row.sum.pause_ns > 0 {
            format!(" (pauses of {} not counted)", duration(row.sum.pause_ns))
        } else {
            String::new()
        };
        return (
            Invalidates,
            format!("load `{}` ran {ran}, at least {} was asked for{pauses}", row.name, percent(row.min_duty)),
        );
    }
    let text = |row: &LoadRow| format!("{} {}", row.name, percent(row.duty.unwrap_or(0.0)));
    (Ok, rows.iter().map(text).collect::<Vec<_>>().join(", "))
}

/// Loads that could not be started, or ended with an error.
pub(super) fn failures(run: &Run) -> (Outcome, String) {
    let rows = load_rows(run.evidence);
    if rows.is_empty() {
        return (Ok, "no load asked for".to_owned());
    }
    let told = |name: &str| {
        let of = |kind| run.events(kind).find(|event| event.subject == name);
        of(EventKind::LoadMissing)
            .or_else(|| of(EventKind::LoadFailed))
            .map_or(String::new(), |e| format!(": {}", e.detail))
    };
    // Loads start before the warm-up: the event tells of it, the counts are those of the measuring phase.
    let started = |name: &str| run.events(EventKind::LoadStarted).any(|event| event.subject == name);
    let missing = |name: &str| run.events(EventKind::LoadMissing).any(|event| event.subject == name);
    if let Some(row) = rows.iter().find(|row| missing(&row.name) && !started(&row.name)) {
        return (Invalidates, format!("load `{}` could not be started{}", row.name, told(&row.name)));
    }
    if let Some(row) = rows.iter().find(|row| row.sum.failures > 0) {
        let times = row.sum.failures;
        return (Degrades, format!("load `{}` failed {times} times, first{}", row.name, told(&row.name)));
    }
    let starts = total(rows.iter().map(|row| u64::from(row.sum.starts)));
    (Ok, format!("no load failed, {} restarts", count(starts)))
}

/// The out-of-memory killer changes the load, and stalls the board while it works.
pub(super) fn out_of_memory(run: &Run) -> (Outcome, String) {
    let evidence = run.evidence;
    let seen = total(evidence.segments.iter().map(|s| s.oom_kills));
    let counted = match (evidence.before.oom_kills, evidence.after.and_then(|after| after.oom_kills)) {
        // A reboot in between starts the counter anew.
        (Some(before), Some(after)) if super::board::same_boot(evidence) => Some(after.saturating_sub(before)),
        _ => None,
    };
    let kills = seen.max(counted.unwrap_or(0));
    if kills > 0 {
        return (Invalidates, format!("{kills} processes were killed for lack of memory; use a smaller load"));
    }
    let log = super::kernel_log::since_start(evidence);
    let killed = |text: &str| ["out of memory", "oom-kill"].iter().any(|w| text.to_ascii_lowercase().contains(w));
    if let Some(line) = log.lines.iter().find(|line| killed(&line.text)) {
        return (Invalidates, format!("the out-of-memory killer was at work: {}", line.text));
    }
    match counted.is_some() || log.is_whole {
        true => (Ok, "no process was killed for lack of memory".to_owned()),
        false => (Unknown, "this kernel does not count out-of-memory kills, and its log is not whole".to_owned()),
    }
}
