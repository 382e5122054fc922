//! The bearer tokens of the HTTP transport: the token of the project, or those of a variable or a file.

use runtime::transports::http::BearerTokens;
use secrecy::ExposeSecret;
use store::{ProjectToken, ProjectTokenError, read_private_file};

use crate::config::{Settings, TokenSource};
use crate::failure::FailureKind;
use crate::failure::{Failure, FailureExt, Result};

/// Hint for a token source that cannot be used.
pub const NEW_TOKEN_HINT: &str = "omit it to use the token of this project, or create a token: (umask 077; openssl rand -hex 32 > FILE)";

/// Loads the tokens that the HTTP transport accepts; empty only with `--no-token`. The token of the project is created if
/// it is missing.
pub fn load_tokens(settings: &Settings) -> Result<BearerTokens> {
    match &settings.server.token {
        None => Ok(BearerTokens::default()),
        Some(TokenSource::Project) => {
            Ok(BearerTokens::for_project(open_project_token(settings)?.0.expose_secret()))
        }
        Some(source) => Ok(read_tokens(source)?.0),
    }
}

/// Loads the token for calling a server of this project. Returns `None` if there is none yet; it is not created.
pub fn load_first_token(settings: &Settings) -> Result<Option<String>> {
    match &settings.server.token {
        None => Ok(None),
        Some(TokenSource::Project) => {
            let token = ProjectToken::find(&settings.state_folder).map_err(token_failure)?;
            Ok(token.map(|token| token.expose_secret().to_owned()))
        }
        Some(source) => read_tokens(source).map(|(_, first)| Some(first)),
    }
}

/// Returns the token of the project, and true if it was created now.
pub fn open_project_token(settings: &Settings) -> Result<(ProjectToken, bool)> {
    let state = super::open_state(settings)?;
    ProjectToken::open_or_create(&state).map_err(token_failure)
}

/// Replaces the token of the project and returns the new one.
pub fn rotate_project_token(settings: &Settings) -> Result<ProjectToken> {
    let state = super::open_state(settings)?;
    ProjectToken::rotate(&state).map_err(token_failure)
}

/// Returns the token of the project if a server would use it and it does not exist yet. The caller shows it once.
pub fn create_missing_token(settings: &Settings) -> Result<Option<ProjectToken>> {
    if !matches!(settings.server.token, Some(TokenSource::Project)) {
        return Ok(None);
    }
    let (token, created) = open_project_token(settings)?;
    Ok(created.then_some(token))
}

/// Converts an error of the project's token, with its hint.
pub(crate) fn token_failure(error: ProjectTokenError) -> Failure {
    // Errors of the store have their hint already.
    let hint = error.hint().filter(|_| !matches!(error, ProjectTokenError::Store(_)));
    let failure = Failure::from(error).with_kind(FailureKind::Usage);
    match hint {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}

/// Returns all tokens as digests, and the first one in clear text.
pub(crate) fn read_tokens(source: &TokenSource) -> Result<(BearerTokens, String)> {
    let (text, what) = match source {
        TokenSource::Variable(token) => {
            (token.expose_secret().to_owned(), "VOUCH_TOKEN".to_owned())
        }
        TokenSource::File(path) => {
            let text = read_private_file(path).map_err(|error| {
                let hint = error.hint().unwrap_or_else(|| NEW_TOKEN_HINT.to_owned());
                Failure::from(error).with_hint(hint).with_kind(FailureKind::Usage)
            });
            (text.explain("failed to use the token file")?, path.display().to_string())
        }
        TokenSource::Project => return Err(Failure::new("the token of the project has no source")),
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
