//! Did the measurement happen as asked, and is all of it here?

use super::Run;
use crate::judgement::Outcome::{self, Degrades, Invalidates, Ok, Unknown};
use crate::latency::summarise;
use crate::quantity::{count, duration, total};
use latprobe::spec::{Length, Mode, Sleep};
use latprobe::stream::{EndReason, EventKind, Folded, PhaseKind};

/// The run ended by reaching its length. Anything shorter is another experiment: a maximum grows with the number of cycles.
pub(super) fn complete(run: &Run) -> (Outcome, String) {
    let segments = run.evidence.segments;
    let asked = match run.evidence.spec.length {
        Length::DurationNs(ns) => duration(ns),
        Length::Cycles(cycles) => format!("{} cycles", count(cycles)),
    };
    let measured = duration(run.measured_ns());
    let Some(last) = segments.last() else {
        return (Invalidates, "no data: the board delivered no stream".to_owned());
    };
    let how = match &last.end {
        None => "the stream has no ending: the supervisor was killed, the board was reset or the rest was not fetched"
            .to_owned(),
        Some(end) => {
            let reason = match end.reason {
                EndReason::Completed => "",
                EndReason::Stopped => "stopped on request",
                EndReason::Deadline => "ended by its deadline",
                EndReason::Failed => "refused or failed on the board",
            };
            if end.detail.is_empty() { reason.to_owned() } else { format!("{reason}: {}", end.detail) }
        }
    };
    if last.end.as_ref().is_none_or(|end| end.reason != EndReason::Completed) {
        return (Invalidates, format!("{how}; {measured} of {asked} measured"));
    }
    if let Mode::Hunt(hunt) = &run.evidence.spec.measure.mode {
        let hit = run.all.as_ref().is_some_and(|all| all.max.is_some_and(|max| max.at_least_ns >= hunt.at_least_ns));
        let found = if hit { "met" } else { "not met" };
        return (Ok, format!("hunted for {measured} of at most {asked}: {} {found}", duration(hunt.at_least_ns)));
    }
    let short = match run.evidence.spec.length {
        Length::DurationNs(ns) => run.measured_ns() < ns - ns / 1000,
        Length::Cycles(_) => false,
    };
    match segments.len() {
        _ if short => (Invalidates, format!("only {measured} of {asked} measured")),
        1 => (Ok, format!("{measured} measured, as asked")),
        n => (Degrades, format!("measured in {n} segments: the run was interrupted; {measured} of {asked} in all")),
    }
}

/// Periods that may lack or be too many at the two ends of a segment: the phase need not begin and end on the thread's grid.
const EDGE_PERIODS: u64 = 2;

/// A segment without an ending is as long as its last checkpoint says, whose time and counts are taken one after the other
/// by a supervisor that the sampling threads preempt.
const TORN_NS: u64 = 50_000_000;

/// Every period of the measuring phase is either a wake-up or a missed period. cyclictest cannot tell: it forgets the missed ones.
pub(super) fn cycles(run: &Run) -> (Outcome, String) {
    if run.different_bins {
        return (Invalidates, "the segments were measured with different bins and cannot be added".to_owned());
    }
    let asked = &run.evidence.spec.measure.threads;
    if run.all.is_none() {
        return (Invalidates, "no data: not one wake-up was measured".to_owned());
    }
    let mut worst = (Ok, String::new());
    let mut found = 0;
    for (index, thread) in asked.iter().enumerate() {
        let Some(result) = run.threads.get(index) else {
            return (Invalidates, format!("thread {index} of {} has no data", asked.len()));
        };
        let wake_ups = result.histogram.total().saturating_add(result.histogram.negative);
        let periods_found = wake_ups.saturating_add(result.missed);
        found = total([found, periods_found]);
        let judged = match run.evidence.spec.length {
            // Clock reads, as many as there was time for.
            _ if matches!(run.evidence.spec.measure.mode, Mode::Noise { .. }) => (Ok, String::new()),
            // After a reset every thread gets what the slowest one lacks.
            Length::Cycles(cycles) if run.evidence.segments.len() > 1 && wake_ups > cycles => (Ok, String::new()),
            Length::Cycles(cycles) => exact_cycles(index, wake_ups, cycles),
            // A relative sleep drifts by each latency: fewer periods are its nature.
            Length::DurationNs(_) if run.evidence.spec.measure.sleep == Sleep::Relative => (Ok, String::new()),
            Length::DurationNs(_) => periods(run, index, thread.interval_ns, thread.offset_ns, periods_found),
        };
        if rank(judged.0) > rank(worst.0) {
            worst = judged;
        }
    }
    if worst.0 == Ok {
        let what = match run.evidence.spec.measure.mode {
            Mode::Noise { .. } => "clock reads and missed periods",
            _ => "periods accounted for",
        };
        worst.1 = format!("{} {what}", count(found));
    }
    worst
}

fn rank(outcome: Outcome) -> u8 {
    match outcome {
        Ok => 0,
        Unknown => 1,
        Degrades => 2,
        Invalidates => 3,
    }
}

