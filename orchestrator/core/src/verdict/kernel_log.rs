//! What the kernel said during the run.

use super::Evidence;
use super::Run;
use super::board::{begin_of_last_boot, same_boot};
use crate::facts::LogLine;
use crate::judgement::Outcome::{self, Degrades, Invalidates, Ok, Unknown};

/// A text of the kernel log, how bad it is, what it means. The first that fits a line counts.
const PATTERNS: &[(&str, Outcome, &str)] = &[
    ("soft lockup", Degrades, "a CPU did not schedule for many seconds"),
    ("workqueue lockup", Degrades, "a kernel worker did not get to run for many seconds"),
    ("hard LOCKUP", Invalidates, "a CPU did not even take interrupts for many seconds"),
    ("Kernel panic", Invalidates, "the kernel panicked"),
    ("Oops", Invalidates, "the kernel took an exception in its own code"),
    ("BUG:", Invalidates, "the kernel found itself broken"),
    ("kernel BUG at", Invalidates, "the kernel found itself broken"),
    ("Unable to handle kernel", Invalidates, "the kernel took an exception in its own code"),
    ("detected stall", Degrades, "an RCU grace period stalled: a CPU was kept busy for long"),
    ("detected expedited stalls", Degrades, "an RCU grace period stalled: a CPU was kept busy for long"),
    ("kthread starved for", Degrades, "the RCU thread did not get to run"),
    ("blocked for more than", Degrades, "a task waited for minutes"),
    ("RT throttling activated", Degrades, "real-time tasks were stopped by the throttle (sched_rt_runtime_us)"),
    ("DL replenish lagged", Degrades, "a deadline task or server fell behind"),
    ("as unstable because", Invalidates, "the clock source was found unstable"),
    ("Clocksource tsc unstable", Invalidates, "the clock source was found unstable"),
    ("Switched to clocksource", Invalidates, "the clock source changed"),
    ("hrtimer: interrupt took", Degrades, "one timer interrupt took longer than a tick"),
    ("clock throttled", Degrades, "a CPU was slowed down by heat"),
    ("critical temperature reached", Invalidates, "the board overheated"),
    ("Under-voltage detected", Degrades, "the supply voltage was too low: the CPU may have been slowed down"),
    ("Undervoltage detected", Degrades, "the supply voltage was too low: the CPU may have been slowed down"),
    ("Hardware Error", Degrades, "the hardware reported an error"),
    ("Machine check events logged", Degrades, "the hardware reported an error"),
    ("page allocation failure", Degrades, "memory was short"),
    ("nobody cared", Degrades, "an interrupt line was stuck"),
    ("perf: interrupt took too long", Degrades, "a profiler was running"),
    ("WARNING: CPU:", Degrades, "the kernel warned of a fault in itself"),
];

/// New lines of the log.
pub(super) struct SinceStart<'a> {
    pub(super) lines: Vec<&'a LogLine>,
    /// Nothing can have been overwritten in between.
    pub(super) is_whole: bool,
}

/// Lines of the log after the run that are newer than every line of the log before: both carry the same clock, so no
/// clock has to be compared with another. What came before a reset is lost with it; after a reboot that nobody looked at
/// the whole log is new.
pub(super) fn since_start<'a>(evidence: &Evidence<'a>) -> SinceStart<'a> {
    let Some(after) = evidence.after.and_then(|after| after.kernel_log.as_ref()) else {
        return SinceStart { lines: Vec::new(), is_whole: false };
    };
    let newest = |log: &[LogLine]| log.iter().filter_map(|line| line.at_ns).max();
    let begin = begin_of_last_boot(evidence);
    let before = begin.and_then(|begin| begin.kernel_log.as_deref()).and_then(newest);
    let lines = after.iter().filter(|line| line.at_ns.is_none_or(|at| before.is_none_or(|before| at > before)));
    // The ring still reaches back to what was there before.
    let oldest = after.iter().filter_map(|line| line.at_ns).min();
    let is_whole = same_boot(evidence) && before.zip(oldest).is_some_and(|(before, oldest)| oldest <= before);
    SinceStart { lines: lines.collect(), is_whole }
}

/// Whether `pattern` stands in `text` other than as the end of a word: `DEBUG:` is no `BUG:`.
fn holds(text: &str, pattern: &str) -> bool {
    let starts_a_word = |(at, _): (usize, &str)| !text[..at].ends_with(|c: char| c.is_alphanumeric());
    text.match_indices(pattern).any(starts_a_word)
}

/// Oopses, stalls, throttling and their like since the run began.
pub(super) fn rule(run: &Run) -> (Outcome, String) {
    let log = since_start(run.evidence);
    let mut hits: Vec<(Outcome, &str, &str, usize)> = Vec::new();
    for line in &log.lines {
        let Some((_, outcome, meaning)) = PATTERNS.iter().find(|(text, ..)| holds(&line.text, text)) else { continue };
        match hits.iter_mut().find(|hit| hit.1 == *meaning) {
            Some(hit) => hit.3 += 1,
            None => hits.push((*outcome, meaning, &line.text, 1)),
        }
    }
    hits.sort_by_key(|hit| hit.0 != Invalidates);
    let text = |(_, meaning, line, times): &(Outcome, &str, &str, usize)| match times {
        1 => format!("{meaning}: \"{line}\""),
        _ => format!("{meaning} ({times} lines, first: \"{line}\")"),
    };
    match hits.first() {
        Some((outcome, ..)) => (*outcome, hits.iter().map(text).collect::<Vec<_>>().join("; ")),
        None if log.is_whole => (Ok, format!("{} new lines, none of concern", log.lines.len())),
        None => (Unknown, "the kernel log since the start could not be read as a whole".to_owned()),
    }
}
