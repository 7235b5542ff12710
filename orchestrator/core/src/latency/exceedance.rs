//! How often a limit is exceeded, with an interval that may be believed.
//!
//! Samples above a limit come in bursts: one disturbance spoils several. An exact interval on the number of samples is
//! then far too narrow (nominal 95 % cover about 80 % with bursts of 3, 50 % with bursts of 10; the test below). So *events* are counted: by runs declustering
//! (Leadbetter et al. 1989; Coles, An Introduction to Statistical Modeling of Extreme Values, 2001, §5.3.2) over
//! blocks, an event begins in a block above the limit that follows at least [`QUIET_BLOCKS`] blocks below it. Only in
//! such blocks can an event begin, so the rate is events by *time at risk*, and intervals are those of Poisson counts.

use super::blocks::Series;
use super::stated::{CONFIDENCE, Interval, NotApplicable, Stated, Test};
use serde::{Deserialize, Serialize};
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// Quiet blocks that part two events (about 10 s with blocks of one second).
pub const QUIET_BLOCKS: u64 = 10;
/// Largest share of the blocks at risk in which an event begins; beyond it, several in one block are no longer rare.
const MOST_BEGIN: f64 = 0.1;
/// Smallest share of the blocks that must be at risk.
const LEAST_AT_RISK: f64 = 0.5;
/// Parts of a run whose numbers of events must fit each other.
const PARTS: usize = 10;
/// Events from which on that is tested: two expected in each part.
const TESTED_FROM: u64 = 20;

/// Events above a limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Exceedance {
    /// The limit, in ns; a sample equal to it is not above.
    pub limit_ns: u64,
    /// Events.
    pub events: u64,
    /// Blocks above the limit.
    pub blocks: u64,
    /// Time in which an event could begin, in ns.
    pub at_risk_ns: u64,
    /// Wake-ups in that time.
    pub at_risk_cycles: u64,
    /// Expected number of events in that time; without an event the interval is one-sided.
    pub expected: Stated<Interval>,
}

impl Exceedance {
    /// Events above `limit_ns` in `series`.
    pub fn of(series: &Series, limit_ns: u64) -> Self {
        let counts = Counts::of(series, limit_ns);
        Self {
            limit_ns,
            events: counts.events,
            blocks: counts.blocks,
            at_risk_ns: series.block_ns.saturating_mul(counts.at_risk.len() as u64),
            at_risk_cycles: counts.at_risk_cycles,
            expected: counts.interval(series.len()).into(),
        }
    }

    /// Events per hour at risk: the observed rate and its interval.
    pub fn per_hour(&self) -> Stated<(f64, Interval)> {
        self.rate(self.at_risk_ns as f64 / 3.6e12)
    }

    /// Events per wake-up at risk: the observed rate and its interval.
    pub fn per_cycle(&self) -> Stated<(f64, Interval)> {
        self.rate(self.at_risk_cycles as f64)
    }

    fn rate(&self, exposure: f64) -> Stated<(f64, Interval)> {
        match &self.expected {
            Stated::NotApplicable(reason) => Stated::NotApplicable(reason.clone()),
            Stated::Figure(i) => {
                let interval = Interval { low: i.low / exposure, high: i.high / exposure };
                Stated::Figure((self.events as f64 / exposure, interval))
            }
        }
    }
}

#[derive(Default)]
struct Counts {
    events: u64,
    blocks: u64,
    at_risk_cycles: u64,
    /// By block at risk: an event begins in it.
    at_risk: Vec<bool>,
}

impl Counts {
    fn of(series: &Series, limit_ns: u64) -> Self {
        let mut counts = Self::default();
        for segment in &series.segments {
            let mut last_above = None;
            for entry in segment {
                let above = entry.max_ns > limit_ns;
                let at_risk = last_above.is_none_or(|last| entry.window - last > QUIET_BLOCKS);
                if at_risk {
                    counts.at_risk.push(above);
                    counts.at_risk_cycles += entry.cycles;
                    counts.events += u64::from(above);
                }
                if above {
                    counts.blocks += 1;
                    last_above = Some(entry.window);
                }
            }
        }
        counts
    }

