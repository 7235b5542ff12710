#!/usr/bin/env python3
"""Reference values for latlab's statistics, computed with other people's code.

    python3 -m venv /tmp/reference && /tmp/reference/bin/pip install scipy statsmodels pymannkendall
    /tmp/reference/bin/python statistics.py > statistics.json

Data are drawn with a fixed seed and stored beside the values, so that the
tests need no Python. The profile interval has no ready function: it is
computed here by another way than in latlab (root search over a quasi-Newton
maximisation in other parameters).
"""
import json
from importlib.metadata import version

import numpy as np
import pymannkendall
from scipy import integrate, optimize, stats
from statsmodels.stats.diagnostic import acorr_ljungbox

random = np.random.default_rng(20190523)


def gev(shape, location, scale, n):
    return stats.genextreme.rvs(-shape, loc=location, scale=scale, size=n, random_state=random)


def by_l_moments(data):
    """The GEV whose L-moments, by quadrature of its quantile function, are those of the data."""
    l1, l2, t3, t4 = stats.lmoment(data, standardize=True)

    def theory(k):  # L-moments of the standard distribution with SciPy's c = k
        quantile = lambda u: stats.genextreme.ppf(u, k)
        part = lambda polynomial: integrate.quad(lambda u: quantile(u) * polynomial(u), 0, 1, limit=400)[0]
        return part(lambda u: 1), part(lambda u: 2 * u - 1), part(lambda u: 6 * u * u - 6 * u + 1)

    def skewness_off(k):
        _, second, third = theory(k)
        return third / second - t3

    k = optimize.brentq(skewness_off, -0.8, 0.9, xtol=1e-10)
    first, second, _ = theory(k)
    scale = l2 / second
    return [l1, l2, t3, t4], {"location": l1 - scale * first, "scale": scale, "shape": -k}


def profile_interval(data, fitted, p):
    """95 % profile-likelihood interval of the level exceeded with probability p."""
    c, loc, scale = fitted
    highest = stats.genextreme.logpdf(data, c, loc, scale).sum()
    level = stats.genextreme.isf(p, c, loc, scale)
    allowed = highest - stats.chi2.ppf(0.95, 1) / 2

    def profile(z):
        def cost(parameters):
            c, ln_scale = parameters
            scale = np.exp(ln_scale)
            loc = z - scale * stats.genextreme.isf(p, c)
            value = -stats.genextreme.logpdf(data, c, loc, scale).sum()
            return value if np.isfinite(value) else 1e10

        starts = [(c, np.log(scale)), (c * 0.5, np.log(scale)), (c - 0.2, np.log(scale) + 0.1)]
        found = [optimize.minimize(cost, s, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-10, "maxiter": 5000}) for s in starts]
        return -min(f.fun for f in found) - allowed

    step = scale / 4
    edges = []
    for direction in (-1, 1):
        outer = level + direction * step
        while profile(outer) > 0:
            outer += direction * step * 2
        edges.append(optimize.brentq(profile, level, outer, xtol=1e-6))
    return highest, level, edges


def extremes(shape, location, scale, n, p):
    data = np.round(gev(shape, location, scale, n))  # whole ns
    moments, closed = by_l_moments(data)
    start = (-closed["shape"], closed["location"], closed["scale"])
    cost = lambda x: -stats.genextreme.logpdf(data, x[0], x[1], x[2]).sum() if x[2] > 0 else 1e10
    fitted = optimize.minimize(cost, start, method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-11, "maxiter": 20000}).x
    # SciPy's own fit, from the same start, must agree.
    own = stats.genextreme.fit(data, start[0], loc=start[1], scale=start[2])
    assert np.allclose(own, fitted, rtol=2e-3, atol=2e-3), (own, fitted)
    highest, level, interval = profile_interval(data, fitted, p)
    known = stats.goodness_of_fit(
        stats.genextreme, data, known_params={"c": start[0], "loc": start[1], "scale": start[2]},
        statistic="ad", n_mc_samples=9, rng=np.random.default_rng(1))
    return {
        "data": data.tolist(), "l_moments": moments, "by_l_moments": closed,
        "by_likelihood": {"location": fitted[1], "scale": fitted[2], "shape": -fitted[0]},
        "log_likelihood": highest, "p": p, "level": level, "level_low": interval[0], "level_high": interval[1],
        "level_by_l_moments": stats.genextreme.isf(p, *start), "anderson_darling": known.statistic,
    }


def series(data):
    trend = pymannkendall.original_test(data)
    ranks = stats.rankdata(data)
    box = acorr_ljungbox(ranks, lags=[10])
    third = len(data) // 3
    u = stats.mannwhitneyu(data[:third], data[-third:], method="asymptotic", use_continuity=True)
    return {
        "data": [float(x) for x in data],
        "mann_kendall_s": float(trend.s), "mann_kendall_p": float(trend.p),
        "ljung_box": float(box["lb_stat"].iloc[0]), "ljung_box_p": float(box["lb_pvalue"].iloc[0]),
        "mann_whitney_u": float(u.statistic), "mann_whitney_p": float(u.pvalue),
    }


def welch(a, b):
    test = stats.ttest_ind(b, a, equal_var=False)
    interval = test.confidence_interval(0.95)
    a, b = np.array(a), np.array(b)
    freedom = len(a) + len(b) - 2
    pooled = np.sqrt(((len(a) - 1) * a.var(ddof=1) + (len(b) - 1) * b.var(ddof=1)) / freedom)
    effect = (b.mean() - a.mean()) / pooled * (1 - 3 / (4 * freedom - 1))
    return {"a": a.tolist(), "b": b.tolist(), "difference": b.mean() - a.mean(),
            "low": interval.low, "high": interval.high, "effect": effect}


def poisson(n):
    return {"events": n, "low": stats.chi2.ppf(0.025, 2 * n) / 2 if n else 0.0,
            "high": stats.chi2.ppf(0.975, 2 * n + 2) / 2 if n else -np.log(0.05)}


noise = gev(0.1, 40_000, 3_000, 90)
print(json.dumps({
    "versions": {name: version(name) for name in ("scipy", "numpy", "pymannkendall", "statsmodels")},
    "extremes": [
        extremes(0.1, 40_000, 3_000, 60, 1 / 600),
        extremes(-0.15, 90_000, 5_000, 150, 1 / 1440),
        extremes(0.0, 55_000, 2_000, 400, 1 / 720),
        extremes(0.3, 20_000, 4_000, 100, 1 / 500),
    ],
    "series": [
        series(noise),
        series(np.round(noise / 3_000)),  # many ties
        series(noise + np.linspace(0, 6_000, 90)),
        series(np.convolve(noise, [1, 0.8, 0.6, 0.4], mode="same")),
    ],
    "welch": [
        welch([126, 113, 65], [67, 71, 89]),
        welch([50, 52, 49, 51], [83, 80, 86]),
        welch([10.5, 10.7], [10.4, 10.9, 11.3, 10.2]),
    ],
    "poisson": [poisson(n) for n in (0, 1, 3, 10, 50, 1000)],
}, indent=1))
