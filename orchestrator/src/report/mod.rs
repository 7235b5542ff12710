//! Stored runs as text, and how they are read.

pub mod statistics;
pub mod stored;
pub mod text;
