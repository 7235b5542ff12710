//! Many nights of one cell on one target: is the last one out of the ordinary, and did the level change?

mod change;
mod metric;
mod night;
mod relative;

#[cfg(test)]
mod year;

pub use change::{Change, LOOK_BACK, change_point, rise};
pub use metric::Metric;
pub use night::{FEWEST_NIGHTS, Night, Rule, Standing, stands};
pub use relative::{Standings, relative};
