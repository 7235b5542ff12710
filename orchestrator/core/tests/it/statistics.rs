//! Statistics against values computed with SciPy, statsmodels and pymannkendall: `tests/reference/statistics.py`.

use latlab_core::latency::boots::difference;
use latlab_core::latency::drift::mann_whitney;
use latlab_core::latency::exceedance::poisson_interval;
use latlab_core::latency::extremes::{Gev, anderson_darling, fit, l_moments, level_interval};
use latlab_core::latency::stationarity::{ljung_box, mann_kendall};
use serde::Deserialize;

#[derive(Deserialize)]
struct Reference {
    extremes: Vec<Extremes>,
    series: Vec<Series>,
    welch: Vec<Welch>,
    poisson: Vec<Poisson>,
}

#[derive(Deserialize)]
struct Extremes {
    data: Vec<f64>,
    l_moments: [f64; 4],
    by_l_moments: Gev,
    by_likelihood: Gev,
    log_likelihood: f64,
    p: f64,
    level: f64,
    level_low: f64,
    level_high: f64,
    level_by_l_moments: f64,
    anderson_darling: f64,
}

#[derive(Deserialize)]
struct Series {
    data: Vec<f64>,
    mann_kendall_s: f64,
    mann_kendall_p: f64,
    ljung_box: f64,
    ljung_box_p: f64,
    mann_whitney_u: f64,
    mann_whitney_p: f64,
}

#[derive(Deserialize)]
struct Welch {
    a: Vec<f64>,
    b: Vec<f64>,
    difference: f64,
    low: f64,
    high: f64,
    effect: f64,
}

#[derive(Deserialize)]
struct Poisson {
    events: u64,
    low: f64,
    high: f64,
}

fn reference() -> Reference {
    serde_json::from_str(include_str!("../reference/statistics.json")).expect("statistics.py wrote it")
}

#[track_caller]
fn close(found: f64, expected: f64, relative: f64, what: &str) {
    let off = (found - expected).abs();
    assert!(off <= relative * expected.abs().max(1e-12), "{what}: {found}, expected {expected}");
}

#[track_caller]
fn same_gev(found: &Gev, expected: &Gev, tolerance: f64) {
    close(found.location, expected.location, tolerance, "location");
    close(found.scale, expected.scale, tolerance, "scale");
    assert!((found.shape - expected.shape).abs() <= tolerance, "shape: {}, expected {}", found.shape, expected.shape);
}

#[test]
fn l_moments_and_their_distribution() {
    for known in reference().extremes {
        let found = l_moments(&known.data).unwrap();
        let found_four = [found.mean, found.scale, found.skewness, found.kurtosis];
        found_four.iter().zip(known.l_moments).for_each(|(found, expected)| close(*found, expected, 1e-9, "L-moment"));
        let gev = Gev::by_l_moments(&found).unwrap();
        same_gev(&gev, &known.by_l_moments, 1e-5);
        close(gev.exceeded_with(known.p), known.level_by_l_moments, 1e-5, "level");
    }
}

#[test]
fn maximum_likelihood_and_profile_interval() {
    for known in reference().extremes {
        let fitted = fit(&known.data, &Gev::by_l_moments(&l_moments(&known.data).unwrap()).unwrap()).unwrap();
        close(fitted.log_likelihood, known.log_likelihood, 1e-8, "log-likelihood");
        same_gev(&fitted.gev, &known.by_likelihood, 1e-3);
        close(fitted.gev.exceeded_with(known.p), known.level, 2e-3, "level");
        let interval = level_interval(&known.data, &fitted, known.p).unwrap();
        close(interval.low, known.level_low, 1e-3, "lower end");
        close(interval.high, known.level_high, 1e-3, "upper end");
    }
}

#[test]
fn anderson_darling_statistic() {
    for known in reference().extremes {
        let mut sorted = known.data.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        close(anderson_darling(&sorted, &known.by_l_moments), known.anderson_darling, 1e-6, "A²");
    }
}

#[test]
fn tests_of_series() {
    for known in reference().series {
        let trend = mann_kendall(&known.data);
        close(trend.statistic, known.mann_kendall_s, 1e-12, "S");
        close(trend.p, known.mann_kendall_p, 1e-6, "p of Mann–Kendall");
        let memory = ljung_box(&known.data, 10);
        close(memory.statistic, known.ljung_box, 1e-9, "Q");
        close(memory.p, known.ljung_box_p, 1e-6, "p of Ljung–Box");
        let third = known.data.len() / 3;
        let rank = mann_whitney(&known.data[..third], &known.data[known.data.len() - third..]);
        close(rank.statistic, known.mann_whitney_u, 1e-12, "U");
        close(rank.p, known.mann_whitney_p, 1e-6, "p of Mann–Whitney");
    }
}

#[test]
fn differences_of_boots() {
    for known in reference().welch {
        let found = difference(&known.a, &known.b, 0.0).unwrap();
        close(found.difference, known.difference, 1e-9, "difference");
        close(found.interval.low, known.low, 1e-6, "lower end");
        close(found.interval.high, known.high, 1e-6, "upper end");
        close(found.effect, known.effect, 1e-9, "Hedges' g");
    }
}

#[test]
fn poisson_intervals() {
    for known in reference().poisson {
        let found = poisson_interval(known.events, 0.95);
        close(found.low, known.low, 1e-6, "lower end");
        close(found.high, known.high, 1e-6, "upper end");
    }
}
