//! Campaign files: text → checked [`model::Campaign`].

pub mod model;
