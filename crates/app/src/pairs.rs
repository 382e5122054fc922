//! `--env NAME=VALUE` and `--header 'Name: value'`. Not parsers of clap, which repeats what it refuses: that may be a
//! secret.

use crate::config::Variable;
use crate::failure::{Failure, Result};

/// Parses `NAME=VALUE`.
pub fn variable(text: &str) -> Result<(String, &str)> {
    let parts = text.split_once('=');
    let parts = parts.and_then(|(name, value)| Some((name.parse::<Variable>().ok()?, value)));
    let (Variable(name), value) =
        parts.ok_or_else(|| Failure::usage("a value of --env is not of the form NAME=VALUE"))?;
    Ok((name, value))
}

/// Parses `Name: value`.
pub fn header(text: &str) -> Result<(String, &str)> {
    let parts = text.split_once(':').map(|(name, value)| (name.trim(), value.trim()));
    let (name, value) = parts
        .filter(|(name, _)| name.parse::<http::HeaderName>().is_ok())
        .ok_or_else(|| Failure::usage("a value of --header is not of the form 'Name: value'"))?;
    Ok((name.to_owned(), value))
}