    fn interval(&self, blocks: usize) -> Result<Interval, NotApplicable> {
        if blocks == 0 {
            return Err(NotApplicable::because("no closed block was recorded"));
        }
        let at_risk = self.at_risk.len() as f64;
        let begin = self.events as f64 / at_risk;
        if at_risk < LEAST_AT_RISK * blocks as f64 || begin > MOST_BEGIN {
            let share = 100.0 * self.blocks as f64 / blocks as f64;
            return Err(NotApplicable::because(format!(
                "{share:.1} % of the blocks are above the limit, so that events cannot be told apart; the share of samples says how often"
            )));
        }
        let test = dispersion(&self.at_risk);
        match test.filter(|test| test.p < 0.01) {
            Some(test) => Err(NotApplicable::because(format!(
                "the events are not spread evenly over the run (dispersion test: p = {:.2e}), so that no one rate describes it",
                test.p
            ))),
            None => Ok(poisson_interval(self.events, CONFIDENCE)),
        }
    }
}

/// Exact interval for the expectation of a Poisson count of `events` (Garwood 1936). Without an event it is one-sided,
/// from 0 to −ln(1 − confidence): 3.0 at 95 %.
pub fn poisson_interval(events: u64, confidence: f64) -> Interval {
    let chi_squared = |freedom: f64, p: f64| {
        let distribution = ChiSquared::new(freedom).expect("degrees of freedom are positive");
        distribution.inverse_cdf(p) / 2.0
    };
    let n = events as f64;
    if events == 0 {
        return Interval { low: 0.0, high: -(1.0 - confidence).ln() };
    }
    let outside = (1.0 - confidence) / 2.0;
    Interval { low: chi_squared(2.0 * n, outside), high: chi_squared(2.0 * n + 2.0, 1.0 - outside) }
}

/// Whether [`PARTS`] equal parts have numbers of events as by one Poisson rate (index-of-dispersion test, Cox & Lewis
/// 1966, one-sided: too uneven); `None` with too few events to tell.
fn dispersion(begins: &[bool]) -> Option<Test> {
    let events = begins.iter().filter(|begins| **begins).count() as u64;
    if events < TESTED_FROM {
        return None;
    }
    let expected = events as f64 / PARTS as f64;
    let part = |number: usize| &begins[number * begins.len() / PARTS..(number + 1) * begins.len() / PARTS];
    let deviation = |number| part(number).iter().filter(|begins| **begins).count() as f64 - expected;
    let statistic = (0..PARTS).map(|number| deviation(number).powi(2) / expected).sum();
    let distribution = ChiSquared::new(PARTS as f64 - 1.0).expect("degrees of freedom are positive");
    Some(Test { statistic, p: distribution.sf(statistic) })
}

/// Wake-ups that show an event of probability `p` each at least once, with [`CONFIDENCE`]: ln(1 − 0.95) / ln(1 − p),
/// about 3 / p. `p` in 0..1, else `None`.
pub fn cycles_to_see(p: f64) -> Option<f64> {
    (p > 0.0 && p < 1.0).then(|| (1.0 - CONFIDENCE).ln() / (-p).ln_1p())
}

