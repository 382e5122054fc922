//! A discovery that somebody adds: what it may hold, and what becomes of it in the store.

use contract::text;
use jiff::Timestamp;
use store::context::{Kind, StoredDiscovery};

use super::{MAX_CONTENT, MAX_TAGS, MAX_TITLE, classify, id_of, tidy_line};

/// In characters.
const MAX_NAME: usize = 100;

/// What somebody wants to add.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewDiscovery {
    /// None leaves it to the wording.
    pub kind: Option<Kind>,
    pub title: Option<String>,
    pub content: String,
    pub module: Option<String>,
    pub session: Option<String>,
    /// None is now.
    pub date: Option<Timestamp>,
    pub tags: Vec<String>,
}

/// Why a discovery is not added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("the text is empty")]
    Empty,
    #[error("the {what} has {size} characters, and may have {limit}")]
    TooLong { what: &'static str, size: usize, limit: usize },
    #[error("there are {size} tags, and may be {MAX_TAGS}")]
    TooManyTags { size: usize },
    #[error("the {what} holds a hidden or control character ({character})")]
    Hidden { what: &'static str, character: String },
    #[error(
        "the text holds what looks like {what} (rule `{rule}`), and discoveries hold no secrets"
    )]
    Secret { what: &'static str, rule: &'static str },
    #[error("the text does not say whether it is a pattern, a rule, a decision or an issue")]
    NoKind,
}

impl Refused {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Empty => "give the text of the discovery",
            Self::TooLong { .. } => {
                "shorten it, or keep the whole in a file such as docs/adr/0001-title.md"
            }
            Self::TooManyTags { .. } => "leave the less telling ones out",
            Self::Hidden { .. } => "take it out: only line breaks and tabs may be in a text",
            Self::Secret { .. } => "leave the value out and say where it is kept",
            Self::NoKind => "say it: pattern, rule, decision or issue",
        }
    }
}

impl NewDiscovery {
    /// What the store keeps. `by` is who adds it, or the file it is imported from.
    pub fn check(self, by: &str, now: Timestamp) -> Result<StoredDiscovery, Refused> {
        let content = self.content.replace("\r\n", "\n").trim().to_owned();
        if content.is_empty() {
            return Err(Refused::Empty);
        }
        bounded("text", &content, MAX_CONTENT)?;
        let (title, module) = (plain(self.title), plain(self.module));
        let session = plain(self.session);
        let tags: Vec<_> = self.tags.into_iter().filter_map(|tag| plain(Some(tag))).collect();
        if tags.len() > MAX_TAGS {
            return Err(Refused::TooManyTags { size: tags.len() });
        }
        for (what, text, limit) in [
            ("title", &title, MAX_TITLE),
            ("module", &module, MAX_NAME),
            ("session", &session, MAX_NAME),
        ] {
            text.iter().try_for_each(|text| bounded(what, text, limit))?;
        }
        tags.iter().try_for_each(|tag| bounded("tag", tag, MAX_NAME))?;
        let all = [title.as_deref(), module.as_deref(), session.as_deref(), Some(&content)];
        let all = all.into_iter().flatten().chain(tags.iter().map(String::as_str));
        if let Some(rule) = all.into_iter().find_map(secrets::find) {
            return Err(Refused::Secret { what: rule.what, rule: rule.id });
        }
        let kind = self.kind.or_else(|| classify::by_wording(&content)).ok_or(Refused::NoKind)?;
        let id = id_of(&[
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
            source: tidy_line(by, MAX_TITLE),
            session,
            // As the store keeps it.
            added_at: Timestamp::from_millisecond(self.date.unwrap_or(now).as_millisecond())
                .unwrap_or(now),
            tags,
        })
    }
}

/// On one line; None where nothing is left.
fn plain(text: Option<String>) -> Option<String> {
    let words: Vec<_> = text.iter().flat_map(|text| text.split_whitespace()).collect();
    Some(words.join(" ")).filter(|text| !text.is_empty())
}

fn bounded(what: &'static str, text: &str, limit: usize) -> Result<(), Refused> {
    let size = text.chars().count();
    if size > limit {
        return Err(Refused::TooLong { what, size, limit });
    }
    match text.chars().find(|c| text::is_hidden(*c)) {
        Some(character) => {
            Err(Refused::Hidden { what, character: text::one_line(&character.to_string()) })
        }
        None => Ok(()),
    }
}
