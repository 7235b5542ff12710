//! A stored run as it is shown: what `latlab show --format json` prints (docs/json.md). Names are stable.

use crate::campaign::model::Preemption;
use crate::judgement::{Finding, Judgement, LimitOutcome, Validity, Verdict};
use crate::latency::{Distribution, Probability, Summary, Value, merge_segments, merge_threads, per_period, summarise};
use crate::quantity::total;
use crate::recipe::{self, Recipe, Subject};
use crate::resolve::{governors, instrument_name};
use crate::verdict::{Evidence, load_rows};
use latprobe::spec::{Length, Policy, Sleep};
use latprobe::stream::{Folded, PhaseKind, ThreadResult};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of [`RunResult`].
pub const RESULT_FORMAT: u32 = 1;
/// Quantiles shown, in order.
pub const QUANTILES: [&str; 4] = ["0.5", "0.99", "0.999", "0.9999"];

/// Which run it is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Identity {
    /// Execution (start of a campaign) it belongs to.
    pub execution: String,
    /// Name of the run in its execution, `<cell>-<target>-<n>`.
    pub run: String,
    /// Campaign.
    pub campaign: String,
    /// Cell.
    pub cell: String,
    /// Values of the matrix axes.
    pub axes: BTreeMap<String, String>,
    /// Target.
    pub target: String,
    /// Repetition, from 1.
    pub repetition: u32,
    /// When it was submitted, by the host's clock (RFC 3339); absent for a run that never started.
    pub started_at: Option<String>,
    /// Where it is stored on the host.
    pub stored_in: String,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// [`RESULT_FORMAT`].
    pub format: u32,
    /// Which run it is.
    pub identity: Identity,
    /// Figures were taken under emulation or otherwise not on the hardware named.
    pub emulated: bool,
    /// It is not over: the figures are those so far, and a rule that looks at its end cannot hold yet.
    pub in_progress: bool,
    /// The judgement stored with the run, where this latlab judges otherwise.
    pub judged_before: Option<Judged>,
    /// Stored files that are not as they were when the run was closed, in plain words.
    pub altered: Vec<String>,
    /// The board as it was.
    pub board: Board,
    /// What was measured, and how.
    pub setup: Setup,
    /// Length of the measuring phase, in ns.
    pub measured_ns: u64,
    /// All threads together.
    pub total: Row,
    /// By thread.
    pub threads: Vec<ThreadRow>,
    /// Quantiles by period instead of by wake-up (each missed period as a late arrival); absent when none was missed or the
    /// sleep is relative.
    pub per_period: Option<Vec<QuantileFigure>>,
    /// Loads in the order of the campaign.
    pub loads: Vec<LoadRow>,
    /// Worst samples of all threads, worst first.
    pub worst: Vec<WorstSample>,
    /// Occupied bins of all threads, ascending; tail bins behind linear ones.
    pub histogram: Vec<Bin>,
    /// Was this the experiment that was asked for?
    pub validity: Validity,
    /// Is it fast enough?
    pub verdict: Verdict,
    /// Every validity rule.
    pub findings: Vec<Finding>,
    /// Every limit of the gate.
    pub limits: Vec<LimitOutcome>,
    /// The recipe's checks of the board as it was before the run; interrupts as they fired since, to the end of the run.
    pub recipe: Recipe,
}

/// Validity and verdict of an earlier judgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judged {
    /// Validity.
    pub validity: Validity,
    /// Verdict.
    pub verdict: Verdict,
}

/// The board as it was; absent values are unknown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Board {
    /// Model by device tree or DMI.
    pub model: Option<String>,
    /// `uname -m`.
    pub machine: Option<String>,
    /// `uname -r`.
    pub kernel_release: Option<String>,
    /// `/proc/version`.
    pub kernel_version: Option<String>,
    /// Preemption model.
    pub preemption: Option<Preemption>,
    /// Kernel command line.
    pub cmdline: Option<String>,
    /// Online CPUs, kernel list text.
    pub online_cpus: Option<String>,
    /// Isolated CPUs, kernel list text; empty: none.
    pub isolated_cpus: Option<String>,
    /// Governor; `none` on a board without frequency scaling.
    pub governor: Option<String>,
    /// Clock source.
    pub clocksource: Option<String>,
    /// Where the run was kept on the board: a `tmpfs` does not survive a reset.
    pub work_dir: Option<WorkDir>,
}

