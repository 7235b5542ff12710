//! What the board and the host must agree on: the [`spec`] of one run, the
//! checkpoint [`stream`] that comes back, the [`status`] answers of the
//! probe's commands, and the [`histogram`] and [`cpulist`] both sides use.
//!
//! Nothing here touches the operating system.
#![warn(missing_docs)]

pub mod cpulist;
pub mod histogram;
pub mod spec;
pub mod status;
pub mod stream;
