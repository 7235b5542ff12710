//! Validity and verdict as badges: a sign, a word and a colour, so that none of them is needed.

use latlab_core::judgement::{Validity, Verdict};

/// A badge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    pub(in crate::report) class: &'static str,
    /// Path of the sign, 14 by 14: no font has to have it.
    pub(in crate::report) sign: &'static str,
    pub(in crate::report) word: String,
}

impl State {
    pub(crate) fn good(word: impl Into<String>) -> Self {
        Self { class: "good", sign: "M2 7l4 4 6-8", word: word.into() }
    }

    pub(crate) fn fair(word: impl Into<String>) -> Self {
        Self { class: "fair", sign: "M7 2v6M7 11v1", word: word.into() }
    }

    pub(crate) fn poor(word: impl Into<String>) -> Self {
        Self { class: "poor", sign: "M2 2l10 10M12 2L2 12", word: word.into() }
    }

    pub(crate) fn none(word: impl Into<String>) -> Self {
        Self { class: "none", sign: "M2 7h10", word: word.into() }
    }
}

/// Of a validity.
pub(crate) fn validity(validity: Validity) -> State {
    match validity {
        Validity::Valid => State::good(validity.to_string()),
        Validity::Degraded => State::fair(validity.to_string()),
        Validity::Invalid => State::poor(validity.to_string()),
    }
}

/// Of a verdict.
pub(crate) fn verdict(verdict: Verdict) -> State {
    match verdict {
        Verdict::Pass => State::good(verdict.to_string()),
        Verdict::Fail => State::poor(verdict.to_string()),
        Verdict::NotJudged => State::none(verdict.to_string()),
    }
}
