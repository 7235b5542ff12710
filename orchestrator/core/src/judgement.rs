//! What is said about a run: validity apart from verdict. Stored as `verdict.json`.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Version of `verdict.json`.
pub const JUDGEMENT_FORMAT: u32 = 1;

/// Judgement of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// [`JUDGEMENT_FORMAT`].
    pub format: u32,
    /// Was this the experiment that was asked for?
    pub validity: Validity,
    /// Is it fast enough? Always [`Verdict::NotJudged`] for an invalid run.
    pub verdict: Verdict,
    /// Every rule that was looked at, in a fixed order.
    pub findings: Vec<Finding>,
    /// Every limit of the gate.
    pub limits: Vec<LimitOutcome>,
}

/// Was this the experiment that was asked for? Ordered: worse is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Validity {
    /// Yes.
    Valid,
    /// Usable, with reasons.
    Degraded,
    /// No.
    Invalid,
}

/// Is it fast enough?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// Every limit holds.
    Pass,
    /// A limit is broken.
    Fail,
    /// No limit was asked for, or the run is invalid.
    #[serde(rename = "NOT JUDGED")]
    NotJudged,
}

/// As in files.
impl fmt::Display for Validity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Validity::Valid => "VALID",
            Validity::Degraded => "DEGRADED",
            Validity::Invalid => "INVALID",
        })
    }
}

/// As in files.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Pass => "PASS",
            Verdict::Fail => "FAIL",
            Verdict::NotJudged => "NOT JUDGED",
        })
    }
}

/// Outcome of one validity rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Name of the rule, stable (`cycles`, `load-duty`, `page-faults` …).
    pub rule: String,
    /// Outcome.
    pub outcome: Outcome,
    /// What was expected and found, in plain words, with the remedy where there is one.
    pub detail: String,
}

/// Outcome of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Holds.
    Ok,
    /// Makes the run DEGRADED.
    Degrades,
    /// Makes the run INVALID.
    Invalidates,
    /// Could not be seen; degrades only what the campaign requires.
    Unknown,
}

/// Outcome of one limit of the gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LimitOutcome {
    /// `max`, `missed`, `quantile 0.9999`, `exceed 100us`.
    pub limit: String,
    /// Limit as text (`≤ 120 us`).
    pub allowed: String,
    /// Value as text; a quantile in overflow is a bound (`> 200 us`).
    pub measured: String,
    /// Whether it holds; a bound that cannot decide counts as broken.
    pub holds: bool,
}
