//! Validity and verdict as badges: a sign, a word and a colour, so that none of them is needed.

use latlab_core::judgement::{Validity, Verdict};

/// A badge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    pub(in crate::report) class: &'static str,
    pub(in crate::report) sign: &'static str,
    pub(in crate::report) word: String,
}

impl State {
    pub(crate) fn good(word: impl Into<String>) -> Self {
        Self { class: "good", sign: "✓", word: word.into() }
    }

    pub(crate) fn fair(word: impl Into<String>) -> Self {
        Self { class: "fair", sign: "!", word: word.into() }
    }

    pub(crate) fn poor(word: impl Into<String>) -> Self {
        Self { class: "poor", sign: "✗", word: word.into() }
    }

    pub(crate) fn none(word: impl Into<String>) -> Self {
        Self { class: "none", sign: "–", word: word.into() }
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
