//! Formats the texts that are embedded for documents.

/// Returns the embedding text of a chunk. It includes the path and name, which carry as much meaning as the text.
pub(crate) fn format_chunk(path: &str, name: Option<&str>, text: &str) -> String {
    embed::text::prepare_code(path, name, text)
}

/// Returns the embedding text of a discovery or a session.
pub(crate) fn format_record(text: &str) -> String {
    embed::text::prepare_prose(text)
}
