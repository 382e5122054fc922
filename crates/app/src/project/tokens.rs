//! The tokens of the HTTP door, from a variable or a file.

use runtime::doors::http::Tokens;
use secrecy::ExposeSecret;

use crate::config::TokenSource;
use crate::failure::FailureKind;
use crate::failure::{Explain, Failure, Result};

/// The tokens that open the HTTP door.
pub fn tokens(source: Option<&TokenSource>) -> Result<Tokens> {
    Ok(source.map(read_tokens).transpose()?.map_or_else(Tokens::default, |(tokens, _)| tokens))
}

/// The first token, for calling a server that wants one.
pub fn first_token(source: Option<&TokenSource>) -> Result<Option<String>> {
    Ok(source.map(read_tokens).transpose()?.map(|(_, first)| first))
}

/// The hint that says how to create a token.
pub const NEW_TOKEN: &str =
    "a new one: (umask 077; mkdir -p .vouch; openssl rand -hex 32 > .vouch/tokens)";

/// All tokens of a variable or a file, and the first of them in clear: the others are kept as digests only.
fn read_tokens(source: &TokenSource) -> Result<(Tokens, String)> {
    let (text, what) = match source {
        TokenSource::Variable(token) => {
            (token.expose_secret().to_owned(), "VOUCH_TOKEN".to_owned())
        }
        TokenSource::File(path) => {
            let text = std::fs::read_to_string(path)
                .map_err(Failure::from)
                .explain(format!("cannot read the token file {}", path.display()))
                .hint(NEW_TOKEN)?;
            (text, path.display().to_string())
        }
    };
    let tokens = Tokens::parse(&text)
        .explain(format!("cannot use the tokens in {what}"))
        .hint(NEW_TOKEN)
        .map_err(|failure| failure.with_kind(FailureKind::Usage))?;
    // As parsed above: a secret is the last word of its line, and there is one.
    let mut lines = text.lines().map(str::trim);
    let line = lines.find(|line| !line.is_empty() && !line.starts_with('#')).unwrap_or_default();
    Ok((tokens, line.split_whitespace().last().unwrap_or_default().to_owned()))
}
