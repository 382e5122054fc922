//! What one file says, as far as a search needs it: its pieces with their words, and the discoveries in it.
//!
//! An analysis is a function of a file's path and content, of the place that the configuration makes of the path, and of
//! the versions of the code that makes it. So it can be cached by a key that is made of all of them.

use std::ops::Range;

use rank::{Bag, Document};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use source::{Chunk, Language, Role, outline};

use super::cache::Key;
use super::state::MAX_DOCUMENTS;
use super::texts;
use crate::discover::{self, Discovery, Noted, Part, Place, Places, Untold};
use crate::excerpt::Excerpt;

/// Part of every key: raised whenever the same file would be analysed differently.
const VERSION: u32 = 5;

/// What one file says.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Analysis {
    /// The name people use, where it is known.
    pub(crate) language: Option<Box<str>>,
    pub(crate) role: Option<Role>,
    pub(crate) pieces: Vec<Piece>,
    #[serde(with = "as_json")]
    pub(crate) discoveries: Vec<Discovery>,
    /// The bags and the text keys of the discoveries, in their order.
    pub(crate) said: Vec<Said>,
}

/// A piece of a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Piece {
    pub(crate) bytes: Range<u32>,
    /// Counted from 1; the end is the line after the last.
    pub(crate) lines: Range<u32>,
    /// The names that it defines, the qualified one first, one on each line.
    pub(crate) names: Box<str>,
    pub(crate) said: Said,
}

/// A text, without the text.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Said {
    /// Of the text itself: who says the same is shown once.
    pub(crate) digest: u64,
    /// Of what is embedded of it.
    pub(crate) embedded: Key,
    /// [`rank::Bag::to_bytes`].
    pub(crate) bag: Vec<u8>,
}

/// How many bytes of a key tell the manner of the analysis; the others tell path and content.
const MANNER_BYTES: usize = 4;

/// Names what a file says.
pub(crate) fn key_of(place: Option<Place>, path: &str, excerpt: &Excerpt) -> Key {
    let mut hash = Sha256::new();
    hash.update((path.len() as u64).to_le_bytes());
    hash.update(path);
    for before in [excerpt.bytes_before, excerpt.lines_before] {
        hash.update(before.to_le_bytes());
    }
    hash.update(&excerpt.content);
    let mut key = short(&hash.finalize());
    key[..MANNER_BYTES].copy_from_slice(&manner_of(place));
    key
}

/// Whether a file whose content is still the same has this key today. The key of a file that need not be read may be
/// from another version, or from before the configuration changed.
pub(crate) fn is_of_today(key: &Key, place: Option<Place>) -> bool {
    key.starts_with(&manner_of(place))
}

/// What decides beside path and content.
fn manner_of(place: Option<Place>) -> [u8; MANNER_BYTES] {
    let place: u32 = match place {
        None => 0,
        Some(Place::Memory) => 1,
        Some(Place::Record) => 2,
        Some(Place::Guide) => 3,
        Some(Place::Contributing) => 4,
        Some(Place::Source) => 5,
    };
    let mut hash = Sha256::new();
    for part in [VERSION, discover::VERSION, rank::bag::VERSION, embed::text::VERSION, place] {
        hash.update(part.to_le_bytes());
    }
    let mut manner = [0; MANNER_BYTES];
    manner.copy_from_slice(&hash.finalize()[..MANNER_BYTES]);
    manner
}

/// The digest that names a text that is embedded.
pub(crate) fn key_of_text(text: &str) -> Key {
    short(&Sha256::digest(text))
}

/// The digest that tells whether two texts say the same; white space around them does not count.
pub(crate) fn digest_of(text: &str) -> u64 {
    let digest = Sha256::digest(text.trim());
    u64::from_le_bytes(digest[..8].try_into().expect("eight bytes are eight bytes"))
}

fn short(digest: &[u8]) -> Key {
    let mut key = Key::default();
    key.copy_from_slice(&digest[..size_of::<Key>()]);
    key
}

