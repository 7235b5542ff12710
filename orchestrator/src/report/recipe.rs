//! The recipe's checks for people.

use super::text::{plain_table, table_text, wrapped};
use latlab_core::recipe::Check;
pub(super) use latlab_core::recipe::{Outcome, Recipe};

/// The word of an outcome.
pub fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "pass",
        Outcome::Warn => "warn",
        Outcome::Fail => "FAIL",
        Outcome::Unknown => "unknown",
    }
}

/// `1 fail, 3 warn, 2 unknown, 28 pass`.
pub fn counts(recipe: &Recipe) -> String {
    let outcomes = [Outcome::Fail, Outcome::Warn, Outcome::Unknown, Outcome::Pass];
    let named = outcomes.map(|outcome| (recipe.count(outcome), word(outcome).to_ascii_lowercase()));
    let named = named.iter().filter(|(number, _)| *number > 0).map(|(number, word)| format!("{number} {word}"));
    named.collect::<Vec<_>>().join(", ")
}

/// Worst first, the recipe's order within.
pub(super) fn by_outcome(recipe: &Recipe) -> Vec<&Check> {
    let mut checks: Vec<&Check> = recipe.checks.iter().collect();
    checks.sort_by_key(|check| match check.outcome {
        Outcome::Fail => 0,
        Outcome::Warn => 1,
        Outcome::Unknown => 2,
        Outcome::Pass => 3,
    });
    checks
}

/// Every check: first those where something is to be done, with reason, source and remedy; then those that pass.
pub fn table(recipe: &Recipe, width: usize) -> String {
    let mut out = String::new();
    let mut passed = plain_table(width);
    for check in by_outcome(recipe) {
        if check.outcome == Outcome::Pass {
            passed.add_row([word(check.outcome), &check.rule, &check.found]);
            continue;
        }
        out.push_str(&wrapped(&format!("{:7} {}: {}", word(check.outcome), check.rule, check.found), 0, width));
        if let Some(fix) = &check.fix {
            out.push_str(&wrapped(&format!("fix: {fix}"), 8, width));
        }
        out.push_str(&wrapped(&format!("why: {} ({})", check.reason, check.source), 8, width));
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out + &table_text(&passed)
}

/// Below a run: what is not as the recipe has it.
pub fn section(recipe: &Recipe, width: usize) -> String {
    let mut out = format!("\nrecipe: {} (latlab doctor tells why, and how to mend it)\n", counts(recipe));
    for check in by_outcome(recipe).into_iter().filter(|check| check.outcome != Outcome::Pass) {
        out.push_str(&wrapped(&format!("{} {}: {}", word(check.outcome), check.rule, check.found), 2, width));
    }
    out
}
