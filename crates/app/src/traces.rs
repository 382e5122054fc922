//! Trace files of `vouch ask`: one line per gate, in the state folder, private and bounded in size.
//!
//! Any number of processes may append. A full file is rotated to the old file, which is overwritten.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use host::trace::{AskTrace, AskTraceLine, ParsedTrace, parse_trace};
use rustix::fs::OFlags;
use store::StateDir;

use crate::config::Settings;
use crate::failure::{FailureExt, Result};

const FILE: &str = "traces.jsonl";
const OLD_FILE: &str = "traces.old.jsonl";
/// Maximum file size, about ten thousand queries.
const MAX_BYTES: u64 = 8 << 20;

/// The trace files of a project.
pub struct TraceFiles {
    folder: PathBuf,
    max_bytes: u64,
}

impl TraceFiles {
    /// Returns the trace files of this project.
    pub fn in_project(settings: &Settings) -> Self {
        Self { folder: settings.state_folder.clone(), max_bytes: MAX_BYTES }
    }

    /// Appends the lines of one trace.
    pub fn append_trace(&self, trace: &AskTrace) -> Result {
        StateDir::open(&self.folder)?;
        self.append_lines(&trace.to_jsonl()).explain("failed to write the trace")
    }

    fn append_lines(&self, lines: &str) -> io::Result<()> {
        let path = self.folder.join(FILE);
        loop {
            // Symlinks are not followed, because the lines are private.
            let mut file = OpenOptions::new()
                .read(true)
                .append(true)
                .create(true)
                .mode(0o600)
                .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
                .open(&path)?;
            file.lock()?;
            if !is_same_file(&file, &path) {
                // Another process rotated the file while this one waited for the lock.
                continue;
            }
            if file.metadata()?.len() >= self.max_bytes {
                std::fs::rename(&path, self.folder.join(OLD_FILE))?;
                continue;
            }
            // A killed process may have left an incomplete line.
            let heal = if ends_with_newline(&mut file)? { "" } else { "\n" };
            return file.write_all(format!("{heal}{lines}").as_bytes());
        }
    }

    /// Returns all lines, oldest first; empty if there are no traces yet.
    pub fn read_lines(&self) -> Result<ParsedTrace> {
        let mut kept = ParsedTrace::default();
        for name in [OLD_FILE, FILE] {
            let path = self.folder.join(name);
            let text = match std::fs::read(&path) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => {
                    return Err(error).explain(format!("failed to read {}", path.display()));
                }
            };
            let part = parse_trace(&String::from_utf8_lossy(&text));
            kept.lines.extend(part.lines);
            kept.unreadable += part.unreadable;
        }
        Ok(kept)
    }
}

/// Groups the lines by query, in the order in which the queries began.
pub fn group_by_ask(lines: Vec<AskTraceLine>) -> Vec<Vec<AskTraceLine>> {
    let mut places = std::collections::HashMap::new();
    let mut asks: Vec<Vec<AskTraceLine>> = Vec::new();
    for line in lines {
        let place = *places.entry(line.ask.clone()).or_insert(asks.len());
        if place == asks.len() {
            asks.push(Vec::new());
        }
        asks[place].push(line);
    }
    asks
}

/// Returns true if the path still names the open file.
fn is_same_file(file: &File, path: &Path) -> bool {
    let id = |meta: std::fs::Metadata| (meta.dev(), meta.ino());
    let (here, there) = (file.metadata().map(id), std::fs::symlink_metadata(path).map(id));
    matches!((here, there), (Ok(here), Ok(there)) if here == there)
}

fn ends_with_newline(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(true);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn line(ask: &str) -> String {
        format!(
            "{{\"ask\":\"{ask}\",\"time\":\"t\",\"gate\":0,\"name\":\"n\",\"verdict\":\"pass\",\"detail\":\"d\",\
             \"elapsedUs\":1}}\n"
        )
    }

    #[test]
    fn rotates_full_file() {
        let folder = tempfile::tempdir().unwrap();
        let traces =
            TraceFiles { folder: folder.path().to_owned(), max_bytes: 2 * line("a").len() as u64 };
        for ask in ["a", "b", "c", "d", "e"] {
            traces.append_lines(&line(ask)).unwrap();
        }
        let kept = traces.read_lines().unwrap();
        let asks: Vec<_> = kept.lines.iter().map(|line| line.ask.as_str()).collect();
        assert_eq!(asks, ["c", "d", "e"]);
        let mode = folder.path().join(FILE).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn incomplete_line_does_not_affect_others() {
        let folder = tempfile::tempdir().unwrap();
        let traces = TraceFiles { folder: folder.path().to_owned(), max_bytes: MAX_BYTES };
        traces.append_lines(&line("a")).unwrap();
        let text = line("torn");
        std::fs::write(folder.path().join(FILE), format!("{}{}", line("a"), &text[..20])).unwrap();
        traces.append_lines(&line("b")).unwrap();
        let kept = traces.read_lines().unwrap();
        assert_eq!((kept.lines.len(), kept.unreadable), (2, 1));
    }

    #[test]
    fn does_not_follow_symlinks() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        std::fs::write(&target, "").unwrap();
        std::os::unix::fs::symlink(&target, folder.path().join(FILE)).unwrap();
        let traces = TraceFiles { folder: folder.path().to_owned(), max_bytes: MAX_BYTES };
        assert!(traces.append_lines(&line("a")).is_err());
        assert_eq!(std::fs::read_to_string(target).unwrap(), "");
    }
}
