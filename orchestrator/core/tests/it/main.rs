//! The core as its users see it.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests end by panicking")]

#[cfg(test)]
mod formats;
#[cfg(test)]
mod statistics;
