//! Stored runs as text, pages and pictures, and how they are read.

pub mod comparison;
pub mod figures;
pub mod html;
pub mod index;
pub mod night;
pub mod nightly;
pub mod published;
pub mod recipe;
pub mod sides;
pub mod statistics;
pub mod stored;
pub mod svg;
pub mod text;
