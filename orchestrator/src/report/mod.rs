//! Stored runs as text, and how they are read.

pub mod stored;
pub mod text;
