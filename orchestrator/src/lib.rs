//! The edges of latlab: command line, transports, boards, runner, store and reports.

pub mod board;
pub mod cli;
pub mod exit;
pub mod files;
pub mod progress;
pub mod report;
pub mod runner;
pub mod store;
pub mod transport;
