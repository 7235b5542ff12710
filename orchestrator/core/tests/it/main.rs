//! The core as its users see it.

#[cfg(test)]
mod formats;
