//! The core as its users see it.

mod formats;
mod statistics;