impl Analysis {
    /// Discoveries that have no date of their own get none here: a file's time is no part of what it says.
    pub(crate) fn of(places: &Places, path: &str, excerpt: &Excerpt) -> Self {
        let Some(text) = excerpt.text() else { return Self::default() };
        let (language, role) = (Language::of(path, text), source::role_of(path, text));
        let Noted { mut discoveries, .. } = places.look_at(path, text, "");
        let said = discoveries.iter().map(|discovery| Said::of_record(&discovery.text())).collect();
        let room = MAX_DOCUMENTS.saturating_sub(discoveries.len());
        let pieces = chunks_of(places.of(path), language, text, &discoveries)
            .into_iter()
            .filter_map(|chunk| {
                let body = slice(text, &chunk.bytes).filter(|body| !body.trim().is_empty())?;
                let qualified = chunk.name.as_deref().into_iter();
                let mut names: Vec<&str> = Vec::new();
                for name in qualified.chain(chunk.defines.iter().map(String::as_str)) {
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
                let embedded = texts::of_piece(path, names.first().copied(), body);
                let prose = role == Role::Docs;
                let document = Document { text: body, path: Some(path), symbols: &names, prose };
                Some(Piece {
                    said: Said::new(body, &embedded, &document),
                    names: names.join("\n").into(),
                    bytes: moved(&chunk.bytes, excerpt.bytes_before),
                    lines: moved(&chunk.lines, excerpt.lines_before),
                })
            })
            .take(room)
            .collect();
        discoveries.iter_mut().for_each(|discovery| discovery.move_down(excerpt.lines_before));
        Self {
            language: language.map(|language| language.name().into()),
            role: Some(role),
            pieces,
            discoveries,
            said,
        }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("plain data in memory can be written")
    }

    /// None for anything that [`Analysis::to_bytes`] did not write.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let analysis: Self = postcard::from_bytes(bytes).ok()?;
        (analysis.said.len() == analysis.discoveries.len()).then_some(analysis)
    }
}

/// What of a text is found as text. A comment that asks for work is part of its code; elsewhere a statement that is a
/// discovery is found as that.
fn chunks_of(
    place: Option<Place>,
    language: Option<Language>,
    text: &str,
    discoveries: &[Discovery],
) -> Vec<Chunk> {
    if matches!(place, None | Some(Place::Source)) {
        return outline(language, text).chunks;
    }
    let Some(untold) = Untold::of(text, discoveries) else { return Vec::new() };
    let chunks = outline(language, text).chunks.into_iter();
    chunks.flat_map(|chunk| untold_of(&untold, &chunk, text)).collect()
}

fn untold_of(untold: &Untold, chunk: &Chunk, text: &str) -> Vec<Chunk> {
    let body = slice(text, &chunk.bytes).unwrap_or_default();
    let parts = untold.within(body, chunk.bytes.start, chunk.lines.start).into_iter();
    let part = |Part { bytes, lines }: Part| {
        // What is called so begins with its heading; a rest of it is not what somebody asks for by that name.
        let is_named = bytes.start == chunk.bytes.start;
        let (name, defines) =
            if is_named { (chunk.name.clone(), chunk.defines.clone()) } else { (None, Vec::new()) };
        Chunk { bytes, lines, kind: chunk.kind, name, defines }
    };
    parts.map(part).collect()
}

/// A range of an excerpt as one of the file.
fn moved(range: &Range<u32>, before: u32) -> Range<u32> {
    range.start + before..range.end + before
}

fn slice<'a>(text: &'a str, bytes: &Range<u32>) -> Option<&'a str> {
    text.get(bytes.start as usize..bytes.end as usize)
}

impl Said {
    /// Of a discovery or a session, which is embedded as it is.
    pub(crate) fn of_record(text: &str) -> Self {
        let embedded = texts::of_record(text);
        Self::new(text, &embedded, &Document { text, path: None, symbols: &[], prose: true })
    }

    fn new(text: &str, embedded: &str, document: &Document<'_>) -> Self {
        Self {
            digest: digest_of(text),
            embedded: key_of_text(embedded),
            bag: Bag::of(document).to_bytes(),
        }
    }
}

/// Discoveries say of themselves what they are, which needs a format that does too.
mod as_json {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::discover::Discovery;

    pub(super) fn serialize<S: Serializer>(value: &[Discovery], out: S) -> Result<S::Ok, S::Error> {
        let json = match value {
            [] => String::new(),
            some => serde_json::to_string(some).map_err(serde::ser::Error::custom)?,
        };
        json.serialize(out)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        input: D,
    ) -> Result<Vec<Discovery>, D::Error> {
        let json = String::deserialize(input)?;
        if json.is_empty() {
            return Ok(Vec::new());
        }
        serde_json::from_str(&json).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_of_today_for_its_place_only() {
        let of = |place, path: &str, content: &str, lines_before| {
            let content = content.as_bytes().to_vec();
            key_of(place, path, &Excerpt { content, bytes_before: 0, lines_before })
        };
        let memory = Some(Place::Memory);
        let key = of(memory, "notes/a.md", "text", 0);
        assert!(is_of_today(&key, memory));
        assert!(!is_of_today(&key, None));
        assert_eq!(key, of(memory, "notes/a.md", "text", 0));
        for other in [
            of(None, "notes/a.md", "text", 0),
            of(memory, "note/sa.md", "text", 0),
            of(memory, "notes/a.md", "texts", 0),
            of(memory, "notes/a.md", "text", 1),
        ] {
            assert_ne!(key, other);
        }
    }
}
