//! Extreme values: what maximum a longer run would be expected to show, where the data allow to say it.

mod gev;
mod goodness;
mod likelihood;
mod lmoments;
mod return_level;
mod simplex;

pub use gev::Gev;
pub use goodness::{anderson_darling, goodness_of_fit};
pub use likelihood::{Fitted, fit, level_interval};
pub use lmoments::{LMoments, l_moments};
pub use return_level::{BLOCK_SIZES_NS, BySize, Checks, MaximumExpected, ReturnLevel, maximum_expected};
