//! The traces of asks on disk: one line for each gate, in the state folder, private and bounded.
//!
//! Any number of processes append. When the file is full it becomes the old one, and the old one before it goes.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use host::trace::{Kept, Line, Trace, parse};
use rustix::fs::OFlags;
use store::StateDir;

use crate::config::Settings;
use crate::failure::{Explain, Result};

const FILE: &str = "traces.jsonl";
const OLD: &str = "traces.old.jsonl";
/// Some ten thousand asks.
const MAX_BYTES: u64 = 8 << 20;

/// Where the traces of a project are.
pub struct Traces {
    folder: PathBuf,
    max_bytes: u64,
}

impl Traces {
    /// Returns the traces of this project.
    pub fn of(settings: &Settings) -> Self {
        Self { folder: settings.state_folder.clone(), max_bytes: MAX_BYTES }
    }

    /// Appends the lines of one trace.
    pub fn append(&self, trace: &Trace) -> Result {
        StateDir::open(&self.folder)?;
        self.put(&trace.to_jsonl()).explain("cannot write the trace of the ask")
    }

    fn put(&self, lines: &str) -> io::Result<()> {
        let path = self.folder.join(FILE);
        loop {
            // No link is followed: what is written here is private.
            let mut file = OpenOptions::new()
                .read(true)
                .append(true)
                .create(true)
                .mode(0o600)
                .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
                .open(&path)?;
            file.lock()?;
            if !is_still(&file, &path) {
                // Somebody made it the old one while we waited.
                continue;
            }
            if file.metadata()?.len() >= self.max_bytes {
                std::fs::rename(&path, self.folder.join(OLD))?;
                continue;
            }
            // A process that was killed may have left half a line.
            let heal = if ends_whole(&mut file)? { "" } else { "\n" };
            return file.write_all(format!("{heal}{lines}").as_bytes());
        }
    }

    /// All lines, the oldest first; none where nothing was asked yet.
    pub fn read(&self) -> Result<Kept> {
        let mut kept = Kept::default();
        for name in [OLD, FILE] {
            let path = self.folder.join(name);
            let text = match std::fs::read(&path) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => {
                    return Err(error).explain(format!("cannot read {}", path.display()));
                }
            };
            let part = parse(&String::from_utf8_lossy(&text));
            kept.lines.extend(part.lines);
            kept.unreadable += part.unreadable;
        }
        Ok(kept)
    }
}

/// The lines by ask, in the order in which the asks began.
pub fn by_ask(lines: Vec<Line>) -> Vec<Vec<Line>> {
    let mut places = std::collections::HashMap::new();
    let mut asks: Vec<Vec<Line>> = Vec::new();
    for line in lines {
        let place = *places.entry(line.ask.clone()).or_insert(asks.len());
        if place == asks.len() {
            asks.push(Vec::new());
        }
        asks[place].push(line);
    }
    asks
}

fn is_still(file: &File, path: &Path) -> bool {
    let id = |meta: std::fs::Metadata| (meta.dev(), meta.ino());
    let (here, there) = (file.metadata().map(id), std::fs::symlink_metadata(path).map(id));
    matches!((here, there), (Ok(here), Ok(there)) if here == there)
}

fn ends_whole(file: &mut File) -> io::Result<bool> {
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
    fn a_full_file_becomes_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let traces =
            Traces { folder: folder.path().to_owned(), max_bytes: 2 * line("a").len() as u64 };
        for ask in ["a", "b", "c", "d", "e"] {
            traces.put(&line(ask)).unwrap();
        }
        let kept = traces.read().unwrap();
        let asks: Vec<_> = kept.lines.iter().map(|line| line.ask.as_str()).collect();
        assert_eq!(asks, ["c", "d", "e"]);
        let mode = folder.path().join(FILE).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn half_a_line_costs_itself_only() {
        let folder = tempfile::tempdir().unwrap();
        let traces = Traces { folder: folder.path().to_owned(), max_bytes: MAX_BYTES };
        traces.put(&line("a")).unwrap();
        let text = line("torn");
        std::fs::write(folder.path().join(FILE), format!("{}{}", line("a"), &text[..20])).unwrap();
        traces.put(&line("b")).unwrap();
        let kept = traces.read().unwrap();
        assert_eq!((kept.lines.len(), kept.unreadable), (2, 1));
    }

    #[test]
    fn no_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        std::fs::write(&target, "").unwrap();
        std::os::unix::fs::symlink(&target, folder.path().join(FILE)).unwrap();
        let traces = Traces { folder: folder.path().to_owned(), max_bytes: MAX_BYTES };
        assert!(traces.put(&line("a")).is_err());
        assert_eq!(std::fs::read_to_string(target).unwrap(), "");
    }
}
