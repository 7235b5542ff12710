//! After a reset of the board in mid-run: is it the same board still, and what is left to measure.

use super::{Mismatch, Refusal, check_boot, spec};
use crate::campaign::model::Cell;
use crate::facts::{Facts, cpu_list_text};
use crate::quantity::total;
use crate::target::Target;
use latprobe::spec::{Length, Spec};
use latprobe::stream::Folded;

/// Why a run is not continued after a reset.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotContinued {
    /// Segments of two experiments are never added up.
    #[error("{what} was {was} before the reset, is {is} now")]
    Changed {
        /// What.
        what: &'static str,
        /// Before the reset.
        was: String,
        /// Now.
        is: String,
    },
    /// It came back in a state that the cell does not ask for.
    #[error("{0}")]
    Mismatch(Mismatch),
    /// The cell cannot be measured on it any more.
    #[error("{0}")]
    Refusal(#[from] Refusal),
}

/// What makes two boots the same experiment. Unknown is not equal to known.
fn identity(facts: &Facts) -> [(&'static str, String); 6] {
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
    [
        ("the kernel release", text(&facts.release)),
        ("the kernel build", text(&facts.version)),
        ("the kernel command line", text(&facts.cmdline.as_ref().map(|words| words.join(" ")))),
        ("the set of isolated CPUs", cpu_list_text(facts.isolated.as_ref())),
        ("the set of online CPUs", cpu_list_text(facts.online.as_ref())),
        ("the clock source", text(&facts.clocksource)),
    ]
}

/// What changed between two boots that are to be added up.
pub(crate) fn changed(before: &Facts, now: &Facts) -> Option<NotContinued> {
    let pairs = identity(before).into_iter().zip(identity(now));
    pairs
        .filter(|((_, was), (_, is))| was != is)
        .map(|((what, was), (_, is))| NotContinued::Changed { what, was, is })
        .next()
}

/// What is left of the run that `whole` began, as its segment number `segment`, on a board that was `before` and is `now`.
pub fn remainder(
    cell: &Cell,
    target: &Target,
    whole: &Spec,
    measured: &[Folded],
    (before, now): (&Facts, &Facts),
    segment: u32,
) -> Result<Spec, NotContinued> {
    if let Some(changed) = changed(before, now) {
        return Err(changed);
    }
    if let Some(mismatch) = check_boot(&cell.settings, target, now).into_iter().next() {
        return Err(NotContinued::Mismatch(mismatch));
    }
    let mut rest = cell.clone();
    rest.settings.length = left(whole, measured);
    let rest = spec(&rest, target, now, &whole.run_id)?;
    if rest.measure.threads != whole.measure.threads {
        let cpus = |spec: &Spec| format!("{:?}", spec.measure.threads.iter().map(|t| t.cpu).collect::<Vec<_>>());
        return Err(NotContinued::Changed { what: "the set of measured CPUs", was: cpus(whole), is: cpus(&rest) });
    }
    Ok(Spec { first_segment: segment, ..rest })
}

/// At least one period: a run ends by reaching its length, not by having none left.
fn left(whole: &Spec, measured: &[Folded]) -> Length {
    let longest_ns = whole.measure.threads.iter().map(|thread| thread.interval_ns).max().unwrap_or(1);
    match whole.length {
        Length::DurationNs(ns) => {
            let done = total(measured.iter().map(Folded::measured_ns));
            Length::DurationNs(ns.saturating_sub(done).max(longest_ns))
        }
        Length::Cycles(cycles) => {
            let of_thread = |index: usize| {
                let thread = measured.iter().filter_map(|segment| segment.threads.get(index));
                total(thread.map(|thread| thread.histogram.total().saturating_add(thread.histogram.negative)))
            };
            let done = (0..whole.measure.threads.len()).map(of_thread).min().unwrap_or(0);
            Length::Cycles(cycles.saturating_sub(done).max(1))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{S, captures_with, good};

    fn cell(stored: &crate::testing::Stored) -> Cell {
        Cell { name: "c".into(), axes: std::collections::BTreeMap::new(), settings: stored.settings.clone() }
    }

    #[test]
    fn the_remaining_time_is_measured_on_the_same_kernel() {
        let mut stored = good();
        let rest = |stored: &crate::testing::Stored, now: &Facts| {
            let boots = (&stored.before, now);
            remainder(&cell(stored), &stored.target, &stored.spec, &stored.segments, boots, 3)
        };
        let measured = stored.segments[0].measured_ns();
        stored.spec.length = Length::DurationNs(60 * S);
        let spec = rest(&stored, &stored.before).unwrap();
        assert_eq!((spec.length, spec.first_segment), (Length::DurationNs(60 * S - measured), 3));
        assert_eq!(spec.measure, stored.spec.measure);
        stored.spec.length = Length::DurationNs(measured);
        assert_eq!(rest(&stored, &stored.before).unwrap().length, Length::DurationNs(1_000_000));
        stored.spec.length = Length::Cycles(20_000);
        let cycles = stored.segments[0].threads[0].histogram.total();
        assert_eq!(rest(&stored, &stored.before).unwrap().length, Length::Cycles(20_000 - cycles));
    }

    #[test]
    fn another_kernel_or_command_line_is_another_experiment() {
        let stored = good();
        for (path, text, complaint) in [
            ("/proc/cmdline", "console=ttyS0 isolcpus=1 threadirqs\n", "the kernel command line was "),
            ("/proc/version", "Linux version 9.9 #2 SMP\n", "the kernel build was "),
            ("/sys/devices/system/cpu/online", "0\n", "the set of online CPUs was 0-1"),
        ] {
            let now = Facts::parse(&captures_with(path, text));
            let boots = (&stored.before, &now);
            let error =
                remainder(&cell(&stored), &stored.target, &stored.spec, &stored.segments, boots, 1).unwrap_err();
            assert!(error.to_string().contains(complaint), "{error}");
        }
    }
}
