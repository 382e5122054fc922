//! Which files are asked for: one glob, as `rg -g` takes it.
//!
//! A glob without a slash matches names at any depth, one with a slash paths from the root; `!` in front excludes what
//! matches, folders with all below them. Unlike `rg -g` it only ever narrows: it never brings back an ignored file.

use guard::Refusal;
use ignore::overrides::{Override, OverrideBuilder};

/// The longest glob, in characters.
pub const MAX_GLOB: usize = 1000;

/// Why a glob cannot be used. Each reads as the end of a sentence that the glob begins.
#[derive(Debug, thiserror::Error)]
pub enum FilterError {
    /// It leads out of the project, by the guard's rules for paths.
    #[error(transparent)]
    LeadsOut(Refusal),
    #[error("is longer than {MAX_GLOB} characters, which no file pattern may be")]
    TooLong,
    #[error("is not a glob: {0}")]
    NotAGlob(String),
}

#[derive(Debug, Default)]
pub(super) struct Filter(Option<Globs>);

#[derive(Debug)]
struct Globs {
    globs: Override,
    excludes: bool,
}

impl Filter {
    /// An empty glob filters nothing.
    pub(super) fn new(glob: &str) -> Result<Self, FilterError> {
        if glob.chars().nth(MAX_GLOB).is_some() {
            return Err(FilterError::TooLong);
        }
        let (excludes, body) = match glob.strip_prefix('!') {
            Some(body) => (true, body),
            None => (false, glob),
        };
        if body.starts_with('/') {
            return Err(FilterError::LeadsOut(Refusal::Absolute));
        }
        if body.split(['/', '{', '}', ',']).any(|name| name == "..") {
            return Err(FilterError::LeadsOut(Refusal::Parent));
        }
        let body = body.strip_prefix("./").unwrap_or(body);
        if body.trim().is_empty() {
            return match excludes {
                true => Err(FilterError::NotAGlob("nothing follows the `!`".into())),
                false => Ok(Self(None)),
            };
        }
        // A line of a rule file that begins like this would be a comment.
        let escape = if body.starts_with(['#', '!']) { "\\" } else { "" };
        let line = format!("{}{escape}{body}", if excludes { "!" } else { "" });
        let mut builder = OverrideBuilder::new("");
        let globs = builder.add(&line).and_then(|builder| builder.build());
        let globs = globs.map_err(|error| FilterError::NotAGlob(reason(&error)))?;
        Ok(Self(Some(Globs { globs, excludes })))
    }

    pub(super) fn lets_through(&self, path: &str) -> bool {
        let Some(Globs { globs, excludes }) = &self.0 else { return true };
        if !excludes {
            return globs.matched(path, false).is_whitelist();
        }
        let folders = path.match_indices('/').map(|(end, _)| &path[..end]);
        !globs.matched(path, false).is_ignore()
            && !folders.into_iter().any(|folder| globs.matched(folder, true).is_ignore())
    }
}

/// The parser's own words, without the glob that they repeat.
fn reason(error: &ignore::Error) -> String {
    match error {
        ignore::Error::Glob { err, .. } => err.clone(),
        other => other.to_string(),
    }
}
