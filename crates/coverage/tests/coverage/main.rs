//! The crate from outside.

mod counts;
mod fixture;
mod formats;
mod hits;
mod properties;