fn exact_cycles(index: usize, wake_ups: u64, asked: u64) -> (Outcome, String) {
    match wake_ups == asked {
        true => (Ok, String::new()),
        false => (Invalidates, format!("thread {index}: {} wake-ups of {} asked", count(wake_ups), count(asked))),
    }
}

/// One in a million is allowed for besides the edges; up to one in a thousand is usable with the reason; more means that
/// samples are lost or that the clock is not what it says.
fn periods(run: &Run, index: usize, interval_ns: u64, offset_ns: u64, found: u64) -> (Outcome, String) {
    let elapsed = |s: &Folded| s.measured_ns().saturating_sub(offset_ns) / interval_ns.max(1);
    let expected = total(run.evidence.segments.iter().map(elapsed));
    let torn = run.evidence.segments.iter().filter(|s| !s.phases.iter().any(|p| p.kind == PhaseKind::Ended)).count();
    let edges = EDGE_PERIODS * run.evidence.segments.len() as u64 + torn as u64 * TORN_NS / interval_ns.max(1);
    let off = expected.abs_diff(found);
    let outcome = match off {
        _ if off <= edges + expected / 1_000_000 => Ok,
        _ if off <= edges + expected / 1000 => Degrades,
        _ => Invalidates,
    };
    let side = if found < expected { "too few" } else { "too many" };
    let detail = format!(
        "thread {index}: wake-ups and missed periods make {} periods, elapsed time / interval is {}: {} {side}",
        count(found),
        count(expected),
        count(off),
    );
    (outcome, detail)
}

/// Damaged records were skipped: their samples are missing.
pub(super) fn stream(run: &Run) -> (Outcome, String) {
    let damage: Vec<_> = run.evidence.segments.iter().flat_map(|s| &s.damage).collect();
    let checkpoints = total(run.evidence.segments.iter().map(|s| s.checkpoints));
    let torn = total(run.evidence.segments.iter().map(|s| s.torn_bytes));
    match damage.first() {
        Some(first) => {
            let bytes = total(damage.iter().map(|d| d.bytes));
            let places = damage.len();
            (
                Degrades,
                format!(
                    "{places} damaged places, {} bytes skipped; first at byte {}: {}",
                    count(bytes),
                    first.offset,
                    first.reason
                ),
            )
        }
        None if torn > 0 => {
            (Ok, format!("{} checkpoints; a last record of {torn} bytes was torn and dropped", count(checkpoints)))
        }
        None => (Ok, format!("{} checkpoints, none damaged", count(checkpoints))),
    }
}

/// The probe's own totals equal the sum of all deltas.
pub(super) fn ledger(run: &Run) -> (Outcome, String) {
    for (number, segment) in run.evidence.segments.iter().enumerate() {
        let Some(end) = &segment.end else { continue };
        for (index, total) in end.threads.iter().enumerate() {
            let found = segment.threads.get(index).map(|t| (t.histogram.total(), t.missed, t.histogram.negative));
            let told = (total.cycles, total.missed, total.negative);
            let found = found.unwrap_or_default();
            if found != told {
                // Damage explains it and degrades already.
                let outcome = if segment.damage.is_empty() { Invalidates } else { Degrades };
                let (f, t) = (count(found.0), count(told.0));
                let detail = format!(
                    "segment {number}, thread {index}: the deltas add up to {f} cycles, {} missed, {} negative; the probe counted {t}, {}, {}",
                    found.1, found.2, told.1, told.2
                );
                return (outcome, detail);
            }
        }
    }
    match run.evidence.segments.iter().any(|s| s.end.as_ref().is_some_and(|e| !e.threads.is_empty())) {
        true => (Ok, "the probe's totals equal the sum of the checkpoints".to_owned()),
        false => (Unknown, "the probe's totals are missing".to_owned()),
    }
}

/// Blocks or worst samples that the supervisor could not take over in time: the maximum may be known only by its bin.
pub(super) fn hand_over(run: &Run) -> (Outcome, String) {
    let lost: Vec<_> = run.events(EventKind::HandoverLost).collect();
    let open = total(run.threads.iter().map(summarise).map(|s| s.cycles.saturating_sub(s.mean_cycles)));
    match lost.first() {
        Some(first) => (
            Degrades,
            format!(
                "{} times blocks or worst samples were lost, first: {}; mean and minimum cover all but {} cycles",
                lost.len(),
                first.detail,
                count(open)
            ),
        ),
        None => (Ok, "no block and no worst sample was lost".to_owned()),
    }
}

/// A wake-up before its time is an error of clock or timer.
pub(super) fn negative(run: &Run) -> (Outcome, String) {
    let negative = total(run.threads.iter().map(|t| t.histogram.negative));
    match negative {
        0 => (Ok, "no wake-up came before its time".to_owned()),
        n => (
            Degrades,
            format!(
                "{} wake-ups came before their time: the clock or the timer is at fault; they are in no bin",
                count(n)
            ),
        ),
    }
}
