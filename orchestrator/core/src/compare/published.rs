//! Published reference results, as far as their sources tell. One home for `compare --with published` and for `show`.

use super::provenance::{Group, Provenance};
use super::side::{Run, Side};
use crate::result::Bound;
use crate::units::SECOND;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A published result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Its name.
    pub name: String,
    /// The target of this name is the board it was measured on.
    pub target: String,
    /// The campaign of this name repeats it.
    pub campaign: Option<String>,
    /// The cell of that campaign.
    pub cell: Option<String>,
    /// What was woken.
    #[serde(default)]
    pub layer: Layer,
    /// Where it was published.
    pub source: String,
    /// What must be known of it.
    pub note: Option<String>,
    /// Its runs.
    #[serde(rename = "run")]
    pub runs: Vec<PublishedRun>,
    /// What the source tells: group → name → value.
    facts: BTreeMap<Group, BTreeMap<String, String>>,
}

/// One run of a published result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedRun {
    /// Wake-ups of all threads.
    pub cycles: Option<u64>,
    /// Its length, in s.
    pub measured_s: Option<u64>,
    /// Smallest latency, in ns.
    pub min_ns: Option<u64>,
    /// Mean latency, in ns.
    pub mean_ns: Option<u64>,
    /// Largest latency, in ns.
    pub max_ns: u64,
    /// What is known of it.
    #[serde(default = "exact")]
    pub bound: Bound,
}

fn exact() -> Bound {
    Bound::Exact
}

/// What was woken; latencies of different layers are different quantities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// A thread of user space, as latlab measures.
    #[default]
    User,
    /// A task in the kernel.
    KernelTask,
    /// The handler of the timer interrupt.
    Interrupt,
    /// A user task, by a GPIO interrupt.
    Gpio,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    reference: Vec<Published>,
}

/// All that latlab carries.
pub fn published() -> Vec<Published> {
    let file: File = toml::from_str(include_str!("published.toml")).expect("a test reads it");
    file.reference
}

/// Those that a campaign repeats: of the cell first, then the others.
pub fn published_for(campaign: &str, cell: &str) -> Vec<Published> {
    let mut all: Vec<Published> =
        published().into_iter().filter(|reference| reference.campaign.as_deref() == Some(campaign)).collect();
    all.sort_by_key(|reference| !reference.is_of(cell));
    all
}

impl Published {
    /// It is of this cell of its campaign.
    pub fn is_of(&self, cell: &str) -> bool {
        self.cell.as_deref() == Some(cell)
    }

    /// As a side of a comparison.
    pub fn side(&self) -> Side {
        let mut provenance = Provenance::new().with(Group::Board, "target", Some(self.target.clone()));
        for (group, facts) in &self.facts {
            for (name, value) in facts {
                provenance = provenance.with(*group, name, Some(value.clone()));
            }
        }
        let run = |(number, run): (usize, &PublishedRun)| {
            let name = format!("published:{}/{}", self.name, number + 1);
            let side = Run::of_maximum(&name, run.max_ns, run.cycles, provenance.clone());
            Run {
                measured_ns: run.measured_s.map(|seconds| seconds.saturating_mul(SECOND)),
                max_ns: (run.bound == Bound::Exact).then_some(run.max_ns),
                mean_ns: run.mean_ns.map(|ns| ns as f64),
                ..side
            }
        };
        let runs = self.runs.iter().enumerate().map(run).collect();
        Side { name: format!("published:{} ({})", self.name, self.source), runs }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_is_whole() {
        let all = published();
        let mut names: Vec<&str> = all.iter().map(|reference| reference.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all.len());
        for reference in &all {
            assert!(!reference.side().runs.is_empty() && !reference.facts.is_empty(), "{}", reference.name);
            assert!(reference.cell.is_none() || reference.campaign.is_some(), "{}", reference.name);
            for run in &reference.runs {
                let figures: Vec<u64> = [run.min_ns, run.mean_ns, Some(run.max_ns)].into_iter().flatten().collect();
                assert!(figures.is_sorted(), "{}", reference.name);
            }
        }
    }

    #[test]
    fn the_figures_of_the_recipe() {
        let maxima = |campaign: &str| -> Vec<(String, u64)> {
            let all = published().into_iter().filter(|reference| reference.campaign.as_deref() == Some(campaign));
            all.map(|reference| (reference.cell.unwrap_or_default(), reference.runs[0].max_ns / 1000)).collect()
        };
        let expected = [("native-isolated", 117), ("cobalt-isolated", 50), ("cobalt-shared", 83)];
        assert_eq!(maxima("cyclone-v-12h"), expected.map(|(cell, max)| (cell.to_owned(), max)));
        let first = published_for("cyclone-v-12h", "cobalt-shared");
        assert_eq!((first[0].cell.as_deref(), first.len()), (Some("cobalt-shared"), 3));
    }
}
