//! What is shown while an execution runs: one closed set of [`Event`]s, three ways to show them.

mod bars;
mod event;
mod lines;

pub use event::{Event, LoadState, Report, Stage};

use bars::Bars;
use std::io::Write;
use std::sync::Mutex;

/// Shows events.
#[derive(Debug)]
pub struct Progress {
    view: View,
}

#[derive(Debug)]
enum View {
    /// Bars on the terminal, standard error.
    Bars(Mutex<Bars>),
    /// Plain lines with the time, standard error.
    Lines(lines::Lines),
    /// One JSON object a line, standard output.
    Json,
}

impl Progress {
    /// JSON lines for programs.
    pub fn json() -> Self {
        Self { view: View::Json }
    }

    /// Plain lines.
    pub fn lines() -> Self {
        Self { view: View::Lines(lines::Lines::default()) }
    }

    /// Bars; `bars` is also what log lines must go through.
    pub fn bars(bars: &indicatif::MultiProgress) -> Self {
        Self { view: View::Bars(Mutex::new(Bars::new(bars.clone()))) }
    }

    /// Shows that `event` happened.
    pub fn show(&self, event: &Event) {
        tracing::debug!(event = ?event, "progress");
        match &self.view {
            View::Bars(bars) => bars.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).show(event),
            View::Lines(lines) => lines.show(event),
            View::Json => {
                let report = Report { at: crate::store::now(), event };
                if let Ok(line) = serde_json::to_string(&report) {
                    // Nobody reads any more (`| head`): the execution goes on.
                    let _ = writeln!(std::io::stdout(), "{line}");
                }
            }
        }
    }

    /// Takes the bars away for a question or the result.
    pub fn suspend<T>(&self, f: impl FnOnce() -> T) -> T {
        match &self.view {
            View::Bars(bars) => bars.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).suspend(f),
            _ => f(),
        }
    }

    /// Nothing more will be shown.
    pub fn finish(&self) {
        if let View::Bars(bars) = &self.view {
            bars.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).finish();
        }
    }
}
