//! Published reference results, as far as their sources tell.

use super::provenance::{Group, Provenance};
use super::side::{Run, Side};
use crate::units::SECOND;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A published result.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Its name.
    pub name: String,
    /// The target of this name is the board it was measured on.
    pub target: String,
    /// Where it was published.
    pub source: String,
    /// Maxima in ns, one per run.
    max_ns: Vec<u64>,
    /// Wake-ups of each run.
    cycles: Vec<u64>,
    /// Length of each run, in s.
    measured_s: Vec<u64>,
    /// What the source tells: group → name → value.
    facts: BTreeMap<Group, BTreeMap<String, String>>,
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

impl Published {
    /// As a side of a comparison.
    pub fn side(&self) -> Side {
        let mut provenance = Provenance::new().with(Group::Board, "target", Some(self.target.clone()));
        for (group, facts) in &self.facts {
            for (name, value) in facts {
                provenance = provenance.with(*group, name, Some(value.clone()));
            }
        }
        let run = |(number, ((max_ns, cycles), seconds)): (usize, ((&u64, &u64), &u64))| {
            let name = format!("published:{}/{}", self.name, number + 1);
            let run = Run::of_maximum(&name, *max_ns, Some(*cycles), provenance.clone());
            Run { measured_ns: Some(seconds.saturating_mul(SECOND)), ..run }
        };
        let runs = self.max_ns.iter().zip(&self.cycles).zip(&self.measured_s).enumerate().map(run).collect();
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
        names.dedup();
        assert_eq!(names.len(), all.len());
        for reference in &all {
            let lengths = (reference.max_ns.len(), reference.cycles.len(), reference.measured_s.len());
            assert_eq!(lengths, (lengths.0, lengths.0, lengths.0), "{}", reference.name);
            assert!(!reference.side().runs.is_empty() && !reference.facts.is_empty());
        }
    }
}
