//! The figures of a run that nights are followed by.

/// A figure of a run; lower is better for all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Largest latency, ns.
    Max,
    /// Mean latency, ns.
    Mean,
    /// Missed periods.
    Missed,
    /// A quantile (0 to 1, as [`crate::result::QUANTILES`] writes it), ns.
    Quantile(&'static str),
}

impl Metric {
    /// Names and what they mean.
    pub const ALL: [(&'static str, Metric); 7] = [
        ("max", Metric::Max),
        ("p99.99", Metric::Quantile("0.9999")),
        ("p99.9", Metric::Quantile("0.999")),
        ("p99", Metric::Quantile("0.99")),
        ("p50", Metric::Quantile("0.5")),
        ("mean", Metric::Mean),
        ("missed", Metric::Missed),
    ];

    /// What a gate holds against a baseline unless it names others.
    pub const OF_GATES: [Metric; 2] = [Metric::Max, Metric::Quantile("0.9999")];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, metric)| *metric == self).map_or("", |(name, _)| name)
    }

    /// By its name.
    pub fn named(name: &str) -> Option<Metric> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, metric)| *metric)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::QUANTILES;

    #[test]
    fn every_metric_goes_by_its_name_and_is_in_the_results() {
        for (name, metric) in Metric::ALL {
            assert_eq!((metric.name(), Metric::named(name)), (name, Some(metric)));
            assert!(!matches!(metric, Metric::Quantile(q) if !QUANTILES.contains(&q)), "{name}");
        }
        assert_eq!(Metric::named("p42"), None);
    }
}
