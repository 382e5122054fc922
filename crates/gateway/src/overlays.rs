//! The operator's overlays on disk: `<contracts>/<upstream>/<tool>.json`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::time::SystemTime;

use admit::{Overlay, OverlayError};

/// Far more than any contract takes; a larger file is something else.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// Why an overlay cannot be used. `file` is as people write it, below the folder of the overlays.
#[derive(Debug, thiserror::Error)]
pub enum OverlayFileError {
    #[error("cannot read {file}")]
    Read { file: String, source: io::Error },
    #[error("{file} has more than {MAX_FILE_BYTES} bytes, which no overlay has")]
    TooLarge { file: String },
    #[error("{file} is not an overlay")]
    Invalid { file: String, source: OverlayError },
}

/// The overlays of one upstream by the tool's own name; none where there is no folder. `shown` is the folder in messages.
pub fn read_overlays(
    contracts: &Path,
    shown: &str,
    upstream: &str,
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
        let overlay = read_overlay(&entry.path(), file)?;
        overlays.insert(tool.to_owned(), overlay);
    }
    Ok(overlays)
}

/// What tells one state of an upstream's folder from another without reading it: each file with its time and size.
pub(crate) type Stamp = Vec<(OsString, Option<SystemTime>, u64)>;

pub(crate) fn stamp(contracts: &Path, upstream: &str) -> Stamp {
    let Ok(entries) = std::fs::read_dir(contracts.join(upstream)) else { return Vec::new() };
    let mut files: Vec<_> = entries
        .flatten()
        .filter_map(|entry| {
            // Not the entry's own: a link is what it leads to.
            let meta = std::fs::metadata(entry.path()).ok()?;
            Some((entry.file_name(), meta.modified().ok(), meta.len()))
        })
        .collect();
    files.sort_unstable();
    files
}

fn read_overlay(path: &Path, file: String) -> Result<Overlay, OverlayFileError> {
    let text = match std::fs::metadata(path) {
        Ok(meta) if meta.len() > MAX_FILE_BYTES => return Err(OverlayFileError::TooLarge { file }),
        Ok(_) => std::fs::read_to_string(path),
        Err(error) => Err(error),
    };
    let text = match text {
        Ok(text) => text,
        Err(source) => return Err(OverlayFileError::Read { file, source }),
    };
    Overlay::parse(&text).map_err(|source| OverlayFileError::Invalid { file, source })
}