/// Where runs are kept on the board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkDir {
    /// Path.
    pub path: String,
    /// Kind of storage (`ext4`, `tmpfs`, `overlay`, `nfs` …).
    pub kind: Option<String>,
}

/// What was measured, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// Instrument.
    pub instrument: String,
    /// Its version; absent: the run never started.
    pub instrument_version: Option<String>,
    /// Policy asked for.
    pub policy: Policy,
    /// Priority asked for.
    pub priority: u32,
    /// How a thread waits.
    pub sleep: Sleep,
    /// Width of a linear bin, in ns.
    pub bin_width_ns: u64,
    /// Number of linear bins.
    pub bins: u32,
    /// Length asked for.
    pub length: Length,
    /// Warm-up, in ns; its samples are in no figure here.
    pub warmup_ns: u64,
}

/// Figures of one thread or all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Measured wake-ups.
    pub cycles: u64,
    /// Wake-ups that the asked length would give without any missed period.
    pub expected_cycles: u64,
    /// Missed periods.
    pub missed: u64,
    /// Wake-ups before their time.
    pub negative: u64,
    /// Wake-ups beyond the linear bins.
    pub overflow: u64,
    /// Smallest latency; absent without samples.
    pub min: Option<Figure>,
    /// Mean latency, in ns; absent without samples.
    pub mean_ns: Option<f64>,
    /// Quantiles by wake-up; empty without samples.
    pub quantiles: Vec<QuantileFigure>,
    /// Largest latency observed; absent without samples.
    pub max: Option<Figure>,
}

/// One thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThreadRow {
    /// Index.
    pub thread: u32,
    /// CPU it was pinned to.
    pub cpu: Option<u32>,
    /// Its period, in ns.
    pub interval_ns: u64,
    /// Figures.
    pub figures: Row,
    /// Page faults without I/O, after the warm-up.
    pub minor_faults: u64,
    /// Page faults with I/O.
    pub major_faults: u64,
    /// Preemptions.
    pub involuntary_switches: u64,
}

/// A latency, and what is known of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figure {
    /// In ns.
    pub ns: u64,
    /// What `ns` is.
    pub bound: Bound,
    /// For [`Bound::Above`]: the tail still tells that it is at most this, in ns.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub at_most_ns: Option<u64>,
}

/// What a [`Figure`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// The value.
    Exact,
    /// The end of the bin that holds the value: it is at most this.
    AtMost,
    /// The value is beyond the histogram: it is more than this.
    Above,
}

/// A quantile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuantileFigure {
    /// Decimal text, 0..1.
    pub q: String,
    /// Its value.
    #[serde(flatten)]
    pub figure: Figure,
}

/// One load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadRow {
    /// Name.
    pub name: String,
    /// Share of the time it ran, pauses of its recipe not counted, 0..1.
    pub duty: Option<f64>,
    /// Share asked for.
    pub min_duty: f64,
    /// Starts in the measuring phase.
    pub starts: u32,
    /// Ends with an error.
    pub failures: u32,
}

/// A remarkable wake-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WorstSample {
    /// Latency, in ns.
    pub latency_ns: u64,
    /// Thread.
    pub thread: u32,
    /// CPU the thread was pinned to.
    pub cpu: Option<u32>,
    /// Segment.
    pub segment: u32,
    /// Wake-up number of the thread in that segment, from 0.
    pub cycle: u64,
    /// `CLOCK_MONOTONIC` of the wake-up in the boot of its segment, in ns.
    pub mono_ns: u64,
    /// Measuring time up to it, in ns.
    pub since_start_ns: u64,
    /// The host talked to the board at that time, which may be the reason.
    pub during_contact: bool,
}

/// An occupied bin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bin {
    /// Smallest latency it counts, in ns.
    pub from_ns: u64,
    /// First latency above it, in ns; absent: no upper end.
    pub to_ns: Option<u64>,
    /// Wake-ups.
    pub count: u64,
}

