//! Validity and verdict of a run, from what is stored of it. Deterministic: the same files give the same judgement.
//!
//! Each validity rule is a small function from the [`Evidence`] to a [`Finding`]; `RULES` lists them all.
//! What cannot be seen is *unknown*, which degrades only what the campaign requires.

mod board;
mod gate;
mod kernel_log;
mod load;
mod measurement;
mod setup;

use crate::campaign::model::Settings;
use crate::facts::Facts;
use crate::judgement::{Finding, JUDGEMENT_FORMAT, Judgement, LimitOutcome, Outcome, Validity, Verdict};
use crate::latency::{Summary, merge_segments, merge_threads, summarise};
use crate::quantity::total;
use crate::target::Target;
use latprobe::spec::Spec;
use latprobe::stream::{Event, EventKind, Folded, Instrument, ThreadResult};

pub use load::{LoadRow, load_rows};

/// Everything that is stored of a run.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// What the board was told to do.
    pub spec: &'a Spec,
    /// What the campaign asked for.
    pub settings: &'a Settings,
    /// The board's description.
    pub target: &'a Target,
    /// Segments in order.
    pub segments: &'a [Folded],
    /// The board before.
    pub before: &'a Facts,
    /// The board after each reset in mid-run, before it measured again.
    pub boots: &'a [Facts],
    /// The board after; absent: it could not be asked.
    pub after: Option<&'a Facts>,
}

/// The files of a run, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Files {
    /// What the board was told to do.
    pub spec: Spec,
    /// Segments in order.
    pub segments: Vec<Folded>,
    /// The board before.
    pub before: Facts,
    /// The board after each reset in mid-run, before it measured again.
    pub boots: Vec<Facts>,
    /// The board after; absent: it could not be asked.
    pub after: Option<Facts>,
}

impl Files {
    /// As evidence for what the campaign asked of the target.
    pub fn evidence<'a>(&'a self, settings: &'a Settings, target: &'a Target) -> Evidence<'a> {
        Evidence {
            spec: &self.spec,
            settings,
            target,
            segments: &self.segments,
            before: &self.before,
            boots: &self.boots,
            after: self.after.as_ref(),
        }
    }
}

/// The evidence with what several rules need of it.
struct Run<'a> {
    evidence: &'a Evidence<'a>,
    /// By thread, all segments together; empty when segments do not fit each other.
    threads: Vec<ThreadResult>,
    /// All threads together; absent without any sample.
    all: Option<Summary>,
    /// Segments were measured with different bins.
    different_bins: bool,
}

impl<'a> Run<'a> {
    fn new(evidence: &'a Evidence<'a>) -> Self {
        let merged = merge_segments(evidence.segments);
        let different_bins = merged.is_err();
        let threads = merged.unwrap_or_default();
        let all = merge_threads(&threads).ok().flatten().map(|t| summarise(&t)).filter(|all| all.cycles > 0);
        Self { evidence, threads, all, different_bins }
    }

    fn instrument(&self) -> Option<&'a Instrument> {
        self.evidence.segments.iter().find_map(|s| s.instrument.as_ref())
    }

    fn instruments(&self) -> impl Iterator<Item = &'a Instrument> {
        self.evidence.segments.iter().filter_map(|s| s.instrument.as_ref())
    }

    fn events(&self, kind: EventKind) -> impl Iterator<Item = &'a Event> {
        self.evidence.segments.iter().flat_map(|s| &s.events).filter(move |event| event.kind == kind)
    }

    /// Time of the measuring phase, all segments together, in ns.
    fn measured_ns(&self) -> u64 {
        total(self.evidence.segments.iter().map(Folded::measured_ns))
    }
}

/// A rule: its stable name and its function.
type Rule = (&'static str, fn(&Run) -> (Outcome, String));

/// Every validity rule, in the order shown.
const RULES: &[Rule] = &[
    ("complete", measurement::complete),
    ("cycles", measurement::cycles),
    ("stream", measurement::stream),
    ("ledger", measurement::ledger),
    ("hand-over", measurement::hand_over),
    ("negative", measurement::negative),
    ("conditions", board::conditions),
    ("boot", board::boot),
    ("policy", setup::policy),
    ("placement", setup::placement),
    ("supervisor", setup::supervisor),
    ("idle-states", setup::idle_states),
    ("memory-locked", setup::memory_locked),
    ("page-faults", setup::page_faults),
    ("clock", setup::clock),
    ("clocksource", board::clocksource),
    ("load-duty", load::duty),
    ("load-failures", load::failures),
    ("out-of-memory", load::out_of_memory),
    ("kernel-log", kernel_log::rule),
    ("interrupts", board::interrupts),
    ("throttling", board::throttling),
    ("frequency", board::frequency),
    ("restored", board::restored),
    ("state-after", board::state_after),
];

/// Judges a run.
pub fn judge(evidence: &Evidence) -> Judgement {
    let run = Run::new(evidence);
    let findings: Vec<Finding> = RULES
        .iter()
        .map(|(rule, judge)| {
            let (outcome, detail) = judge(&run);
            Finding { rule: (*rule).to_owned(), outcome, detail }
        })
        .collect();
    let mut findings = findings;
    findings.extend(gate::required_validity(&evidence.settings.gate, &findings));
    let validity = validity(&findings);
    let limits = gate::limits(&evidence.settings.gate, &run);
    let verdict = verdict(validity, &limits);
    Judgement { format: JUDGEMENT_FORMAT, validity, verdict, findings, limits }
}

fn validity(findings: &[Finding]) -> Validity {
    let weight = |outcome: Outcome| match outcome {
        Outcome::Ok | Outcome::Unknown => Validity::Valid,
        Outcome::Degrades => Validity::Degraded,
        Outcome::Invalidates => Validity::Invalid,
    };
    findings.iter().map(|f| weight(f.outcome)).max().unwrap_or(Validity::Invalid)
}

fn verdict(validity: Validity, limits: &[LimitOutcome]) -> Verdict {
    match validity {
        Validity::Invalid => Verdict::NotJudged,
        _ if limits.is_empty() => Verdict::NotJudged,
        _ if limits.iter().all(|limit| limit.holds) => Verdict::Pass,
        _ => Verdict::Fail,
    }
}

#[cfg(test)]
mod tests;
