//! The two sides of a comparison: runs, and their figures by boot.

use super::provenance::Provenance;
use crate::judgement::Validity;
use crate::latency::Probability;
use crate::latency::blocks::Series;
use crate::latency::equal_cycles::maximum_at;
use crate::latency::slices::Slice;
use crate::result::RunResult;
use serde::{Deserialize, Serialize};

/// Counts of a run by the end of their bin.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counts {
    /// Width of a linear bin, in ns.
    pub bin_width_ns: u64,
    /// First latency beyond the linear bins, in ns.
    pub range_ns: u64,
    /// End of the bin (the largest latency it counts, in ns) → samples.
    pub samples: Slice,
}

/// One run of a side. What is absent is unknown.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Its name for people.
    pub name: String,
    /// Boot it was measured in; `None`: unknown, taken as one of its own.
    pub boot: Option<String>,
    /// Its validity.
    pub validity: Option<Validity>,
    /// Length of the measuring phase, in ns.
    pub measured_ns: Option<u64>,
    /// Measured wake-ups.
    pub cycles: Option<u64>,
    /// Largest latency observed, in ns.
    pub max_ns: Option<u64>,
    /// Mean latency, in ns.
    pub mean_ns: Option<f64>,
    /// Missed periods.
    pub missed: Option<u64>,
    /// Counts.
    pub counts: Option<Counts>,
    /// Block maxima; without any, maxima can be compared only at lengths that are alike.
    pub series: Series,
    /// Slices of a minute, for intervals within one run.
    pub slices: Vec<Slice>,
    /// Where its figures come from.
    pub provenance: Provenance,
}

impl Run {
    /// A run of which only its maximum is known, as published ones often are.
    pub fn of_maximum(name: &str, max_ns: u64, cycles: Option<u64>, provenance: Provenance) -> Self {
        Self {
            name: name.to_owned(),
            boot: None,
            validity: None,
            measured_ns: None,
            cycles,
            max_ns: Some(max_ns),
            mean_ns: None,
            missed: None,
            counts: None,
            series: Series::default(),
            slices: Vec::new(),
            provenance,
        }
    }

    /// A measured run.
    pub fn measured(
        result: &RunResult,
        boot: Option<String>,
        series: Series,
        slices: Vec<Slice>,
        provenance: Provenance,
    ) -> Self {
        let range_ns = result.setup.bin_width_ns.saturating_mul(u64::from(result.setup.bins));
        let end = |bin: &crate::result::Bin| bin.to_ns.map_or(u64::MAX, |to| to.saturating_sub(1));
        let samples = result.histogram.iter().map(|bin| (end(bin), bin.count)).collect();
        Self {
            name: format!("{}/{}", result.identity.execution, result.identity.run),
            boot,
            validity: Some(result.validity),
            measured_ns: Some(result.measured_ns),
            cycles: Some(result.total.cycles),
            max_ns: result.total.max.map(|max| max.ns),
            mean_ns: result.total.mean_ns,
            missed: Some(result.total.missed),
            counts: Some(Counts { bin_width_ns: result.setup.bin_width_ns, range_ns, samples }),
            series,
            slices,
            provenance,
        }
    }
}

/// One side.
#[derive(Debug, Clone, PartialEq)]
pub struct Side {
    /// What was named.
    pub name: String,
    /// Its runs.
    pub runs: Vec<Run>,
}

impl Side {
    /// Its runs by boot: those that share one are no independent witnesses.
    pub fn boots(&self) -> Vec<Boot<'_>> {
        let mut boots: Vec<Boot> = Vec::new();
        for run in &self.runs {
            let same = |boot: &&mut Boot| run.boot.is_some() && boot.runs.iter().any(|other| other.boot == run.boot);
            match boots.iter_mut().find(same) {
                Some(boot) => boot.runs.push(run),
                None => boots.push(Boot { runs: vec![run] }),
            }
        }
        boots
    }

    /// How much it is, for people and files.
    pub fn extent(&self) -> Extent {
        Extent {
            name: self.name.clone(),
            runs: self.runs.iter().map(|run| run.name.clone()).collect(),
            boots: self.boots().len(),
            boots_known: self.runs.iter().all(|run| run.boot.is_some()),
            measured_ns: sum(self.runs.iter().map(|run| run.measured_ns)),
            cycles: sum(self.runs.iter().map(|run| run.cycles)),
            max_ns: self.runs.iter().filter_map(|run| run.max_ns).max(),
            worst_validity: self.runs.iter().filter_map(|run| run.validity).max(),
        }
    }
}

