//! Analysis of one file for search: its chunks with their terms, and its discoveries.
//!
//! An analysis depends only on the file's path and content, on the role that the configuration gives to the path, and
//! on the versions of the analyzing code. So it is cached under a key that is computed from all of them.

use std::ops::Range;

use rank::{RankDocument, TermBag};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use source::{Chunk, FileRole, Language, build_outline};

use super::cache::ContentKey;
use super::embedding_text;
use super::state::MAX_DOCUMENTS;
use crate::discover::{
    self, Discovery, DiscoveryExtractor, DiscoveryFileKind, ExtractedDiscoveries, UncoveredSpan,
    UncoveredText,
};
use crate::excerpt::FileExcerpt;

/// Part of every key; incremented whenever the same file would be analyzed differently.
const VERSION: u32 = 5;

/// Searchable content of one file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct FileAnalysis {
    /// Display name of the language, if known.
    pub(crate) language: Option<Box<str>>,
    pub(crate) role: Option<FileRole>,
    pub(crate) chunks: Vec<FileChunk>,
    #[serde(with = "as_json")]
    pub(crate) discoveries: Vec<Discovery>,
    /// Features of the discoveries' texts, in the same order.
    pub(crate) discovery_features: Vec<TextFeatures>,
}

/// A chunk of a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct FileChunk {
    pub(crate) bytes: Range<u32>,
    /// Line numbers, starting at 1; the end is exclusive.
    pub(crate) lines: Range<u32>,
    /// Names that the chunk defines, one per line, the qualified name first.
    pub(crate) names: Box<str>,
    pub(crate) features: TextFeatures,
}

/// Search features of a text: its digest, embedding key and terms. The text itself is not kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TextFeatures {
    /// Digest of the text; documents with equal digests are shown once.
    pub(crate) digest: u64,
    /// Key of the text that is embedded.
    pub(crate) embedding_key: ContentKey,
    /// Terms, as written by [`rank::TermBag::to_bytes`].
    pub(crate) bag: Vec<u8>,
}

/// Leading bytes of a key that identify code versions and path role; the others identify path and content.
const VERSION_PREFIX_BYTES: usize = 4;

/// Returns the cache key of a file's analysis.
pub(crate) fn compute_analysis_key(
    place: Option<DiscoveryFileKind>,
    path: &str,
    excerpt: &FileExcerpt,
) -> ContentKey {
    let mut hash = Sha256::new();
    hash.update((path.len() as u64).to_le_bytes());
    hash.update(path);
    for before in [excerpt.bytes_before, excerpt.lines_before] {
        hash.update(before.to_le_bytes());
    }
    hash.update(&excerpt.content);
    let mut key = truncate_digest(&hash.finalize());
    key[..VERSION_PREFIX_BYTES].copy_from_slice(&compute_version_prefix(place));
    key
}

/// Returns true if the key matches the current code versions and configuration. A stored key may come from another
/// version, or from before the configuration changed.
pub(crate) fn is_current_key(key: &ContentKey, place: Option<DiscoveryFileKind>) -> bool {
    key.starts_with(&compute_version_prefix(place))
}

/// Returns the key prefix for the current code versions and the role of the path.
fn compute_version_prefix(place: Option<DiscoveryFileKind>) -> [u8; VERSION_PREFIX_BYTES] {
    let place: u32 = match place {
        None => 0,
        Some(DiscoveryFileKind::Memory) => 1,
        Some(DiscoveryFileKind::Record) => 2,
        Some(DiscoveryFileKind::Guide) => 3,
        Some(DiscoveryFileKind::Contributing) => 4,
        Some(DiscoveryFileKind::Source) => 5,
    };
    let mut hash = Sha256::new();
    for part in
        [VERSION, discover::EXTRACTION_VERSION, rank::bag::VERSION, embed::text::VERSION, place]
    {
        hash.update(part.to_le_bytes());
    }
    let mut prefix = [0; VERSION_PREFIX_BYTES];
    prefix.copy_from_slice(&hash.finalize()[..VERSION_PREFIX_BYTES]);
    prefix
}

/// Returns the key of an embedded text.
pub(crate) fn compute_embedding_key(text: &str) -> ContentKey {
    truncate_digest(&Sha256::digest(text))
}

/// Returns a digest for comparing texts; surrounding white space is ignored.
pub(crate) fn compute_text_digest(text: &str) -> u64 {
    let digest = Sha256::digest(text.trim());
    u64::from_le_bytes(digest[..8].try_into().expect("slice has eight bytes"))
}

fn truncate_digest(digest: &[u8]) -> ContentKey {
    let mut key = ContentKey::default();
    key.copy_from_slice(&digest[..size_of::<ContentKey>()]);
    key
}

