//! Comparison of two set-ups: first what else differs, then what may be said of each metric.

mod differences;
mod foreign;
mod outcome;
mod provenance;
mod published;
mod side;

#[cfg(test)]
mod tests;

use crate::judgement::Validity;
use crate::latency::Probability;
use crate::latency::bootstrap::quantile_difference;
use crate::result::QUANTILES;
use serde::{Deserialize, Serialize};
use side::{Boot, Missing};

pub use differences::{Differences, Differing, Untold};
pub use outcome::{Compared, MARGIN, NEGLIGIBLE, Outcome};
pub use provenance::{Group, Key, Known, Provenance};
pub use published::{Layer, Published, PublishedRun, published, published_for};
pub use side::{Counts, Extent, Run, Side};

/// Version of [`Comparison`].
pub const COMPARISON_FORMAT: u32 = 1;
/// Numbers of wake-ups that differ by less than this share count as equal for maxima.
const EQUAL_CYCLES: f64 = 0.1;

/// Two sides compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// [`COMPARISON_FORMAT`].
    pub format: u32,
    /// The side that the other is compared with.
    pub a: Extent,
    /// The other side.
    pub b: Extent,
    /// What the comparison is about: names of settings; empty: not said.
    pub asked: Vec<String>,
    /// What differs and what is unknown.
    pub differences: Differences,
    /// What may be said, in one line; what else differs comes first.
    pub headline: String,
    /// Invalid runs are among the sides: nothing here may be relied on.
    pub forced: bool,
    /// By metric.
    pub metrics: Vec<Compared>,
}

/// Why two sides are not compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// A side without runs.
    #[error("`{side}` has no measured run")]
    Empty {
        /// Its name.
        side: String,
    },
    /// Hunts, or noise beside latencies.
    #[error("{} hunted or counted noise: that cannot be compared with measurements", runs.join(", "))]
    NoMeasurement {
        /// Their names.
        runs: Vec<String>,
    },
    /// Invalid runs.
    #[error("INVALID: {}; `latlab show` says why; --force compares them all the same, and marks it", runs.join(", "))]
    Invalid {
        /// Their names.
        runs: Vec<String>,
    },
}

/// Compares `b` with `a`; the comparison is about `asked`. Invalid runs are refused unless `force`.
pub fn compare(a: &Side, b: &Side, asked: &[String], force: bool) -> Result<Comparison, Refused> {
    for side in [a, b] {
        if side.runs.is_empty() {
            return Err(Refused::Empty { side: side.name.clone() });
        }
    }
    let all = || a.runs.iter().chain(&b.runs);
    let key = Key { group: Group::Measurement, name: "instrument".to_owned() };
    let instrument = |run: &Run| match run.provenance.get(&key) {
        Known::Value(instrument) => instrument,
        _ => String::new(),
    };
    let noise = all().all(|run| instrument(run) == "latprobe-noise");
    let others = all().filter(|run| matches!(instrument(run).as_str(), "latprobe-hunt" | "latprobe-noise") && !noise);
    let others: Vec<String> = others.map(|run| run.name.clone()).collect();
    if !others.is_empty() {
        return Err(Refused::NoMeasurement { runs: others });
    }
    let invalid = a.runs.iter().chain(&b.runs).filter(|run| run.validity == Some(Validity::Invalid));
    let runs: Vec<String> = invalid.map(|run| run.name.clone()).collect();
    if !runs.is_empty() && !force {
        return Err(Refused::Invalid { runs });
    }
    let differences = differences_of(a, b, asked);
    let headline = headline(&differences, asked, !runs.is_empty());
    let forced = !runs.is_empty();
    let asked = asked.to_vec();
    let format = COMPARISON_FORMAT;
    Ok(Comparison {
        format,
        a: a.extent(),
        b: b.extent(),
        asked,
        differences,
        headline,
        forced,
        metrics: metrics(a, b),
    })
}

/// Everything in which the sides differ.
pub fn differences_of(a: &Side, b: &Side, asked: &[String]) -> Differences {
    let of = |side: &'_ Side| side.runs.iter().map(|run| run.provenance.clone()).collect::<Vec<_>>();
    let (a, b) = (of(a), of(b));
    Differences::between(&a.iter().collect::<Vec<_>>(), &b.iter().collect::<Vec<_>>(), asked)
}

