//! `latlab` as its users meet it; against real SSH servers on loopback, made and ended by the tests.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests end by panicking and tell why they skip"
)]

mod boards;
mod browser;
mod compared;
mod confirmed;
mod faults;
mod files;
mod import;
mod lies;
mod links;
mod nights;
mod reports;
mod resets;
mod runs;
mod stored;
mod support;
