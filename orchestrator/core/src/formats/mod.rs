//! Formats of other tools.

pub mod export;
