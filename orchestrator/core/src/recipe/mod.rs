//! The recipe: one named rule per condition that changes latency figures. Facts in, findings out.
//!
//! The first rules are those of the 12-hour Cyclone V measurement (campaign `cyclone-v-12h`); the others come from what went
//! wrong elsewhere. A rule tells why it matters, where that is known from, what was found, and how to mend it.

mod clock;
mod console;
mod cpu;
mod isolation;
mod kernel;
mod leftovers;
mod load;
mod memory;
mod priority;
mod subject;
#[cfg(test)]
mod tests;

use crate::quantity::duration;
use serde::{Deserialize, Serialize};
use subject::Known;

pub(crate) use clock::TIME_DAEMONS;
pub use subject::Subject;

/// Version of [`Recipe`].
pub const RECIPE_FORMAT: u32 = 1;

/// How a rule ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It holds.
    Pass,
    /// The board does not tell.
    Unknown,
    /// Figures may differ from those of a board where it holds.
    Warn,
    /// Figures will differ, or the campaign requires it.
    Fail,
}

/// What one rule found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Name of the rule, stable.
    pub rule: String,
    /// How it ended.
    pub outcome: Outcome,
    /// What was found, in words.
    pub found: String,
    /// Why it matters, in plain words.
    pub reason: String,
    /// Where that is known from.
    pub source: String,
    /// How to mend it; absent where nothing has to be.
    pub fix: Option<String>,
}

/// All rules that apply to a board and what is to be measured on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recipe {
    /// [`RECIPE_FORMAT`].
    pub format: u32,
    /// One per rule that applies, in a fixed order.
    pub checks: Vec<Check>,
}

impl Recipe {
    /// How many ended so.
    pub fn count(&self, outcome: Outcome) -> usize {
        self.checks.iter().filter(|check| check.outcome == outcome).count()
    }
}

/// How much a condition weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weight {
    /// Part of how the published figures were made: a campaign may do otherwise, and is then only warned.
    Recipe,
    /// Without it the figures mean something else, whatever the campaign says.
    Sound,
}

/// One condition.
pub struct Rule {
    /// Its stable name.
    pub name: &'static str,
    /// Why it matters.
    pub reason: &'static str,
    /// Where that is known from.
    pub source: &'static str,
    weight: Weight,
    /// `None`: it does not apply.
    look: fn(&Subject) -> Option<Seen>,
}

/// What a rule saw.
struct Seen {
    outcome: Outcome,
    found: String,
    fix: String,
}

fn pass(found: impl Into<String>) -> Option<Seen> {
    Some(Seen { outcome: Outcome::Pass, found: found.into(), fix: String::new() })
}

fn unknown(found: impl Into<String>, fix: impl Into<String>) -> Option<Seen> {
    Some(Seen { outcome: Outcome::Unknown, found: found.into(), fix: fix.into() })
}

fn warn(found: impl Into<String>, fix: impl Into<String>) -> Option<Seen> {
    Some(Seen { outcome: Outcome::Warn, found: found.into(), fix: fix.into() })
}

fn fail(found: impl Into<String>, fix: impl Into<String>) -> Option<Seen> {
    Some(Seen { outcome: Outcome::Fail, found: found.into(), fix: fix.into() })
}

/// The published 12-hour measurement.
const CYCLONE_V: &str = "Xenomai mailing list, May 2019, Cyclone V for 12 hours";

/// Rules by theme, in the order shown.
const THEMES: [&[Rule]; 9] = [
    kernel::RULES,
    isolation::RULES,
    priority::RULES,
    cpu::RULES,
    console::RULES,
    clock::RULES,
    memory::RULES,
    load::RULES,
    leftovers::RULES,
];

/// Every rule, in the order shown.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    THEMES.into_iter().flatten()
}

/// The rule of this name.
pub fn rule(name: &str) -> Option<&'static Rule> {
    rules().find(|rule| rule.name == name)
}

/// Names of all rules.
pub fn names() -> Vec<&'static str> {
    rules().map(|rule| rule.name).collect()
}

/// Looks at everything that applies.
pub fn judge(subject: &Subject) -> Recipe {
    Recipe { format: RECIPE_FORMAT, checks: rules().filter_map(|rule| rule.check(subject)).collect() }
}

impl Rule {
    /// What it finds; `None`: it does not apply.
    pub fn check(&self, subject: &Subject) -> Option<Check> {
        let mut seen = (self.look)(subject)?;
        let known = subject.known(self.name);
        let is_wrong = matches!(seen.outcome, Outcome::Warn | Outcome::Fail);
        match known {
            // What cannot be seen cannot be set either.
            Known::Applied if is_wrong => {
                seen.found.push_str("; the campaign sets it for the run");
                (seen.outcome, seen.fix) = (Outcome::Pass, String::new());
            }
            Known::Required if is_wrong => seen.outcome = Outcome::Fail,
            Known::Open if seen.outcome == Outcome::Fail && self.weight == Weight::Recipe => {
                seen.outcome = Outcome::Warn;
            }
            _ => {}
        }
        Some(Check {
            rule: self.name.to_owned(),
            outcome: seen.outcome,
            found: seen.found,
            reason: self.reason.to_owned(),
            source: self.source.to_owned(),
            fix: (seen.outcome != Outcome::Pass && !seen.fix.is_empty()).then_some(seen.fix),
        })
    }
}

/// The first of many, and how many more: `a, b, c and 4 more`.
fn few(all: impl IntoIterator<Item = String>) -> String {
    const SHOWN: usize = 4;
    let all: Vec<String> = all.into_iter().collect();
    let more = all.len().saturating_sub(SHOWN);
    let shown = all[..all.len() - more].join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

/// A time of a rule's text.
fn time(ns: u64) -> String {
    duration(ns)
}
