//! The core as its users see it.

#[cfg(test)]
mod boards;
#[cfg(test)]
mod formats;
#[cfg(test)]
mod statistics;