/// Smallest probability by wake-up that `cycles` of them show at least once, with [`CONFIDENCE`]; the inverse of [`cycles_to_see`].
pub fn rate_seen_by(cycles: u64) -> Option<f64> {
    (cycles > 0).then(|| -((1.0 - CONFIDENCE).ln() / cycles as f64).exp_m1())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::blocks::Entry;
    use crate::latency::blocks::testing::series;
    use crate::latency::random::Random;

    const LIMIT: u64 = 100;

    fn above(pattern: &[(usize, u64)]) -> Series {
        series(pattern.iter().flat_map(|(count, max)| std::iter::repeat_n(*max, *count)))
    }

    #[test]
    fn an_event_ends_after_quiet_blocks() {
        for (pattern, events, blocks, at_risk) in [
            // Equal to the limit is not above it.
            (above(&[(100, LIMIT)]), 0, 0, 100),
            (above(&[(50, 1), (3, 101), (47, 1)]), 1, 3, 50 + 1 + 37),
            // Nine quiet blocks part nothing, eleven do: the tenth is the last in which nothing new can begin.
            (above(&[(50, 1), (1, 101), (9, 1), (1, 101), (100, 1)]), 1, 2, 51 + 90),
            (above(&[(50, 1), (1, 101), (10, 1), (1, 101), (100, 1)]), 2, 2, 51 + 1 + 90),
        ] {
            let found = Exceedance::of(&pattern, LIMIT);
            assert_eq!((found.events, found.blocks), (events, blocks));
            assert_eq!(found.at_risk_cycles, at_risk * 1000);
        }
    }

    #[test]
    fn a_new_boot_is_a_new_event() {
        let mut two = above(&[(50, 1), (1, 101)]);
        two.segments.push(above(&[(1, 101), (50, 1)]).segments.remove(0));
        assert_eq!(Exceedance::of(&two, LIMIT).events, 2);
    }

    #[test]
    fn no_event_in_twelve_hours_is_a_bound() {
        let found = Exceedance::of(&above(&[(43_200, 1)]), LIMIT);
        let Stated::Figure((rate, interval)) = found.per_cycle() else { panic!("{found:?}") };
        assert_eq!((rate, interval.low), (0.0, 0.0));
        // ln(20) / 43,200,000.
        assert!((interval.high - 6.934e-8).abs() < 1e-11, "{interval:?}");
    }

    #[test]
    fn frequent_or_drifting_events_have_no_rate() {
        let often = series((0..10_000).map(|i| if i % 13 == 0 { 200 } else { 1 }));
        assert!(Exceedance::of(&often, LIMIT).expected.figure().is_none());
        // Twenty-five events in the last tenth of the run.
        let late = series((0..10_000).map(|i| if i >= 9_000 && i % 40 == 0 { 200 } else { 1 }));
        let Stated::NotApplicable(reason) = Exceedance::of(&late, LIMIT).expected else { panic!() };
        assert!(reason.contains("not spread evenly"), "{reason}");
        assert!(Exceedance::of(&Series::default(), LIMIT).expected.figure().is_none());
    }

    #[test]
    fn run_length_and_rate_are_inverse() {
        // 12 h at 1 ms.
        assert!((rate_seen_by(43_200_000).unwrap() - 6.934e-8).abs() < 1e-11);
        let cycles = cycles_to_see(1e-6).unwrap();
        assert!((cycles - 2_995_731.0).abs() < 2.0, "{cycles}");
        assert_eq!(
            (cycles_to_see(0.0), cycles_to_see(1.0), cycles_to_see(f64::NAN), rate_seen_by(0)),
            (None, None, None, None)
        );
    }

    /// Blocks of one second of a run in which disturbances come at random, `rate` a block, each spoiling `burst` samples
    /// 300 ms apart: the series and the number of spoilt samples.
    fn simulated(random: &mut Random, blocks: u64, rate: f64, burst: u32) -> (Series, u64) {
        let mut maxima = vec![1; usize::try_from(blocks).unwrap()];
        let (mut at, mut samples) = (0.0, 0);
        loop {
            at -= random.unit().ln() / rate;
            if at >= blocks as f64 {
                break;
            }
            let whole = |x: f64| format!("{x:.0}").parse::<usize>().unwrap();
            for sample in 0..burst {
                if let Some(max) = maxima.get_mut(whole((at + 0.3 * f64::from(sample)).floor())) {
                    *max = 200;
                    samples += 1;
                }
            }
        }
        (series(maxima), samples)
    }

    /// The stated 95 % hold for bursts of 1, 3 and 10 samples, where the same interval on samples fails.
    #[test]
    fn stated_coverage_holds_for_bursts() {
        const REPETITIONS: u32 = 2000;
        let (blocks, rate) = (3600u64, 8.0 / 3600.0);
        for (burst, raw_at_most) in [(1, 1.0), (3, 0.85), (10, 0.55)] {
            let mut random = Random::new(u64::from(burst));
            let (mut covered, mut covered_raw) = (0u32, 0u32);
            for _ in 0..REPETITIONS {
                let (series, samples) = simulated(&mut random, blocks, rate, burst);
                let found = Exceedance::of(&series, LIMIT);
                let interval = found.expected.figure().copied().unwrap();
                let expected = rate * found.at_risk_ns as f64 / 1e9;
                covered += u32::from(interval.contains(expected));
                let raw = poisson_interval(samples, CONFIDENCE);
                covered_raw += u32::from(raw.contains(rate * blocks as f64 * f64::from(burst)));
            }
            let share = |covered: u32| f64::from(covered) / f64::from(REPETITIONS);
            // Three standard errors of 2000 repetitions are 1.5 %; exact intervals of small counts cover more than stated.
            assert!(share(covered) >= 0.945, "bursts of {burst}: {}", share(covered));
            assert!(share(covered_raw) <= raw_at_most, "bursts of {burst}, by samples: {}", share(covered_raw));
        }
    }

    #[test]
    fn gaps_in_the_record_are_no_time_at_risk() {
        let mut series = above(&[(100, 1)]);
        series.segments[0].retain(|entry: &Entry| !(20..40).contains(&entry.window));
        assert_eq!(Exceedance::of(&series, LIMIT).at_risk_cycles, 80_000);
    }
}
