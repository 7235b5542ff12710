//! A synthetic year of nightly runs with planted regressions, judged as the gate would: what is found, and how often
//! something is found that is not there.

use super::{Standing, rise, stands};
use crate::latency::random::Random;

/// Nights that a baseline is taken from.
const BASELINE: usize = 30;

/// The maximum of a night at an expected level: skewed, with a spread of about 5 % as boots of one board have.
fn figure(random: &mut Random, level: f64) -> f64 {
    level * (1.0 + 0.04 * -(-random.unit().ln()).ln())
}

struct Judged {
    /// Nights that stood out and did so again in both confirming re-runs.
    alarms: Vec<usize>,
    /// Nights on which the trend shows a rise by more than 3 %.
    changes: Vec<usize>,
}

/// Judges a year in which night `i` has the expected level `level(i)`; a re-run is of the same level, unless `lone`.
fn judge(seed: u64, level: &dyn Fn(usize) -> f64, lone: &[usize]) -> Judged {
    let mut random = Random::new(seed);
    let nights: Vec<f64> =
        (0..365).map(|i| figure(&mut random, level(i)) * if lone.contains(&i) { 1.6 } else { 1.0 }).collect();
    let mut judged = Judged { alarms: Vec::new(), changes: Vec::new() };
    for night in BASELINE..nights.len() {
        let baseline = &nights[..BASELINE];
        let confirmed = stands(baseline, nights[night]).standing == Standing::Suspicious
            && (0..2).all(|_| stands(baseline, figure(&mut random, level(night))).standing == Standing::Suspicious);
        if confirmed {
            judged.alarms.push(night);
        }
        if rise(&nights[..=night]).is_some() {
            judged.changes.push(night);
        }
    }
    judged
}

#[test]
fn a_clean_year_raises_no_alarm() {
    let (mut alarms, mut changes) = (0, 0);
    for seed in 0..20 {
        let judged = judge(seed, &|_| 50.0, &[80, 200]);
        alarms += judged.alarms.len();
        changes += judged.changes.len();
    }
    // Of 6,700 nights, two single bad ones a year among them.
    assert_eq!((alarms, changes), (0, 0));
}

#[test]
fn planted_regressions_are_found() {
    let (mut step, mut jump, mut creep) = (0, 0, 0);
    for seed in 100..120 {
        // +15 % from night 150 on: within a month, by the trend at the latest.
        let judged = judge(seed, &|i| if i < 150 { 50.0 } else { 57.5 }, &[]);
        let found = judged.alarms.iter().chain(&judged.changes).any(|night| (150..180).contains(night));
        step += u32::from(found && judged.changes.iter().all(|night| *night >= 150));
        // +50 %: at once.
        jump += u32::from(judge(seed, &|i| if i < 150 { 50.0 } else { 75.0 }, &[]).alarms.contains(&151));
        // A creep of 0.1 % a night: within the year, long before it has done its worst.
        let judged = judge(seed, &|i| 50.0 * (1.0 + 0.001 * i as f64), &[]);
        creep += u32::from(judged.changes.iter().any(|night| *night < 200));
    }
    assert_eq!((step, jump, creep), (20, 20, 20));
}
