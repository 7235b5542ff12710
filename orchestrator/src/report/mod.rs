//! Stored runs as text, and how they are read.

pub mod comparison;
pub mod index;
pub mod night;
pub mod published;
pub mod recipe;
pub mod sides;
pub mod statistics;
pub mod stored;
pub mod text;