impl RunResult {
    /// The run that `evidence` tells of, as one that is over and whose files are unaltered.
    pub fn new(identity: Identity, evidence: &Evidence, judgement: Judgement) -> RunResult {
        // Segments with different bins are INVALID; the first alone is shown then.
        let threads = merge_segments(evidence.segments)
            .unwrap_or_else(|_| evidence.segments.first().map(|s| s.threads.clone()).unwrap_or_default());
        let all = merge_threads(&threads).ok().flatten();
        let rows = thread_rows(evidence, &threads);
        let expected = total(rows.iter().map(|row| row.figures.expected_cycles));
        RunResult {
            format: RESULT_FORMAT,
            identity,
            emulated: evidence.target.emulated,
            in_progress: false,
            judged_before: None,
            altered: Vec::new(),
            board: board(evidence),
            setup: setup(evidence),
            measured_ns: total(evidence.segments.iter().map(Folded::measured_ns)),
            total: row(all.as_ref().map(summarise).as_ref(), expected),
            per_period: periods(evidence, &threads),
            threads: rows,
            loads: load_rows(evidence)
                .into_iter()
                .map(|row| LoadRow {
                    name: row.name,
                    duty: row.duty,
                    min_duty: row.min_duty,
                    starts: row.sum.starts,
                    failures: row.sum.failures,
                })
                .collect(),
            worst: worst(evidence),
            histogram: all.iter().flat_map(|all| all.histogram.occupied()).map(bin).collect(),
            validity: judgement.validity,
            verdict: judgement.verdict,
            findings: judgement.findings,
            limits: judgement.limits,
            recipe: recipe::judge(&Subject {
                facts: evidence.before,
                later: evidence.after,
                target: Some(evidence.target),
                settings: Some(evidence.settings),
            }),
        }
    }

    /// Marks the worst samples that lie in a time in which the host talked to the board: segment → times on its
    /// `CLOCK_MONOTONIC`, from and to in ns. Encrypting an answer is a load that the campaign did not ask for.
    pub fn mark_contacts(&mut self, contacts: &BTreeMap<u32, Vec<(u64, u64)>>) {
        for sample in &mut self.worst {
            let times = contacts.get(&sample.segment).map(Vec::as_slice).unwrap_or_default();
            // A wake-up that was due before the contact began may end in it.
            let due_ns = sample.mono_ns.saturating_sub(sample.latency_ns);
            sample.during_contact = times.iter().any(|(from, to)| due_ns <= *to && sample.mono_ns >= *from);
        }
    }

    /// The quantile `q` of all threads, if it is among [`QUANTILES`].
    pub fn quantile(&self, q: &str) -> Option<Figure> {
        self.total.quantiles.iter().find(|figure| figure.q == q).map(|figure| figure.figure)
    }
}

fn board(evidence: &Evidence) -> Board {
    let facts = evidence.before;
    let header = evidence.segments.iter().find_map(|s| s.header.as_ref());
    Board {
        model: facts.model.clone(),
        machine: facts.machine.clone(),
        kernel_release: header.map(|h| h.kernel_release.clone()).or_else(|| facts.release.clone()),
        kernel_version: facts.version.clone(),
        preemption: facts.preemption,
        cmdline: facts.cmdline.as_ref().map(|words| words.join(" ")),
        online_cpus: facts.online.as_ref().map(ToString::to_string),
        isolated_cpus: facts.isolated.as_ref().map(ToString::to_string),
        governor: facts.online.as_ref().map(|_| governors(facts)),
        clocksource: facts.clocksource.clone(),
        work_dir: facts.work_dirs.first().map(|dir| WorkDir { path: dir.path.clone(), kind: dir.kind.clone() }),
    }
}

fn setup(evidence: &Evidence) -> Setup {
    let measure = &evidence.spec.measure;
    let header = evidence.segments.iter().find_map(|s| s.header.as_ref());
    Setup {
        instrument: instrument_name(evidence.settings.measure.instrument).to_owned(),
        instrument_version: header.map(|h| h.probe_version.clone()),
        policy: measure.policy,
        priority: measure.priority,
        sleep: measure.sleep,
        bin_width_ns: measure.bin_width_ns,
        bins: measure.bins,
        length: evidence.spec.length,
        warmup_ns: evidence.spec.warmup_ns,
    }
}

