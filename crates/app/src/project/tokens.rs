//! Loads the bearer tokens of the HTTP transport from a variable or a file.

use runtime::transports::http::BearerTokens;
use secrecy::ExposeSecret;

use crate::config::TokenSource;
use crate::failure::FailureKind;
use crate::failure::{Failure, FailureExt, Result};

/// Loads the tokens that the HTTP transport accepts; empty without a source.
pub fn load_tokens(source: Option<&TokenSource>) -> Result<BearerTokens> {
    Ok(source
        .map(read_tokens)
        .transpose()?
        .map_or_else(BearerTokens::default, |(tokens, _)| tokens))
}

/// Loads the first token, for calling a server that requires one.
pub fn load_first_token(source: Option<&TokenSource>) -> Result<Option<String>> {
    Ok(source.map(read_tokens).transpose()?.map(|(_, first)| first))
}

/// Hint with the command that creates a token.
pub const NEW_TOKEN_HINT: &str =
    "create a token: (umask 077; openssl rand -hex 32 > ~/.vouch-tokens)";

/// Returns all tokens as digests, and the first one in clear text.
fn read_tokens(source: &TokenSource) -> Result<(BearerTokens, String)> {
    let (text, what) = match source {
        TokenSource::Variable(token) => {
            (token.expose_secret().to_owned(), "VOUCH_TOKEN".to_owned())
        }
        TokenSource::File(path) => {
            let text = std::fs::read_to_string(path)
                .map_err(Failure::from)
                .explain(format!("failed to read the token file {}", path.display()))
                .hint(NEW_TOKEN_HINT)?;
            (text, path.display().to_string())
        }
    };
    let tokens = BearerTokens::parse(&text)
        .explain(format!("invalid tokens in {what}"))
        .hint(NEW_TOKEN_HINT)
        .map_err(|failure| failure.with_kind(FailureKind::Usage))?;
    // The format parsed above: the secret is the last word of its line, and at least one line has one.
    let mut lines = text.lines().map(str::trim);
    let line = lines.find(|line| !line.is_empty() && !line.starts_with('#')).unwrap_or_default();
    Ok((tokens, line.split_whitespace().last().unwrap_or_default().to_owned()))
}
