//! The steps of a run that are more than one command.

mod collect;
pub(super) mod judge;
mod mirror;
mod prepare;
mod revive;

pub(super) use collect::collect;
pub(super) use mirror::Mirrors;
pub(super) use prepare::prepare;
pub(super) use revive::remainder;