impl FileAnalysis {
    /// Analyzes a file. Discoveries without a date stay undated, because the file's time is not part of its content.
    pub(crate) fn from_excerpt(
        places: &DiscoveryExtractor,
        path: &str,
        excerpt: &FileExcerpt,
    ) -> Self {
        let Some(text) = excerpt.text() else { return Self::default() };
        let (language, role) = (Language::detect(path, text), source::detect_role(path, text));
        let ExtractedDiscoveries { mut discoveries, .. } =
            places.extract_with_surplus(path, text, "");
        let discovery_features = discoveries
            .iter()
            .map(|discovery| TextFeatures::from_record_text(&discovery.searchable_text()))
            .collect();
        let room = MAX_DOCUMENTS.saturating_sub(discoveries.len());
        let chunks = split_into_chunks(places.classify_file(path), language, text, &discoveries)
            .into_iter()
            .filter_map(|chunk| {
                let body = slice_text(text, &chunk.bytes).filter(|body| !body.trim().is_empty())?;
                let qualified = chunk.name.as_deref().into_iter();
                let mut names: Vec<&str> = Vec::new();
                for name in qualified.chain(chunk.defines.iter().map(String::as_str)) {
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
                let embedding_text =
                    embedding_text::format_chunk(path, names.first().copied(), body);
                let prose = role == FileRole::Docs;
                let document =
                    RankDocument { text: body, path: Some(path), symbols: &names, prose };
                Some(FileChunk {
                    features: TextFeatures::new(body, &embedding_text, &document),
                    names: names.join("\n").into(),
                    bytes: shift_range(&chunk.bytes, excerpt.bytes_before),
                    lines: shift_range(&chunk.lines, excerpt.lines_before),
                })
            })
            .take(room)
            .collect();
        discoveries.iter_mut().for_each(|discovery| discovery.shift_lines(excerpt.lines_before));
        Self {
            language: language.map(|language| language.name().into()),
            role: Some(role),
            chunks,
            discoveries,
            discovery_features,
        }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("serializing plain data to memory cannot fail")
    }

    /// Parses the output of [`FileAnalysis::to_bytes`]; `None` for anything else.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let analysis: Self = postcard::from_bytes(bytes).ok()?;
        (analysis.discovery_features.len() == analysis.discoveries.len()).then_some(analysis)
    }
}

/// Splits a text into chunks. In source code, a discovery in a comment stays part of its chunk. In other files, text
/// that is a discovery is removed from the chunks, because it is a document of its own.
fn split_into_chunks(
    place: Option<DiscoveryFileKind>,
    language: Option<Language>,
    text: &str,
    discoveries: &[Discovery],
) -> Vec<Chunk> {
    if matches!(place, None | Some(DiscoveryFileKind::Source)) {
        return build_outline(language, text).chunks;
    }
    let Some(untold) = UncoveredText::from_text(text, discoveries) else { return Vec::new() };
    let chunks = build_outline(language, text).chunks.into_iter();
    chunks.flat_map(|chunk| split_outside_discoveries(&untold, &chunk, text)).collect()
}

/// Returns the parts of a chunk that are not discoveries.
fn split_outside_discoveries(untold: &UncoveredText, chunk: &Chunk, text: &str) -> Vec<Chunk> {
    let body = slice_text(text, &chunk.bytes).unwrap_or_default();
    let parts = untold.spans_within(body, chunk.bytes.start, chunk.lines.start).into_iter();
    let part = |UncoveredSpan { bytes, lines }: UncoveredSpan| {
        // Only the part that begins with the chunk's heading keeps its name.
        let is_named = bytes.start == chunk.bytes.start;
        let (name, defines) =
            if is_named { (chunk.name.clone(), chunk.defines.clone()) } else { (None, Vec::new()) };
        Chunk { bytes, lines, kind: chunk.kind, name, defines }
    };
    parts.map(part).collect()
}

/// Converts a range of an excerpt to a range of the file.
fn shift_range(range: &Range<u32>, before: u32) -> Range<u32> {
    range.start + before..range.end + before
}

fn slice_text<'a>(text: &'a str, bytes: &Range<u32>) -> Option<&'a str> {
    text.get(bytes.start as usize..bytes.end as usize)
}

impl TextFeatures {
    /// Computes the features of a discovery or a session.
    pub(crate) fn from_record_text(text: &str) -> Self {
        let embedding_text = embedding_text::format_record(text);
        Self::new(
            text,
            &embedding_text,
            &RankDocument { text, path: None, symbols: &[], prose: true },
        )
    }

    fn new(text: &str, embedding_text: &str, document: &RankDocument<'_>) -> Self {
        Self {
            digest: compute_text_digest(text),
            embedding_key: compute_embedding_key(embedding_text),
            bag: TermBag::from_document(document).to_bytes(),
        }
    }
}

/// Serializes discoveries as JSON, because their serde representation needs a self-describing format.
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
    fn key_is_current_only_for_its_path_role() {
        let key_for = |place, path: &str, content: &str, lines_before| {
            let content = content.as_bytes().to_vec();
            compute_analysis_key(
                place,
                path,
                &FileExcerpt { content, bytes_before: 0, lines_before },
            )
        };
        let memory = Some(DiscoveryFileKind::Memory);
        let key = key_for(memory, "notes/a.md", "text", 0);
        assert!(is_current_key(&key, memory));
        assert!(!is_current_key(&key, None));
        assert_eq!(key, key_for(memory, "notes/a.md", "text", 0));
        for other in [
            key_for(None, "notes/a.md", "text", 0),
            key_for(memory, "note/sa.md", "text", 0),
            key_for(memory, "notes/a.md", "texts", 0),
            key_for(memory, "notes/a.md", "text", 1),
        ] {
            assert_ne!(key, other);
        }
    }
}