fn thread_rows(evidence: &Evidence, threads: &[ThreadResult]) -> Vec<ThreadRow> {
    let rows = (0..).zip(&evidence.spec.measure.threads).map(|(index, thread)| {
        let expected = match evidence.spec.length {
            Length::DurationNs(ns) => ns / thread.interval_ns.max(1),
            Length::Cycles(cycles) => cycles,
        };
        let result = threads.get(index as usize);
        ThreadRow {
            thread: index,
            cpu: thread.cpu,
            interval_ns: thread.interval_ns,
            figures: row(result.map(summarise).as_ref(), expected),
            minor_faults: result.map_or(0, |t| t.minor_faults),
            major_faults: result.map_or(0, |t| t.major_faults),
            involuntary_switches: result.map_or(0, |t| t.involuntary_switches),
        }
    });
    rows.collect()
}

fn row(summary: Option<&Summary>, expected_cycles: u64) -> Row {
    let number = |get: fn(&Summary) -> u64| summary.map_or(0, get);
    Row {
        cycles: number(|s| s.cycles),
        expected_cycles,
        missed: number(|s| s.missed),
        negative: number(|s| s.negative),
        overflow: number(|s| s.overflow),
        min: summary.and_then(|s| s.min).map(|min| figure(min, min.at_least_ns)),
        mean_ns: summary.and_then(|s| s.mean_ns),
        quantiles: summary.map(|s| quantiles(&s.distribution, s.range_ns)).unwrap_or_default(),
        max: summary.and_then(|s| s.max).map(|max| figure(max, max.at_least_ns)),
    }
}

/// `value` as a figure; one without an upper bound is more than `above_ns`.
fn figure(value: Value, above_ns: u64) -> Figure {
    match value.at_most_ns {
        Some(ns) if value.is_exact() => Figure { ns, bound: Bound::Exact, at_most_ns: None },
        Some(ns) => Figure { ns, bound: Bound::AtMost, at_most_ns: None },
        None => Figure { ns: above_ns, bound: Bound::Above, at_most_ns: None },
    }
}

fn quantiles(distribution: &Distribution, range_ns: u64) -> Vec<QuantileFigure> {
    let quantile = |q: &&str| {
        let value = distribution.quantile(&Probability::parse(q).ok()?)?;
        let figure = match distribution.in_overflow(value) {
            true => Figure { ns: range_ns, bound: Bound::Above, at_most_ns: value.at_most_ns },
            false => figure(value, range_ns),
        };
        Some(QuantileFigure { q: (*q).to_owned(), figure })
    };
    QUANTILES.iter().filter_map(quantile).collect()
}

fn periods(evidence: &Evidence, threads: &[ThreadResult]) -> Option<Vec<QuantileFigure>> {
    let measure = &evidence.spec.measure;
    if measure.sleep == Sleep::Relative || threads.iter().all(|t| t.missed == 0) {
        return None;
    }
    let one = |(thread, setup): (&ThreadResult, &latprobe::spec::Thread)| {
        per_period(&thread.histogram, setup.interval_ns, thread.missed)
    };
    let all = Distribution::joined(threads.iter().zip(&measure.threads).map(one))?;
    let range_ns = threads.first()?.histogram.range_ns();
    Some(quantiles(&all, range_ns))
}

fn worst(evidence: &Evidence) -> Vec<WorstSample> {
    let mut worst = Vec::new();
    let mut before_ns = 0;
    for (number, segment) in (0..).zip(evidence.segments) {
        let start = segment.phases.iter().find(|p| p.kind == PhaseKind::Measuring).map_or(0, |p| p.mono_ns);
        for (thread, result) in (0..).zip(&segment.threads) {
            worst.extend(result.worst.iter().map(|sample| WorstSample {
                latency_ns: sample.latency_ns,
                thread,
                cpu: evidence.spec.measure.threads.get(thread as usize).and_then(|t| t.cpu),
                segment: segment.header.as_ref().map_or(number, |h| h.segment),
                cycle: sample.cycle,
                mono_ns: sample.mono_ns,
                during_contact: false,
                since_start_ns: total([before_ns, sample.mono_ns.saturating_sub(start)]),
            }));
        }
        before_ns = total([before_ns, segment.measured_ns()]);
    }
    worst.sort_by_key(|sample| (std::cmp::Reverse(sample.latency_ns), sample.since_start_ns));
    worst.truncate(evidence.spec.measure.worst as usize);
    worst
}

pub(crate) fn bin((from_ns, to_ns, count): (u64, u64, u64)) -> Bin {
    Bin { from_ns, to_ns: (to_ns < u64::MAX).then_some(to_ns), count }
}
