//! Lone outliers: named with their time, never dropped and never averaged away.

use crate::result::WorstSample;
use serde::{Deserialize, Serialize};

/// Most samples that may stand apart.
const MOST: usize = 5;
/// They are at least this much larger than the next one, in percent of it.
const GAP_PERCENT: u64 = 125;

/// Samples that stand apart from all others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outliers {
    /// They, worst first.
    pub samples: Vec<WorstSample>,
    /// Largest of all other samples, in ns.
    pub next_ns: u64,
}

/// Up to five samples separated from the next lower one by a gap of at least a quarter of it; of several gaps the
/// lowest. `worst` are the worst samples of a run, worst first; with too few of them no gap can be seen.
pub fn lone_outliers(worst: &[WorstSample]) -> Option<Outliers> {
    let gap = |above: &usize| {
        let (lowest, next) = (worst[above - 1].latency_ns, worst[*above].latency_ns);
        u128::from(lowest) * 100 >= u128::from(next) * u128::from(GAP_PERCENT)
    };
    let most = MOST.min(worst.len().saturating_sub(1));
    let above = (1..=most).rev().find(gap)?;
    Some(Outliers { samples: worst[..above].to_vec(), next_ns: worst[above].latency_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worst(latencies_us: &[u64]) -> Vec<WorstSample> {
        let sample = |us: &u64| WorstSample {
            latency_ns: us * 1000,
            cpu: Some(1),
            cycle: *us,
            mono_ns: us * 1_000_000_000,
            during_contact: false,
            since_start_ns: us * 1_000_000_000,
            ..WorstSample::default()
        };
        latencies_us.iter().map(sample).collect()
    }

    #[test]
    fn a_gap_parts_them_from_the_rest() {
        for (latencies, apart, next) in [
            // The 2016 talk: one sample above 95, all others below 65.
            (&[96, 64, 63, 62, 61][..], 1, 64),
            (&[96, 95, 64, 63, 62], 2, 64),
            (&[200, 96, 64, 63], 2, 64),
            (&[80, 64, 63], 1, 64),
        ] {
            let found = lone_outliers(&worst(latencies)).unwrap();
            assert_eq!((found.samples.len(), found.next_ns), (apart, next * 1000), "{latencies:?}");
            assert_eq!(found.samples[0].since_start_ns, latencies[0] * 1_000_000_000);
        }
        for none in [&[][..], &[96], &[79, 64, 63], &[70, 68, 66, 64], &[90, 90, 90, 90, 90, 90, 60]] {
            assert_eq!(lone_outliers(&worst(none)), None, "{none:?}");
        }
    }
}
