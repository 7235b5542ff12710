//! The pure part of latlab: no files, clock, environment, network or printing.
#![warn(missing_docs)]

pub mod campaign;
pub mod facts;
pub mod judgement;
pub mod latency;
pub mod resolve;
pub mod run_state;
pub mod target;
