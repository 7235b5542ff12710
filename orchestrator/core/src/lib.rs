//! The pure part of latlab: no files, clock, environment, network or printing.
#![warn(missing_docs)]

pub mod campaign;
pub mod diagnostic;
pub mod document;
pub mod facts;
pub mod formats;
pub mod judgement;
pub mod latency;
pub mod quantity;
pub mod resolve;
pub mod result;
pub mod run_state;
pub mod target;
pub mod verdict;

pub mod schedule;
#[cfg(test)]
mod testing;
pub mod units;

#[cfg(test)]

#[cfg(test)]
