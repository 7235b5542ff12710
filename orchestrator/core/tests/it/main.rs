//! The core as its users see it.

#[cfg(test)]
mod formats;
#[cfg(test)]
mod statistics;
