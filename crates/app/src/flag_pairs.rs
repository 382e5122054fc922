//! Parses the values of `--env NAME=VALUE` and `--header 'Name: value'`.
//!
//! These are not clap parsers, because clap repeats rejected values in its errors, and the values may be secrets.

use crate::config::VariableName;
use crate::failure::{Failure, Result};

/// Parses `NAME=VALUE`.
pub fn parse_variable(text: &str) -> Result<(String, &str)> {
    let parts = text.split_once('=');
    let parts = parts.and_then(|(name, value)| Some((name.parse::<VariableName>().ok()?, value)));
    let (VariableName(name), value) =
        parts.ok_or_else(|| Failure::usage("invalid value for --env: expected NAME=VALUE"))?;
    Ok((name, value))
}

/// Parses `Name: value`.
pub fn parse_header(text: &str) -> Result<(String, &str)> {
    let parts = text.split_once(':').map(|(name, value)| (name.trim(), value.trim()));
    let (name, value) = parts
        .filter(|(name, _)| name.parse::<http::HeaderName>().is_ok())
        .ok_or_else(|| Failure::usage("invalid value for --header: expected 'Name: value'"))?;
    Ok((name.to_owned(), value))
}
