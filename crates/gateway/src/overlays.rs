//! Reads the operator's overlays from disk: `<contracts>/<upstream>/<tool>.json`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use admit::{Overlay, OverlayError};

use crate::file_trust::{FileTrust, read_trusted_file};

/// Maximum size of an overlay file, far more than any contract needs.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// An error in an overlay file. `file` is the path as shown to people.
#[derive(Debug, thiserror::Error)]
pub enum OverlayFileError {
    #[error("failed to read {file}")]
    Read { file: String, source: io::Error },
    #[error("{file} exceeds the overlay limit of {MAX_FILE_BYTES} bytes")]
    TooLarge { file: String },
    #[error("invalid overlay {file}")]
    Invalid { file: String, source: OverlayError },
}

/// Returns the overlays of one upstream by the server's tool names; empty if the folder does not exist. `shown` is the
/// folder in messages. With `trust`, an overlay that the user has not trusted is an error.
pub fn read_overlays(
    contracts: &Path,
    shown: &str,
    upstream: &str,
    trust: Option<&Arc<dyn FileTrust>>,
) -> Result<BTreeMap<String, Overlay>, OverlayFileError> {
    let folder = contracts.join(upstream);
    let shown = format!("{shown}/{upstream}");
    let mut overlays = BTreeMap::new();
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(overlays),
        Err(source) => return Err(OverlayFileError::Read { file: shown, source }),
    };
    for entry in entries {
        let entry =
            entry.map_err(|source| OverlayFileError::Read { file: shown.clone(), source })?;
        let name = entry.file_name();
        let Some(tool) = name.to_str().and_then(|name| name.strip_suffix(".json")) else {
            continue;
        };
        let file = format!("{shown}/{tool}.json");
        let overlay = read_overlay(&entry.path(), file, trust)?;
        overlays.insert(tool.to_owned(), overlay);
    }
    Ok(overlays)
}

/// Name, modification time and size of each file in an upstream's folder, to detect changes without reading them.
pub(crate) type OverlayFolderStamp = Vec<(OsString, Option<SystemTime>, u64)>;

/// Returns the current stamp of an upstream's folder.
pub(crate) fn read_stamp(contracts: &Path, upstream: &str) -> OverlayFolderStamp {
    let Ok(entries) = std::fs::read_dir(contracts.join(upstream)) else { return Vec::new() };
    let mut files: Vec<_> = entries
        .flatten()
        .filter_map(|entry| {
            // Follow symbolic links, unlike the entry's own metadata.
            let meta = std::fs::metadata(entry.path()).ok()?;
            Some((entry.file_name(), meta.modified().ok(), meta.len()))
        })
        .collect();
    files.sort_unstable();
    files
}

fn read_overlay(
    path: &Path,
    file: String,
    trust: Option<&Arc<dyn FileTrust>>,
) -> Result<Overlay, OverlayFileError> {
    let text = match read_trusted_file(trust, path, MAX_FILE_BYTES) {
        Ok(Some(text)) => text,
        Ok(None) => return Err(OverlayFileError::TooLarge { file }),
        Err(source) => return Err(OverlayFileError::Read { file, source }),
    };
    Overlay::parse(&text).map_err(|source| OverlayFileError::Invalid { file, source })
}
