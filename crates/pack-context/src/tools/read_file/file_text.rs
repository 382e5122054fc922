//! Reads a whole file as text, within the size limit.

use std::io::Read as _;

use contract::{ErrorCode, ToolError};
use guard::{Guard, OpenedFile, PathRefusal, display_path};
use serde_json::json;

use super::{LoadedFile, MAX_FILE_BYTES, refusal_to_error};

/// Reads the whole file; returns an error if it is over the size limit, also if it grows while being read.
pub(super) fn read_whole_file(guard: &Guard, requested: &str) -> Result<LoadedFile, ToolError> {
    let opened =
        guard.open_file(requested).map_err(|refusal| refusal_to_error(&refusal, requested))?;
    let failed = |error| refusal_to_error(&PathRefusal::IoFailed(error), requested);
    let OpenedFile { file, metadata, path } = opened;
    if metadata.len() > MAX_FILE_BYTES {
        return Err(too_large_error(requested, metadata.len()));
    }
    let expected = usize::try_from(metadata.len()).unwrap_or_default();
    let mut bytes = Vec::with_capacity(expected + 1);
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(too_large_error(requested, bytes.len() as u64));
    }
    Ok(LoadedFile { path, bytes, modified: metadata.modified().map_err(failed)? })
}

fn too_large_error(requested: &str, size: u64) -> ToolError {
    let path = display_path(requested);
    ToolError::new(
        ErrorCode::TooLarge,
        format!(
            "`{path}` has {size} bytes, over the limit of {MAX_FILE_BYTES} for one read; search it with \
             `grep_codebase`"
        ),
    )
    .with_detail("path", path)
    .with_detail("limit", MAX_FILE_BYTES)
    .with_detail("size", size)
}

/// Decodes UTF-8; the error names the invalid byte and the tool that can read other content.
pub(super) fn decode_utf8(requested: &str, bytes: Vec<u8>) -> Result<String, ToolError> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let path = display_path(requested);
        let message = format!(
            "`{path}` is not UTF-8 text (invalid byte at offset {at}); read it with `read_repo_file` and encoding `base64`"
        );
        ToolError::new(ErrorCode::InvalidInput, message)
            .with_detail("fallback", json!({"tool": "read_repo_file", "path": path, "encoding": "base64"}))
            .with_detail("path", path)
    })
}

/// Returns the number of lines as editors count them: a last line without a line break counts.
pub(super) fn count_lines(text: &str) -> u64 {
    let breaks = text.bytes().filter(|byte| *byte == b'\n').count();
    (breaks + usize::from(!text.is_empty() && !text.ends_with('\n'))) as u64
}
