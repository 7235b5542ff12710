//! A figure that may have no right to be stated.

use serde::{Deserialize, Serialize};

/// Share of repetitions in which a stated interval holds the true value.
pub const CONFIDENCE: f64 = 0.95;

/// Why a method cannot be used on these data.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not applicable: {reason}")]
pub struct NotApplicable {
    /// In plain words, with the figure that decided.
    pub reason: String,
}

impl NotApplicable {
    pub(crate) fn because(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }
}

/// A figure, or why there is none; as stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stated<T> {
    /// The figure.
    Figure(T),
    /// Why the method cannot be used on these data.
    NotApplicable(String),
}

impl<T> Stated<T> {
    /// The figure, where there is one.
    pub fn figure(&self) -> Option<&T> {
        match self {
            Self::Figure(figure) => Some(figure),
            Self::NotApplicable(_) => None,
        }
    }
}

impl<T> From<Result<T, NotApplicable>> for Stated<T> {
    fn from(result: Result<T, NotApplicable>) -> Self {
        match result {
            Ok(figure) => Self::Figure(figure),
            Err(NotApplicable { reason }) => Self::NotApplicable(reason),
        }
    }
}

/// A confidence interval, [`CONFIDENCE`] unless said otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Whether `value` lies in it, ends included.
    pub fn contains(self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// Outcome of a test of a hypothesis.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Test {
    /// Its statistic.
    pub statistic: f64,
    /// Probability of a statistic at least as extreme if the hypothesis holds, 0..=1.
    pub p: f64,
}
