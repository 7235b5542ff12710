//! The edges of latlab: command line, transports, boards, runner, store and reports.

pub mod cli;
pub mod exit;
pub mod store;