/// How much a side is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    /// What was named.
    pub name: String,
    /// Its runs.
    pub runs: Vec<String>,
    /// Boots they were measured in.
    pub boots: usize,
    /// The boots are told by the runs; otherwise each such run is taken as one.
    pub boots_known: bool,
    /// Measured time of all, in ns.
    pub measured_ns: Option<u64>,
    /// Measured wake-ups of all.
    pub cycles: Option<u64>,
    /// Largest latency of all its cycles, in ns.
    pub max_ns: Option<u64>,
    /// The worst validity of its runs.
    pub worst_validity: Option<Validity>,
}

/// The runs of a side that share a boot.
#[derive(Debug, Clone)]
pub struct Boot<'a> {
    runs: Vec<&'a Run>,
}

/// Why a boot has no figure to compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    /// The run does not tell.
    Unknown,
    /// It lies beyond the histogram.
    Overflow,
    /// It is of another number of wake-ups, without blocks to make it equal.
    OtherLength,
}

impl Boot<'_> {
    /// Measured wake-ups.
    pub(super) fn cycles(&self) -> Option<u64> {
        sum(self.runs.iter().map(|run| run.cycles))
    }

    /// Measured time, in ns.
    pub(super) fn measured_ns(&self) -> Option<u64> {
        sum(self.runs.iter().map(|run| run.measured_ns))
    }

    /// Largest latency, whatever the number of wake-ups.
    pub(super) fn maximum(&self) -> Result<f64, Missing> {
        let maxima: Option<Vec<u64>> = self.runs.iter().map(|run| run.max_ns).collect();
        maxima.and_then(|maxima| maxima.into_iter().max()).map(|max| max as f64).ok_or(Missing::Unknown)
    }

    /// What a run of `cycles` wake-ups in this boot typically shows as its maximum.
    pub(super) fn maximum_at(&self, cycles: u64) -> Result<f64, Missing> {
        let segments = self.runs.iter().flat_map(|run| run.series.segments.iter().cloned()).collect();
        let block_ns = self.runs.first().map_or(0, |run| run.series.block_ns);
        let found = maximum_at(&Series { block_ns, segments }, cycles);
        found.map(|found| found.median_ns as f64).ok_or(Missing::OtherLength)
    }

    /// Mean latency, in ns.
    pub(super) fn mean(&self) -> Result<f64, Missing> {
        let weighted = |run: &&Run| Some((run.mean_ns?, run.cycles.unwrap_or(1) as f64));
        let parts: Option<Vec<(f64, f64)>> = self.runs.iter().map(weighted).collect();
        let parts = parts.ok_or(Missing::Unknown)?;
        Ok(parts.iter().map(|(mean, n)| mean * n).sum::<f64>() / parts.iter().map(|(_, n)| n).sum::<f64>())
    }

    /// Missed periods in a million.
    pub(super) fn missed_per_million(&self) -> Result<f64, Missing> {
        let missed = sum(self.runs.iter().map(|run| run.missed)).ok_or(Missing::Unknown)?;
        let cycles = self.cycles().filter(|cycles| *cycles > 0).ok_or(Missing::Unknown)?;
        Ok(missed as f64 * 1e6 / (missed + cycles) as f64)
    }

    /// Quantile by wake-up: the end of its bin, at most the maximum.
    pub(super) fn quantile(&self, q: &Probability) -> Result<f64, Missing> {
        let mut all = Slice::new();
        let mut range_ns = u64::MAX;
        for run in &self.runs {
            let counts = run.counts.as_ref().ok_or(Missing::Unknown)?;
            range_ns = range_ns.min(counts.range_ns);
            counts.samples.iter().for_each(|(end, n)| *all.entry(*end).or_default() += n);
        }
        let rank = q.rank(all.values().sum());
        let mut seen = 0;
        let end = all.into_iter().find_map(|(end, n)| {
            seen += n;
            (seen >= rank).then_some(end)
        });
        match end.ok_or(Missing::Unknown)? {
            end if end >= range_ns => Err(Missing::Overflow),
            end => Ok(self.maximum().map_or(end as f64, |max| max.min(end as f64))),
        }
    }

    /// Width of the widest bin, in ns.
    pub(super) fn bin_width_ns(&self) -> u64 {
        self.runs.iter().filter_map(|run| Some(run.counts.as_ref()?.bin_width_ns)).max().unwrap_or(0)
    }
}

/// The sum, if every part is known.
fn sum(parts: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    parts.sum()
}
