//! The maximum expected in a horizon, with its interval, or why it cannot be said.

use super::{Gev, fit, goodness_of_fit, l_moments, level_interval};
use crate::latency::blocks::{Entry, Series};
use crate::latency::stated::{Interval, NotApplicable, Stated, Test};
use crate::latency::stationarity::{ljung_box, mann_kendall};
use crate::quantity::duration;
use crate::units::MINUTE;
use serde::{Deserialize, Serialize};

/// Sizes of blocks that are tried, in ns. From a minute up: a recipe's loads start and pause in seconds, so that maxima
/// of shorter blocks are no maxima of like things.
pub const BLOCK_SIZES_NS: [u64; 4] = [MINUTE, 2 * MINUTE, 5 * MINUTE, 15 * MINUTE];
/// Fewest block maxima that are fitted.
const FEWEST_BLOCKS: usize = 30;
/// Most distinct values below which the clock or the bins are too coarse for a continuous distribution.
const FEWEST_DISTINCT: usize = 10;
/// A test with a smaller p refuses the fit.
const SIGNIFICANT: f64 = 0.05;
/// Longest horizon, in observed ones.
const FARTHEST: u64 = 10;

/// Tests that a fit must pass.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Checks {
    /// Against a trend: Mann–Kendall.
    pub trend: Test,
    /// Against memory: Ljung–Box on ranks.
    pub memory: Test,
    /// Against another distribution: Anderson–Darling.
    pub distribution: Test,
}

/// A return level with what it rests on. Latencies in ns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ReturnLevel {
    /// Level that is exceeded once in the horizon on average, by maximum likelihood.
    pub level_ns: f64,
    /// Its profile-likelihood interval.
    pub interval_ns: Interval,
    /// The same level by L-moments.
    pub by_l_moments_ns: f64,
    /// The fit by maximum likelihood.
    pub gev: Gev,
    /// Tests passed.
    pub checks: Checks,
}

/// What blocks of one size say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BySize {
    /// Size of a block, in ns.
    pub block_ns: u64,
    /// Block maxima.
    pub blocks: usize,
    /// The level, or why there is none.
    pub level: Stated<ReturnLevel>,
}

/// The maximum expected in a horizon.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MaximumExpected {
    /// The horizon, in ns.
    pub horizon_ns: u64,
    /// By size of block, ascending.
    pub sizes: Vec<BySize>,
    /// What may be said: the level of the smallest blocks that pass every test, if larger blocks do not contradict it.
    pub stated: Stated<ReturnLevel>,
}

/// The maximum that a run of `horizon_ns` like that of `series` would be expected to show.
pub fn maximum_expected(series: &Series, horizon_ns: u64) -> MaximumExpected {
    let by_size = |block_ns: u64| {
        let maxima = series.grouped(block_ns);
        BySize { block_ns, blocks: maxima.len(), level: level(&maxima, block_ns, horizon_ns).into() }
    };
    let observed = series.covered_ns();
    if horizon_ns > observed.saturating_mul(FARTHEST) {
        let reason =
            format!("{} is more than {FARTHEST} times the observed {}", duration(horizon_ns), duration(observed));
        return MaximumExpected { horizon_ns, sizes: Vec::new(), stated: Stated::NotApplicable(reason) };
    }
    let sizes: Vec<BySize> = BLOCK_SIZES_NS.into_iter().map(by_size).collect();
    let stated = choose(&sizes).into();
    MaximumExpected { horizon_ns, sizes, stated }
}

fn choose(sizes: &[BySize]) -> Result<ReturnLevel, NotApplicable> {
    let mut fitting = sizes.iter().filter_map(|size| Some((size.block_ns, size.level.figure()?)));
    let Some((block_ns, chosen)) = fitting.next() else {
        let reasons = sizes.iter().filter_map(|size| match &size.level {
            Stated::NotApplicable(reason) => Some(format!("blocks of {}: {reason}", duration(size.block_ns))),
            Stated::Figure(_) => None,
        });
        // Larger blocks only repeat that they are too few.
        let reasons: Vec<String> = reasons.take(2).collect();
        return Err(NotApplicable::because(reasons.join("; ")));
    };
    match fitting
        .find(|(_, other)| !chosen.interval_ns.contains(other.level_ns) && !other.interval_ns.contains(chosen.level_ns))
    {
        Some((other, _)) => Err(NotApplicable::because(format!(
            "blocks of {} and of {} contradict each other",
            duration(block_ns),
            duration(other)
        ))),
        None => Ok(*chosen),
    }
}

