//! One bar per board on a terminal.

use super::{Event, lines};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::collections::HashMap;
use std::time::Duration;

/// The bars.
#[derive(Debug)]
pub(super) struct Bars {
    all: MultiProgress,
    boards: HashMap<String, ProgressBar>,
}

impl Bars {
    pub(super) fn new(all: MultiProgress) -> Self {
        Self { all, boards: HashMap::new() }
    }

    pub(super) fn show(&mut self, event: &Event) {
        match event {
            Event::Started { .. } | Event::Answers { .. } => self.line(event),
            Event::Over { .. } => self.line(event),
            Event::BoardOver { target, .. } => {
                // In this order: a line above the last bar ends with a newline, one without any bar does not.
                self.line(event);
                if let Some(bar) = self.boards.remove(target) {
                    bar.finish_and_clear();
                }
            }
            Event::Waiting { target, holder, execution, for_s } => {
                let text = format!("waiting for {holder}, execution {execution} ({})", lines::duration_s(*for_s));
                self.message(target, &text);
            }
            Event::Board { target, text } => self.message(target, text),
            Event::Stage { target, run, stage } => {
                let bar = self.bar(target);
                bar.set_length(0);
                bar.set_position(0);
                bar.reset_eta();
                bar.set_message(format!("{run}: {}", stage.name()));
            }
            Event::Measured { target, run, measured_ns, length_ns, .. } => {
                let bar = self.bar(target);
                bar.set_length(length_ns.unwrap_or(0) / 1_000_000);
                bar.set_position(measured_ns / 1_000_000);
                bar.set_message(format!("{run}: {}", lines::measured(event)));
            }
            Event::Silent { target, run, reason, for_s, retry_in_s, .. } => {
                let text = format!(
                    "{run}: no answer for {} ({reason}); next try in {}",
                    lines::duration_s(*for_s),
                    lines::duration_s(*retry_in_s)
                );
                self.message(target, &text);
            }
        }
    }

    pub(super) fn suspend<T>(&self, f: impl FnOnce() -> T) -> T {
        self.all.suspend(f)
    }

    pub(super) fn finish(&mut self) {
        self.boards.drain().for_each(|(_, bar)| bar.finish_and_clear());
    }

    fn line(&self, event: &Event) {
        // Only fails when the terminal is gone; the execution goes on.
        let _ = self.all.println(lines::text(event));
    }

    fn message(&mut self, target: &str, text: &str) {
        self.bar(target).set_message(text.to_owned());
    }

    fn bar(&mut self, target: &str) -> &ProgressBar {
        let all = &self.all;
        self.boards.entry(target.to_owned()).or_insert_with(|| {
            let bar = all.add(ProgressBar::new(0));
            let style = ProgressStyle::with_template("{prefix:.bold} {bar:20} {eta:>8} {wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_prefix(target.to_owned());
            bar.enable_steady_tick(Duration::from_secs(1));
            bar
        })
    }
}
