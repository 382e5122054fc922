//! One file read whole, within its bound, and as text.

use std::io::Read as _;

use contract::{Code, ToolError};
use guard::{Guard, OpenedFile, Refusal, shown};
use serde_json::json;

use super::{MAX_FILE_BYTES, Read, refused};

/// The whole file, unless it is over the limit; a file that grows meanwhile is cut off at the limit, not followed.
pub(super) fn read(guard: &Guard, asked: &str) -> Result<Read, ToolError> {
    let opened = guard.open_file(asked).map_err(|refusal| refused(&refusal, asked))?;
    let failed = |error| refused(&Refusal::Failed(error), asked);
    let OpenedFile { file, metadata, path } = opened;
    if metadata.len() > MAX_FILE_BYTES {
        return Err(too_large(asked, metadata.len()));
    }
    let expected = usize::try_from(metadata.len()).unwrap_or_default();
    let mut bytes = Vec::with_capacity(expected + 1);
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(too_large(asked, bytes.len() as u64));
    }
    Ok(Read { path, bytes, modified: metadata.modified().map_err(failed)? })
}

fn too_large(asked: &str, size: u64) -> ToolError {
    let asked = shown(asked);
    ToolError::new(
        Code::TooLarge,
        format!(
            "`{asked}` has {size} bytes, over the limit of {MAX_FILE_BYTES} for one read; look into it with \
             `grep_codebase`"
        ),
    )
    .with("path", asked)
    .with("limit", MAX_FILE_BYTES)
    .with("size", size)
}

/// Text, or an error that says where it is none and what reads such bytes.
pub(super) fn decode(asked: &str, bytes: Vec<u8>) -> Result<String, ToolError> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let asked = shown(asked);
        let message = format!(
            "`{asked}` is not UTF-8 text (byte {at} is not); read its bytes with `read_repo_file` and encoding `base64`"
        );
        ToolError::new(Code::InvalidInput, message)
            .with("fallback", json!({"tool": "read_repo_file", "path": asked, "encoding": "base64"}))
            .with("path", asked)
    })
}

/// As editors count: a last line without a line break is one.
pub(super) fn lines(text: &str) -> u64 {
    let breaks = text.bytes().filter(|byte| *byte == b'\n').count();
    (breaks + usize::from(!text.is_empty() && !text.ends_with('\n'))) as u64
}