fn level(maxima: &[Entry], block_ns: u64, horizon_ns: u64) -> Result<ReturnLevel, NotApplicable> {
    let values: Vec<f64> = maxima.iter().map(|m| m.max_ns as f64).collect();
    if values.len() < FEWEST_BLOCKS {
        return Err(NotApplicable::because(format!("only {} block maxima, {FEWEST_BLOCKS} are needed", values.len())));
    }
    if horizon_ns <= block_ns {
        return Err(NotApplicable::because("the horizon is no longer than a block"));
    }
    let distinct = maxima.iter().map(|m| m.max_ns).collect::<std::collections::BTreeSet<_>>().len();
    if distinct < FEWEST_DISTINCT {
        return Err(NotApplicable::because(format!("only {distinct} different maxima: too coarse for a fit")));
    }
    let checks = checks(&values)?;
    let start = l_moments(&values).and_then(|moments| Gev::by_l_moments(&moments));
    let start = start.ok_or_else(|| NotApplicable::because("the maxima have no extreme-value shape"))?;
    let fitted = fit(&values, &start).ok_or_else(|| NotApplicable::because("the likelihood has no proper maximum"))?;
    let p = block_ns as f64 / horizon_ns as f64;
    let interval_ns = level_interval(&values, &fitted, p)
        .ok_or_else(|| NotApplicable::because("the data set no bound to the level"))?;
    let by_l_moments_ns = start.exceeded_with(p);
    if !interval_ns.contains(by_l_moments_ns) {
        return Err(NotApplicable::because("fits by likelihood and by L-moments contradict each other"));
    }
    Ok(ReturnLevel { level_ns: fitted.gev.exceeded_with(p), interval_ns, by_l_moments_ns, gev: fitted.gev, checks })
}

fn checks(values: &[f64]) -> Result<Checks, NotApplicable> {
    let passed = |test: Test, what: &str| match test.p < SIGNIFICANT {
        true => Err(NotApplicable::because(format!("{what} (p = {:.2e})", test.p))),
        false => Ok(test),
    };
    let trend = passed(mann_kendall(values), "the maxima drift over the run, by Mann–Kendall")?;
    let lags = (values.len() / 5).min(10);
    let memory = passed(ljung_box(values, lags), "neighbouring maxima are alike, by Ljung–Box")?;
    let fit = goodness_of_fit(values, values.len() as u64);
    let fit = fit.ok_or_else(|| NotApplicable::because("the maxima have no extreme-value shape"))?;
    let distribution = passed(fit, "the maxima are of no single extreme-value distribution, by Anderson–Darling")?;
    Ok(Checks { trend, memory, distribution })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::random::Random;
    use crate::units::HOUR;

    /// A run in which each minute has one of `maxima`, in ns.
    fn minutes(maxima: impl IntoIterator<Item = f64>) -> Series {
        let entry = |(window, max): (u64, f64)| Entry {
            window,
            at_ns: (window + 1) * MINUTE,
            max_ns: format!("{max:.0}").parse().unwrap(),
            cycles: 60_000,
        };
        Series { block_ns: MINUTE, segments: vec![(0..).zip(maxima).map(entry).collect()] }
    }

    const TRUTH: Gev = Gev { location: 40_000.0, scale: 3_000.0, shape: 0.1 };

    fn drawn(seed: u64, minutes: u32) -> Vec<f64> {
        let mut random = Random::new(seed);
        (0..minutes).map(|_| TRUTH.exceeded_with(random.unit())).collect()
    }

    #[test]
    fn the_true_level_is_covered_where_one_is_stated() {
        let (mut stated, mut covered) = (0, 0);
        for seed in 0..30 {
            let found = maximum_expected(&minutes(drawn(seed, 120)), 12 * HOUR);
            if let Stated::Figure(level) = found.stated {
                stated += 1;
                covered += u32::from(level.interval_ns.contains(TRUTH.exceeded_with(1.0 / 720.0)));
            }
        }
        // Three tests at 5 % each refuse about one in seven.
        assert!(stated >= 22, "{stated} of 30 stated");
        assert!(covered * 100 >= stated * 87, "{covered} of {stated} covered");
    }

    #[test]
    fn data_without_the_right_to_a_level_are_refused_with_the_reason() {
        let good = drawn(4, 240);
        let with = |f: &dyn Fn(usize, f64) -> f64| good.iter().enumerate().map(|(i, x)| f(i, *x)).collect::<Vec<_>>();
        for (maxima, reason) in [
            (good[..20].to_vec(), "30 are needed"),
            (vec![50_000.0; 240], "too coarse"),
            (with(&|_, x| (x / 5_000.0).round() * 5_000.0), "too coarse"),
            (with(&|i, x| x + i as f64 * 100.0), "drift"),
            (with(&|i, x| x + if (i / 20) % 2 == 0 { 0.0 } else { 20_000.0 }), "alike"),
            (with(&|i, x| x + if (i * i * 31 + i * 17) % 97 < 8 { 60_000.0 } else { 0.0 }), "Anderson"),
        ] {
            let found = maximum_expected(&minutes(maxima), 3 * HOUR);
            let Stated::NotApplicable(said) = &found.stated else { panic!("{reason}: {:?}", found.stated) };
            assert!(said.contains(reason), "{said}, expected {reason}");
            assert_eq!(found.sizes.len(), BLOCK_SIZES_NS.len());
        }
    }

    #[test]
    fn horizons_are_bounded_on_both_sides() {
        let run = minutes(drawn(4, 60));
        let reason = |horizon| match maximum_expected(&run, horizon).stated {
            Stated::NotApplicable(reason) => reason,
            Stated::Figure(level) => format!("{level:?}"),
        };
        assert!(reason(10 * HOUR + 1).contains("more than 10 times the observed 1 h"), "{}", reason(10 * HOUR + 1));
        assert!(reason(MINUTE).contains("no longer than a block"));
        assert!(!reason(10 * HOUR).contains("more than 10 times"));
        assert!(maximum_expected(&Series::default(), HOUR).stated.figure().is_none());
    }
}
