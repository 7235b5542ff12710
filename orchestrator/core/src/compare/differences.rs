//! What differs between two sides besides what was asked, and what is not known.

use super::provenance::{Group, Key, Known, Provenance};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// One circumstance in which the sides differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Differing {
    /// Which.
    #[serde(flatten)]
    pub key: Key,
    /// Its values on side A, `absent` where it is not there.
    pub a: Vec<String>,
    /// Its values on side B.
    pub b: Vec<String>,
    /// It is what the comparison is about.
    pub asked: bool,
}

/// One circumstance that a side does not tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Untold {
    /// Which.
    #[serde(flatten)]
    pub key: Key,
    /// Side A does not tell.
    pub on_a: bool,
    /// Side B does not tell.
    pub on_b: bool,
}

/// Differences and unknowns, the likeliest to matter first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Differences {
    /// What differs.
    pub differing: Vec<Differing>,
    /// What a side does not tell.
    pub unknown: Vec<Untold>,
}

impl Differences {
    /// Between the runs of two sides, where the comparison is about `asked` (`isolcpus`, `kernel`, `load` …).
    pub fn between(a: &[&Provenance], b: &[&Provenance], asked: &[String]) -> Self {
        let keys: BTreeSet<&Key> = a.iter().chain(b).flat_map(|provenance| provenance.keys()).collect();
        let mut found = Self::default();
        for key in keys {
            let (on_a, on_b) = (told(a, key), told(b, key));
            let untold = |side: &BTreeSet<Known>| side.contains(&Known::Unknown);
            if untold(&on_a) || untold(&on_b) {
                found.unknown.push(Untold { key: key.clone(), on_a: untold(&on_a), on_b: untold(&on_b) });
            }
            let (a, b) = (values(&on_a), values(&on_b));
            if a != b && !a.is_empty() && !b.is_empty() {
                let asked = asked.iter().any(|asked| belongs(key, asked));
                found.differing.push(Differing { key: key.clone(), a, b, asked });
            }
        }
        found
    }

    /// What differs, matters and was not asked.
    pub fn besides(&self) -> impl Iterator<Item = &Differing> {
        self.differing.iter().filter(|d| d.key.group.matters() && !d.asked)
    }

    /// What is unknown and matters.
    pub fn unknown_that_matters(&self) -> impl Iterator<Item = &Untold> {
        self.unknown.iter().filter(|untold| untold.key.group.matters())
    }
}

fn told(side: &[&Provenance], key: &Key) -> BTreeSet<Known> {
    side.iter().map(|provenance| provenance.get(key)).collect()
}

fn values(side: &BTreeSet<Known>) -> Vec<String> {
    let value = |known: &Known| match known {
        Known::Value(value) => Some(value.clone()),
        Known::Absent => Some("absent".to_owned()),
        Known::Unknown => None,
    };
    side.iter().filter_map(value).collect()
}

/// Whether a difference in `key` is a difference in `asked`: an axis of a campaign by its last word, or a name of this list.
fn belongs(key: &Key, asked: &str) -> bool {
    let asked = asked.rsplit('.').next().unwrap_or(asked);
    let name = key.name.as_str();
    match asked {
        "isolcpus" => {
            (key.group == Group::Cpus && name == "isolated") || (key.group == Group::CommandLine && name == "isolcpus")
        }
        // Another kernel has another configuration; its loader names it on the command line.
        "kernel" => {
            matches!(key.group, Group::Kernel | Group::KernelConfig | Group::OtherConfig)
                || (key.group == Group::CommandLine && name == "BOOT_IMAGE")
        }
        "load" | "loads" => key.group == Group::Loads,
        "append" => key.group == Group::CommandLine,
        "cpus" => name == "measured CPUs",
        "duration" | "cycles" | "length" => key.group == Group::Length && name == "length",
        "warmup" => name == "warm-up",
        "rt_runtime" => name.contains("sched_rt_runtime_us"),
        "governor" => name == "governor" || name.ends_with("scaling_governor"),
        _ => name == asked || name.ends_with(&format!("/{asked}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> Option<String> {
        Some(value.to_owned())
    }

    #[test]
    fn asked_differences_are_told_apart_from_the_rest_and_from_the_unknown() {
        let a = Provenance::new()
            .with(Group::Cpus, "isolated", text("1"))
            .with(Group::KernelConfig, "HZ", text("1000"))
            .with(Group::Clock, "clocksource", None)
            .with(Group::Other, "/proc/swaps", text("none"));
        let b = Provenance::new()
            .with(Group::Cpus, "isolated", text("none"))
            .with(Group::KernelConfig, "HZ", text("250"))
            .with(Group::Clock, "clocksource", text("timer1"))
            .with(Group::Other, "/proc/swaps", text("sda"));
        let found = Differences::between(&[&a, &a], &[&b], &["boot.isolcpus".to_owned()]);
        assert_eq!(found.differing.len(), 3);
        let besides: Vec<_> =
            found.besides().map(|d| (d.key.name.as_str(), d.a[0].as_str(), d.b[0].as_str())).collect();
        assert_eq!(besides, [("HZ", "1000", "250")]);
        let unknown: Vec<_> = found.unknown_that_matters().map(|u| (u.key.name.as_str(), u.on_a, u.on_b)).collect();
        assert_eq!(unknown, [("clocksource", true, false)]);
        assert_eq!(Differences::between(&[&a], &[&a], &[]).differing, []);
    }

    #[test]
    fn a_side_that_does_not_agree_with_itself_differs() {
        let run = |governor: &str| Provenance::new().with(Group::Cpus, "governor", text(governor));
        let (p, o) = (run("performance"), run("ondemand"));
        let found = Differences::between(&[&p, &o], &[&p, &p], &[]);
        assert_eq!(
            (&found.differing[0].a, &found.differing[0].b),
            (&vec!["ondemand".to_owned(), "performance".to_owned()], &vec!["performance".to_owned()])
        );
    }
}
