//! The file filter of a query: one glob with the syntax of `rg -g`.
//!
//! A glob without a slash matches names at any depth; one with a slash matches paths from the root. A leading `!`
//! excludes matching files, and matching folders with their contents. Unlike `rg -g`, a glob never re-includes an
//! ignored file.

use guard::PathRefusal;
use ignore::overrides::{Override, OverrideBuilder};

/// Maximum length of a glob, in characters.
pub const MAX_GLOB: usize = 1000;

/// An invalid glob. Each message is a predicate whose subject is the glob.
#[derive(Debug, thiserror::Error)]
pub enum FilterError {
    /// The glob points outside the project, by the guard's rules for paths.
    #[error(transparent)]
    OutsideProject(PathRefusal),
    #[error("is longer than {MAX_GLOB} characters")]
    TooLong,
    #[error("is not a valid glob: {0}")]
    InvalidGlob(String),
}

/// Selects files by an optional glob.
#[derive(Debug, Default)]
pub(super) struct GlobFilter(Option<CompiledGlob>);

#[derive(Debug)]
struct CompiledGlob {
    globs: Override,
    excludes: bool,
}

impl GlobFilter {
    /// Compiles a glob. An empty glob matches every file.
    pub(super) fn new(glob: &str) -> Result<Self, FilterError> {
        if glob.chars().nth(MAX_GLOB).is_some() {
            return Err(FilterError::TooLong);
        }
        let (excludes, body) = match glob.strip_prefix('!') {
            Some(body) => (true, body),
            None => (false, glob),
        };
        if body.starts_with('/') {
            return Err(FilterError::OutsideProject(PathRefusal::Absolute));
        }
        if body.split(['/', '{', '}', ',']).any(|name| name == "..") {
            return Err(FilterError::OutsideProject(PathRefusal::ParentComponent));
        }
        let body = body.strip_prefix("./").unwrap_or(body);
        if body.trim().is_empty() {
            return match excludes {
                true => Err(FilterError::InvalidGlob("no pattern after `!`".into())),
                false => Ok(Self(None)),
            };
        }
        // In an ignore file, `#` starts a comment and `!` a negation.
        let escape = if body.starts_with(['#', '!']) { "\\" } else { "" };
        let line = format!("{}{escape}{body}", if excludes { "!" } else { "" });
        let mut builder = OverrideBuilder::new("");
        let globs = builder.add(&line).and_then(|builder| builder.build());
        let globs = globs.map_err(|error| FilterError::InvalidGlob(describe_glob_error(&error)))?;
        Ok(Self(Some(CompiledGlob { globs, excludes })))
    }

    /// Returns true if a file at `path` is selected.
    pub(super) fn matches_path(&self, path: &str) -> bool {
        let Some(CompiledGlob { globs, excludes }) = &self.0 else { return true };
        if !excludes {
            return globs.matched(path, false).is_whitelist();
        }
        let folders = path.match_indices('/').map(|(end, _)| &path[..end]);
        !globs.matched(path, false).is_ignore()
            && !folders.into_iter().any(|folder| globs.matched(folder, true).is_ignore())
    }
}

/// Returns the message of the glob parser, without the glob itself.
fn describe_glob_error(error: &ignore::Error) -> String {
    match error {
        ignore::Error::Glob { err, .. } => err.clone(),
        other => other.to_string(),
    }
}
