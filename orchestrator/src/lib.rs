//! latlab
