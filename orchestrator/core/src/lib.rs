//! The pure part of latlab: no files, clock, environment, network or printing.
#![warn(missing_docs)]

pub mod boot;
pub mod campaign;
pub mod compare;
pub mod diagnostic;
pub mod document;
pub mod facts;
pub mod figure;
pub mod formats;
pub mod judgement;
pub mod latency;
pub mod plain;
pub mod quantity;
pub mod recipe;
pub mod resolve;
pub mod result;
pub mod run_state;
pub mod schedule;
pub mod target;
#[cfg(test)]
mod testing;
pub mod trend;
pub mod units;
pub mod verdict;
