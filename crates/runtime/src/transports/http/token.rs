//! Bearer tokens: authenticates requests and names their callers.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use contract::{Caller, ErrorCode, ToolError, sha256_digest};

/// Prefix of the principal of a token's callers.
const PRINCIPAL_PREFIX: &str = "token:";
/// Minimum length of a token; shorter ones can be guessed.
const MIN_LENGTH: usize = 16;

/// The principal of callers with the token of the project.
pub const PROJECT_PRINCIPAL: &str = "token:project";
/// The principal of all callers on loopback if the server requires no token.
pub const UNNAMED_PRINCIPAL: &str = "local";

/// A token's name and the digest of its secret. The secret itself is not stored, so it cannot be printed.
#[derive(Clone)]
pub struct BearerToken {
    name: String,
    principal: Arc<str>,
    digest: String,
}

impl BearerToken {
    fn new(name: &str, secret: &str) -> Self {
        Self {
            name: name.to_owned(),
            principal: format!("{PRINCIPAL_PREFIX}{name}").into(),
            digest: sha256_digest(secret.as_bytes()),
        }
    }
}

impl fmt::Debug for BearerToken {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "BearerToken({})", self.name)
    }
}

/// An error in a token file.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    #[error("line {line}: a token must have at least {MIN_LENGTH} characters without spaces")]
    Weak { line: usize },
    #[error("line {line}: duplicate token name `{name}`")]
    DuplicateName { line: usize, name: String },
    #[error("no token found")]
    Empty,
}

/// The accepted tokens. Without tokens the server is limited to loopback, and every local process may call.
#[derive(Clone, Debug, Default)]
pub struct BearerTokens(Vec<BearerToken>);

impl BearerTokens {
    /// Parses a token file: one token per line, optionally preceded by a name (`ci 3f9…`). `#` starts a comment. Errors
    /// if a token is too short, a name is repeated, or the file has no token.
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
            tokens.push(BearerToken::new(name, secret));
        }
        if tokens.is_empty() { Err(TokenError::Empty) } else { Ok(Self(tokens)) }
    }

    /// Creates the only token of a project, whose principal is [`PROJECT_PRINCIPAL`].
    pub fn for_project(secret: &str) -> Self {
        let name = PROJECT_PRINCIPAL.strip_prefix(PRINCIPAL_PREFIX).unwrap_or(PROJECT_PRINCIPAL);
        Self(vec![BearerToken::new(name, secret)])
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if requests of this principal can be admitted.
    pub(super) fn has_principal(&self, principal: &str) -> bool {
        match self.0.is_empty() {
            true => principal == UNNAMED_PRINCIPAL,
            false => self.0.iter().any(|token| *token.principal == *principal),
        }
    }

    /// Returns the caller that owns the secret. Compares digests, so that timing reveals nothing about the secret.
    fn find_caller(&self, secret: &str) -> Option<Caller> {
        let digest = sha256_digest(secret.as_bytes());
        let token = self.0.iter().find(|token| token.digest == digest)?;
        Some(Caller { principal: Arc::clone(&token.principal), client: None, session: None })
    }
}

/// Returns the caller of a request. Without tokens, all requests on loopback have the same caller. Errors if a required
/// token is missing or unknown.
pub(super) fn authenticate_caller(
    tokens: &BearerTokens,
    headers: &HeaderMap,
) -> Result<Caller, ToolError> {
    if tokens.is_empty() {
        return Ok(Caller::new(UNNAMED_PRINCIPAL));
    }
    headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .and_then(|(_, secret)| tokens.find_caller(secret.trim()))
        .ok_or_else(|| {
            ToolError::new(
                ErrorCode::Unauthenticated,
                "a token is required: send `Authorization: Bearer <token>`",
            )
        })
}

/// Returns the response with a header that asks the client to authenticate.
pub(super) fn add_challenge(mut response: Response) -> Response {
    response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_token_files() {
        let tokens =
            BearerTokens::parse("# comment\n\nci 0123456789abcdef\nfedcba9876543210\n").unwrap();
        assert_eq!(&*tokens.find_caller("0123456789abcdef").unwrap().principal, "token:ci");
        assert_eq!(&*tokens.find_caller("fedcba9876543210").unwrap().principal, "token:default");
        assert_eq!(tokens.find_caller("ci"), None);
        assert_eq!(format!("{tokens:?}"), "BearerTokens([BearerToken(ci), BearerToken(default)])");
        assert_eq!(BearerTokens::parse("# only\n").unwrap_err(), TokenError::Empty);
        for weak in ["short", "0123456789abcde", "ci 0123456789abcde", "a b 0123456789abcdef"] {
            let text = format!("\n#\n{weak}\n");
            assert_eq!(BearerTokens::parse(&text).unwrap_err(), TokenError::Weak { line: 3 });
        }
        assert_eq!(
            BearerTokens::parse("a 0123456789abcdef\na 0123456789abcdeg").unwrap_err(),
            TokenError::DuplicateName { line: 2, name: "a".into() }
        );
    }

    #[test]
    fn only_principals_with_a_token_remain() {
        let open = BearerTokens::default();
        assert!(open.is_empty() && open.has_principal(UNNAMED_PRINCIPAL));
        assert!(!open.has_principal("token:ci"));
        let tokens = BearerTokens::parse("ci 0123456789abcdef\nfedcba9876543210").unwrap();
        assert!(tokens.has_principal("token:ci") && tokens.has_principal("token:default"));
        assert!(!tokens.has_principal(UNNAMED_PRINCIPAL) && !tokens.has_principal("ci"));
        let project = BearerTokens::for_project("0123456789abcdef");
        assert!(project.has_principal(PROJECT_PRINCIPAL) && !project.is_empty());
    }

    #[test]
    fn authenticates_by_bearer_token_only() {
        let tokens = BearerTokens::parse("ci 0123456789abcdef").unwrap();
        let authenticate = |value: Option<&str>| {
            let mut headers = HeaderMap::new();
            if let Some(value) = value {
                headers.insert(header::AUTHORIZATION, value.parse().unwrap());
            }
            authenticate_caller(&tokens, &headers).map(|caller| caller.principal.to_string())
        };
        for value in ["Bearer 0123456789abcdef", "bearer  0123456789abcdef "] {
            assert_eq!(authenticate(Some(value)).unwrap(), "token:ci", "{value}");
        }
        for value in [
            "Basic 0123456789abcdef",
            "Token 0123456789abcdef",
            "Bearer: 0123456789abcdef",
            "0123456789abcdef",
            "Bearer",
            "Bearer ",
            "Bearer 0123456789abcdeF",
            "Bearer 0123456789abcde",
            "Bearer ci 0123456789abcdef",
            "Bearer token:ci",
        ] {
            let error = authenticate(Some(value)).unwrap_err();
            assert_eq!(error.code, ErrorCode::Unauthenticated, "{value}");
        }
        assert_eq!(authenticate(None).unwrap_err().code, ErrorCode::Unauthenticated);
    }
}
