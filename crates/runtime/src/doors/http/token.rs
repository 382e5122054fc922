//! Bearer tokens: who a request comes from.

use std::collections::HashSet;
use std::fmt;

use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use contract::{Caller, Code, ToolError, sha256_of};

/// Shorter tokens can be guessed.
const MIN_LENGTH: usize = 16;

/// A token's name and the digest of its secret. The secret itself is not kept, so it cannot be printed.
#[derive(Clone)]
pub struct Token {
    name: String,
    digest: String,
}

impl fmt::Debug for Token {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Token({})", self.name)
    }
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    #[error("line {line}: a token must have at least {MIN_LENGTH} characters without spaces")]
    Weak { line: usize },
    #[error("line {line}: the name `{name}` is used twice")]
    DuplicateName { line: usize, name: String },
    #[error("there is no token in it")]
    Empty,
}

/// The tokens that open the door. None configured means that only loopback is served, and everybody there.
#[derive(Clone, Debug, Default)]
pub struct Tokens(Vec<Token>);

impl Tokens {
    /// One token a line, with a name before it where there are several callers: `ci 3f9…`. `#` starts a comment.
    pub fn parse(text: &str) -> Result<Self, TokenError> {
        let mut tokens = Vec::new();
        let mut names = HashSet::new();
        for (index, line) in text.lines().enumerate() {
            let line_number = index + 1;
            let words: Vec<_> = line.split_whitespace().collect();
            let (name, secret) = match words[..] {
                [] => continue,
                [first, ..] if first.starts_with('#') => continue,
                [secret] => ("default", secret),
                [name, secret] => (name, secret),
                _ => return Err(TokenError::Weak { line: line_number }),
            };
            if secret.len() < MIN_LENGTH {
                return Err(TokenError::Weak { line: line_number });
            }
            if !names.insert(name.to_owned()) {
                return Err(TokenError::DuplicateName { line: line_number, name: name.to_owned() });
            }
            tokens.push(Token { name: name.to_owned(), digest: sha256_of(secret.as_bytes()) });
        }
        if tokens.is_empty() { Err(TokenError::Empty) } else { Ok(Self(tokens)) }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Compares digests, so that timing tells nothing about the secret.
    fn caller(&self, secret: &str) -> Option<Caller> {
        let digest = sha256_of(secret.as_bytes());
        let token = self.0.iter().find(|token| token.digest == digest)?;
        Some(Caller::new(&format!("token:{}", token.name)))
    }
}

/// Who sends these headers. Without tokens everybody on loopback is one caller.
pub(super) fn caller(tokens: &Tokens, headers: &HeaderMap) -> Result<Caller, ToolError> {
    if tokens.is_empty() {
        return Ok(Caller::new("local"));
    }
    headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .and_then(|(_, secret)| tokens.caller(secret.trim()))
        .ok_or_else(|| {
            ToolError::new(
                Code::Unauthenticated,
                "a token is required: send `Authorization: Bearer <token>`",
            )
        })
}

/// Tells a client how to authenticate.
pub(super) fn challenge(mut response: Response) -> Response {
    response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_files() {
        let tokens = Tokens::parse("# ours\n\nci 0123456789abcdef\nfedcba9876543210\n").unwrap();
        assert_eq!(&*tokens.caller("0123456789abcdef").unwrap().principal, "token:ci");
        assert_eq!(&*tokens.caller("fedcba9876543210").unwrap().principal, "token:default");
        assert_eq!(tokens.caller("ci"), None);
        assert_eq!(format!("{tokens:?}"), "Tokens([Token(ci), Token(default)])");
        assert_eq!(Tokens::parse("# only\n").unwrap_err(), TokenError::Empty);
        assert_eq!(Tokens::parse("short").unwrap_err(), TokenError::Weak { line: 1 });
        assert_eq!(
            Tokens::parse("a 0123456789abcdef\na 0123456789abcdeg").unwrap_err(),
            TokenError::DuplicateName { line: 2, name: "a".into() }
        );
    }
}
