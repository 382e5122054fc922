//! Validates a discovery added by a user and converts it to its stored form.

use contract::text;
use jiff::Timestamp;
use store::context::{DiscoveryKind, StoredDiscovery};

use super::{MAX_CONTENT, MAX_TAGS, MAX_TITLE, classify, digest_id, sanitize_line};

/// Maximum characters of a module, session or tag.
const MAX_NAME: usize = 100;

/// A discovery to add, before validation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewDiscovery {
    /// `None` infers the kind from the wording.
    pub kind: Option<DiscoveryKind>,
    pub title: Option<String>,
    pub content: String,
    pub module: Option<String>,
    pub session: Option<String>,
    /// `None` means now.
    pub date: Option<Timestamp>,
    pub tags: Vec<String>,
}

/// Reason why a new discovery is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NewDiscoveryError {
    #[error("the text is empty")]
    Empty,
    #[error("the {field} has {size} characters; the maximum is {limit}")]
    TooLong { field: &'static str, size: usize, limit: usize },
    #[error("{size} tags given; the maximum is {MAX_TAGS}")]
    TooManyTags { size: usize },
    #[error("the {field} contains a hidden or control character ({character})")]
    HiddenCharacter { field: &'static str, character: String },
    #[error(
        "the text contains what looks like {secret} (rule `{rule}`); discoveries must not contain secrets"
    )]
    Secret { secret: &'static str, rule: &'static str },
    #[error("cannot infer from the text whether it is a pattern, rule, decision or issue")]
    UnknownKind,
}

impl NewDiscoveryError {
    /// Returns a hint on how to fix the problem.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Empty => "pass the text of the discovery",
            Self::TooLong { .. } => {
                "shorten it, or keep the full text in a file such as docs/adr/0001-title.md"
            }
            Self::TooManyTags { .. } => "remove the least specific tags",
            Self::HiddenCharacter { .. } => "remove it: only line breaks and tabs are allowed",
            Self::Secret { .. } => "remove the value and say where it is stored",
            Self::UnknownKind => "set the type: pattern, rule, decision or issue",
        }
    }
}

impl NewDiscovery {
    /// Validates the discovery and returns its stored form; `by` names who adds it or the file it is imported from.
    pub fn validate(self, by: &str, now: Timestamp) -> Result<StoredDiscovery, NewDiscoveryError> {
        let content = self.content.replace("\r\n", "\n").trim().to_owned();
        if content.is_empty() {
            return Err(NewDiscoveryError::Empty);
        }
        check_text("text", &content, MAX_CONTENT)?;
        let (title, module) = (collapse_whitespace(self.title), collapse_whitespace(self.module));
        let session = collapse_whitespace(self.session);
        let tags: Vec<_> =
            self.tags.into_iter().filter_map(|tag| collapse_whitespace(Some(tag))).collect();
        if tags.len() > MAX_TAGS {
            return Err(NewDiscoveryError::TooManyTags { size: tags.len() });
        }
        for (field, text, limit) in [
            ("title", &title, MAX_TITLE),
            ("module", &module, MAX_NAME),
            ("session", &session, MAX_NAME),
        ] {
            text.iter().try_for_each(|text| check_text(field, text, limit))?;
        }
        tags.iter().try_for_each(|tag| check_text("tag", tag, MAX_NAME))?;
        let all = [title.as_deref(), module.as_deref(), session.as_deref(), Some(&content)];
        let all = all.into_iter().flatten().chain(tags.iter().map(String::as_str));
        if let Some(rule) = all.into_iter().find_map(secrets::find_secret) {
            return Err(NewDiscoveryError::Secret { secret: rule.description, rule: rule.id });
        }
        let kind = self
            .kind
            .or_else(|| classify::kind_from_wording(&content))
            .ok_or(NewDiscoveryError::UnknownKind)?;
        let id = digest_id(&[
            "store",
            kind.as_str(),
            module.as_deref().unwrap_or_default(),
            title.as_deref().unwrap_or_default(),
            &content,
        ]);
        Ok(StoredDiscovery {
            id,
            kind,
            title,
            content,
            module,
            source: sanitize_line(by, MAX_TITLE),
            session,
            // The store keeps milliseconds.
            added_at: Timestamp::from_millisecond(self.date.unwrap_or(now).as_millisecond())
                .unwrap_or(now),
            tags,
        })
    }
}

/// Collapses whitespace into single spaces; returns `None` if no text is left.
fn collapse_whitespace(text: Option<String>) -> Option<String> {
    let words: Vec<_> = text.iter().flat_map(|text| text.split_whitespace()).collect();
    Some(words.join(" ")).filter(|text| !text.is_empty())
}

/// Checks a text for its length and for hidden characters.
fn check_text(field: &'static str, text: &str, limit: usize) -> Result<(), NewDiscoveryError> {
    let size = text.chars().count();
    if size > limit {
        return Err(NewDiscoveryError::TooLong { field, size, limit });
    }
    match text.chars().find(|c| text::is_hidden(*c)) {
        Some(character) => Err(NewDiscoveryError::HiddenCharacter {
            field,
            character: text::one_line(&character.to_string()),
        }),
        None => Ok(()),
    }
}
