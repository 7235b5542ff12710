//! Plain lines: what a log file or a CI console shows.

use super::Event;
use latlab_core::run_state::Outcome;
use std::collections::HashMap;
use std::io::Write;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A line about a measurement in the same stage at most this often.
const QUIET: Duration = Duration::from_secs(60);

/// A line about a wait for the same holder at most this often.
const WAITING: Duration = Duration::from_secs(600);

/// Lines on standard error.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// By run: when and in which stage it was shown last.
    last: Mutex<HashMap<String, (Instant, String)>>,
}

impl Lines {
    pub(super) fn show(&self, event: &Event) {
        if let Event::Measured { run, board_stage, .. } = event {
            let mut last = self.last.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            if last.get(run).is_some_and(|(at, stage)| at.elapsed() < QUIET && stage == board_stage) {
                return;
            }
            last.insert(run.clone(), (Instant::now(), board_stage.clone()));
        }
        if let Event::Waiting { target, holder, .. } = event {
            let mut last = self.last.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let key = format!("{target} waits");
            if last.get(&key).is_some_and(|(at, before)| at.elapsed() < WAITING && before == holder) {
                return;
            }
            last.insert(key, (Instant::now(), holder.clone()));
        }
        let now = jiff::Timestamp::now().strftime("%H:%M:%SZ");
        let _ = writeln!(std::io::stderr(), "{now} {}", text(event));
    }
}

/// One line about `event`.
pub(super) fn text(event: &Event) -> String {
    match event {
        Event::Started { execution, directory, runs, targets, resumed } => {
            let verb = if *resumed { "going on with" } else { "starting" };
            format!("{verb} {execution}: {} on {} (results in {directory})", count(*runs, "run"), targets.join(", "))
        }
        Event::Board { target, text } => format!("{target}: {text}"),
        Event::Waiting { target, holder, execution, for_s } => {
            format!("{target}: waiting for {holder}, execution {execution} (since {})", duration_s(*for_s))
        }
        Event::Stage { target, run, stage } => format!("{target}: {run}: {}", stage.name()),
        Event::Measured { target, run, .. } => format!("{target}: {run}: {}", measured(event)),
        Event::Silent { target, run, reason, for_s, retry_in_s, lost_in_s } => {
            let lost = match lost_in_s {
                Some(s) => format!("; counts as lost in {}", duration_s(*s)),
                None => String::new(),
            };
            format!(
                "{target}: {run}: no answer for {} ({reason}); asking again in {}{lost}",
                duration_s(*for_s),
                duration_s(*retry_in_s)
            )
        }
        Event::Answers { target, run, after_s } => {
            format!("{target}: {run}: answers again after {}", duration_s(*after_s))
        }
        Event::Over { target, run, outcome, validity, verdict, detail } => {
            let judged = match (outcome, validity, verdict) {
                (Outcome::Judged | Outcome::Lost, Some(validity), Some(verdict)) => {
                    format!("{}{validity}, {verdict}", lost(*outcome))
                }
                (outcome, ..) => outcome_word(*outcome).to_owned(),
            };
            let detail = detail.as_ref().map_or_else(String::new, |detail| format!(": {detail}"));
            format!("{target}: {run}: {judged}{detail}")
        }
        Event::BoardOver { target, error: None } => format!("{target}: done"),
        Event::BoardOver { target, error: Some(error) } => format!("{target}: {error}"),
    }
}

/// The figures of [`Event::Measured`].
pub(super) fn measured(event: &Event) -> String {
    let Event::Measured { board_stage, cycles, missed, max_ns, measured_ns, length_ns, loads, .. } = event else {
        return String::new();
    };
    let mut parts = vec![board_stage.clone()];
    parts.push(match length_ns {
        Some(length) => {
            format!("{} of {}", duration_s(measured_ns / 1_000_000_000), duration_s(length / 1_000_000_000))
        }
        None => duration_s(measured_ns / 1_000_000_000),
    });
    parts.push(format!("{cycles} cycles"));
    if let Some(max) = max_ns {
        // Thousandths of a microsecond are exact here.
        parts.push(format!("max {}.{:03} us", max / 1000, max % 1000));
    }
    if *missed > 0 {
        parts.push(format!("{missed} missed"));
    }
    for load in loads {
        let duty = load.duty.map_or_else(|| "-".to_owned(), |duty| format!("{:.0} %", duty * 100.0));
        let failures = if load.failures > 0 { format!(", {} failed", load.failures) } else { String::new() };
        parts.push(format!("{} {duty}{failures}", load.name));
    }
    parts.join(", ")
}

/// `12 h 5 min`, `3 min 20 s`, `45 s`.
pub(super) fn duration_s(s: u64) -> String {
    match s {
        3600.. => format!("{} h {} min", s / 3600, s % 3600 / 60),
        60.. => format!("{} min {} s", s / 60, s % 60),
        _ => format!("{s} s"),
    }
}

fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn lost(outcome: Outcome) -> &'static str {
    if outcome == Outcome::Lost { "board lost; " } else { "" }
}

fn outcome_word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Judged => "judged",
        Outcome::Refused => "refused",
        Outcome::NotBooted => "not booted",
        Outcome::Lost => "board lost",
        Outcome::Detached => "left measuring",
        Outcome::Skipped => "not begun",
        Outcome::Failed => "failed",
    }
}

#[cfg(test)]
mod tests {
    use super::super::LoadState;
    use super::*;

    #[test]
    fn a_line_says_everything_that_is_known() {
        let event = Event::Measured {
            target: "t".into(),
            run: "r".into(),
            board_stage: "measuring".into(),
            cycles: 12000,
            cycles_expected: Some(30000),
            missed: 2,
            max_ns: Some(45_678),
            measured_ns: 12_000_000_000,
            length_ns: Some(90_000_000_000),
            loads: vec![LoadState { name: "dd".into(), duty: Some(0.994), failures: 0 }],
        };
        let expected = "t: r: measuring, 12 s of 1 min 30 s, 12000 cycles, max 45.678 us, 2 missed, dd 99 %";
        assert_eq!(text(&event), expected);
    }

    #[test]
    fn silence_is_shown_as_silence() {
        let event = Event::Silent {
            target: "t".into(),
            run: "r".into(),
            reason: "the connection was lost".into(),
            for_s: 125,
            retry_in_s: 4,
            lost_in_s: Some(3600),
        };
        let expected =
            "t: r: no answer for 2 min 5 s (the connection was lost); asking again in 4 s; counts as lost in 1 h 0 min";
        assert_eq!(text(&event), expected);
    }
}
