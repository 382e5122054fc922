//! Integration tests of the public API.

mod counts;
mod fixture;
mod formats;
mod hits;
mod properties;