fn headline(differences: &Differences, asked: &[String], forced: bool) -> String {
    let besides: Vec<&str> = differences.besides().map(|d| d.key.name.as_str()).collect();
    let unknown = differences.unknown_that_matters().count();
    let what = match (besides.as_slice(), asked) {
        ([], []) => "The sides differ in nothing that is known to matter".to_owned(),
        ([], asked) => format!("The sides differ in {} alone, as far as is known", asked.join(", ")),
        (besides, []) => format!("The sides differ in {}", shortened(besides)),
        (besides, asked) => format!("The sides differ in more than {}: {}", asked.join(", "), shortened(besides)),
    };
    let unknown = match unknown {
        0 => String::new(),
        1 => "; 1 thing is unknown".to_owned(),
        n => format!("; {n} things are unknown"),
    };
    let forced = if forced { "INVALID runs are compared (--force). " } else { "" };
    format!("{forced}{what}{unknown}.")
}

/// Names up to a number that can be read.
fn shortened(names: &[&str]) -> String {
    const MOST: usize = 6;
    match names.len().checked_sub(MOST) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..MOST].join(", ")),
    }
}

fn metrics(a: &Side, b: &Side) -> Vec<Compared> {
    let pair = Pair { boots: (a.boots(), b.boots()), runs: (a.runs.len(), b.runs.len()) };
    let mut all = vec![pair.maximum()];
    for q in QUANTILES.iter().rev() {
        all.extend(Probability::parse(q).ok().map(|p| pair.quantile(q, &p, a, b)));
    }
    all.push(pair.by("mean", "ns", 0.0, |boot| boot.mean()));
    all.push(pair.by("missed", "per million", 0.0, |boot| boot.missed_per_million()));
    all
}

struct Pair<'a> {
    boots: (Vec<Boot<'a>>, Vec<Boot<'a>>),
    runs: (usize, usize),
}

impl Pair<'_> {
    fn all(&self) -> impl Iterator<Item = &Boot<'_>> {
        self.boots.0.iter().chain(&self.boots.1)
    }

    fn by(&self, metric: &str, unit: &str, resolution: f64, get: impl Fn(&Boot) -> Result<f64, Missing>) -> Compared {
        let side = |boots: &[Boot], name: &str| {
            let figures: Result<Vec<f64>, Missing> = boots.iter().map(&get).collect();
            figures.map_err(|missing| match missing {
                Missing::Unknown => format!("side {name} does not tell"),
                Missing::Overflow => format!("it lies beyond the histogram on side {name}"),
                Missing::OtherLength => {
                    "the runs are of different numbers of cycles, without blocks to make them equal".to_owned()
                }
            })
        };
        match (side(&self.boots.0, "A"), side(&self.boots.1, "B")) {
            (Ok(a), Ok(b)) => Compared::judge(metric, unit, (a, b), resolution, self.boot_ns(), self.runs),
            (Err(why), _) | (_, Err(why)) => Compared::not_comparable(metric, unit, &why),
        }
    }

    /// A maximum grows with the number of wake-ups: all are brought to the smallest number.
    fn maximum(&self) -> Compared {
        let cycles: Option<Vec<u64>> = self.all().map(Boot::cycles).collect();
        let Some(cycles) = cycles else {
            return Compared::not_comparable(
                "max",
                "ns",
                "the number of cycles is not known, and a maximum grows with it",
            );
        };
        let fewest = cycles.iter().copied().min().unwrap_or(0);
        let alike =
            |boot: &Boot| boot.cycles().is_some_and(|cycles| cycles as f64 <= fewest as f64 * (1.0 + EQUAL_CYCLES));
        let get = |boot: &Boot| if alike(boot) { boot.maximum() } else { boot.maximum_at(fewest) };
        Compared { at_cycles: Some(fewest), ..self.by("max", "ns", 0.0, get) }
    }

    fn quantile(&self, q: &str, p: &Probability, a: &Side, b: &Side) -> Compared {
        let width = self.all().map(Boot::bin_width_ns).max().unwrap_or(0);
        let mut compared = self.by(q, "ns", width as f64, |boot| boot.quantile(p));
        if let (Outcome::Observed, [a], [b]) = (compared.outcome, &a.runs[..], &b.runs[..]) {
            compared.within_runs = Some(quantile_difference(&a.slices, &b.slices, p, 1).into());
        }
        compared
    }

    fn boot_ns(&self) -> Option<u64> {
        let times: Option<Vec<u64>> = self.all().map(Boot::measured_ns).collect();
        times.filter(|times| !times.is_empty()).map(|times| times.iter().sum::<u64>() / times.len() as u64)
    }
}
