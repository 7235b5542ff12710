//! Captured boards judged by the recipe, with exact findings: `emulated-*` were captured from emulated boards and cut to what
//! is read, the others are made by hand from what kernels of that kind show.

use latlab_core::facts::Facts;
use latlab_core::recipe::{Subject, judge};
use latprobe::status::Capture;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

fn boards() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/boards");
    let mut boards: Vec<PathBuf> = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    boards.sort();
    boards
}

/// One line per check: how it ended, its name, what was found.
fn findings(board: &Path) -> String {
    let text = fs::read_to_string(board.join("captures.jsonl")).unwrap();
    let captures: Vec<Capture> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let facts = Facts::parse(&captures);
    let mut out = String::new();
    for check in judge(&Subject::of(&facts)).checks {
        let outcome = serde_json::to_value(check.outcome).unwrap();
        writeln!(out, "{:7} {}: {}", outcome.as_str().unwrap(), check.rule, check.found).unwrap();
    }
    out
}

#[test]
fn every_board_is_judged_as_expected() {
    let boards = boards();
    assert!(boards.len() >= 8, "{boards:?}");
    for board in boards {
        let expected = fs::read_to_string(board.join("expected.txt")).unwrap_or_default();
        assert_eq!(findings(&board), expected, "{}", board.display());
    }
}

/// Each file of a capture missing in turn, or cut anywhere, or garbage: never a panic, and never a rule that passes by it which
/// did not pass before, but for the few that pass where a thing is not there.
#[test]
fn what_is_missing_is_unknown() {
    // A kernel without idle driver, scaling, partitions, devices to cool and so on has no file for them.
    const BY_ABSENCE: &[&str] = &[
        "cpuidle",
        "governor",
        "cooling",
        "cpuset-partitions",
        "smt",
        "competing-threads",
        "interrupts-fired",
        "graphics",
        "watchdogs",
    ];
    for board in boards() {
        let text = fs::read_to_string(board.join("captures.jsonl")).unwrap();
        let captures: Vec<Capture> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let whole = judge(&Subject::of(&Facts::parse(&captures)));
        for number in 0..captures.len() {
            let mut less = captures.clone();
            let gone = less.remove(number);
            let recipe = judge(&Subject::of(&Facts::parse(&less)));
            for check in &recipe.checks {
                let before = whole.checks.iter().find(|other| other.rule == check.rule);
                let passes = |check: &latlab_core::recipe::Check| check.outcome == latlab_core::recipe::Outcome::Pass;
                let turned = passes(check) && before.is_some_and(|before| !passes(before));
                let fine = BY_ABSENCE.contains(&check.rule.as_str()) || gone.path.starts_with("/proc/irq/");
                assert!(!turned || fine, "{}: {} passes without {}", board.display(), check.rule, gone.path);
            }
            for garbage in ["", "\u{fffd}\n:(\0", "9999999999999999999999", "- - -\n1 2 3"] {
                less.push(Capture { path: gone.path.clone(), text: Some(garbage.to_owned()), error: None });
                let _ = judge(&Subject::of(&Facts::parse(&less)));
                less.pop();
            }
        }
    }
}
