//! What is embedded for a document.

/// Of a piece of a file: where it is and what it is called say as much as what it says.
pub(crate) fn of_piece(path: &str, name: Option<&str>, text: &str) -> String {
    embed::text::of_code(path, name, text)
}

/// Of a discovery or a session: what it says.
pub(crate) fn of_record(text: &str) -> String {
    embed::text::of_prose(text)
}
