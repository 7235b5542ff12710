//! The pure part of latlab: no files, clock, environment, network or printing.
#![warn(missing_docs)]

pub mod campaign;
pub mod diagnostic;
pub mod document;
pub mod judgement;
pub mod plan;
pub mod target;
pub mod units;
