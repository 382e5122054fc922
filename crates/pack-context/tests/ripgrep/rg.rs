//! What ripgrep says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use crate::patterns::Query;

/// What no tool of ours shows, as rules for ripgrep.
const EXCLUDED: &str = "node_modules/\n.git/\ndist/\nbuild/\n.next/\n.context/\n.vouch/\n\
                        .env*\n*secret*\n*credential*\n*.key\n*.pem\nnode_modules\n";

pub(crate) struct Ripgrep {
    program: String,
    rules: tempfile::NamedTempFile,
}

/// One matching line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) file: String,
    pub(crate) line: u64,
    pub(crate) column: Option<u64>,
    pub(crate) text: String,
}

impl Ripgrep {
    pub(crate) fn new() -> Self {
        let program =
            std::env::var("RIPGREP_BIN").expect("RIPGREP_BIN should name ripgrep's program");
        let rules = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(rules.path(), EXCLUDED).unwrap();
        Self { program, rules }
    }

    fn command(&self, root: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(root).args([
            "--no-config",
            "--no-require-git",
            "--ignore-file-case-insensitive",
        ]);
        command.arg("--ignore-file").arg(self.rules.path());
        command
    }

    /// The files that pass the glob. On its own a glob brings ignored files back; here it only filters.
    pub(crate) fn files(&self, root: &Path, glob: Option<&str>) -> Option<BTreeSet<String>> {
        let mut files = self.listed(root, None)?;
        if let Some(glob) = glob {
            let globbed = self.listed(root, Some(glob))?;
            files.retain(|file| globbed.contains(file));
        }
        Some(files)
    }

    fn listed(&self, root: &Path, glob: Option<&str>) -> Option<BTreeSet<String>> {
        let mut command = self.command(root);
        command.args(["--files", "./"]).args(glob.map(|glob| format!("--glob={glob}")));
        let output = command.output().unwrap();
        if output.status.code() == Some(2) && output.stdout.is_empty() {
            return None;
        }
        let text = String::from_utf8(output.stdout).unwrap();
        Some(text.lines().map(|line| line.trim_start_matches("./").to_owned()).collect())
    }

    /// How many lines of each file match; None if the pattern is refused.
    pub(crate) fn count(&self, root: &Path, query: &Query) -> Option<BTreeMap<String, u64>> {
        let counts = self.run(root, query, &["--count", "--with-filename", "--null"])?;
        let counts = counts.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        Some(counts.map(|line| count(std::str::from_utf8(line).unwrap())).collect())
    }

    /// The first matching lines of each file, in no order.
    pub(crate) fn search(&self, root: &Path, query: &Query, of_each: usize) -> Option<Vec<Line>> {
        let output = self.run(root, query, &["--json", "--max-count", &of_each.to_string()])?;
        let messages = String::from_utf8(output).unwrap();
        let matches = messages.lines().filter(|line| line.starts_with(r#"{"type":"match""#));
        Some(matches.map(|line| Message::parse(line).data.line()).collect())
    }

    fn run(&self, root: &Path, query: &Query, options: &[&str]) -> Option<Vec<u8>> {
        let mut command = self.command(root);
        command.args(options).arg(if query.case_sensitive { "-s" } else { "-i" });
        command.arg("-e").arg(&query.pattern).arg("./");
        let output = command.output().unwrap();
        let refused = output.status.code() == Some(2) && output.stdout.is_empty();
        (!refused).then_some(output.stdout)
    }
}

fn count(line: &str) -> (String, u64) {
    let (file, count) = line.split_once('\0').unwrap();
    (file.trim_start_matches("./").to_owned(), count.parse().unwrap())
}

#[derive(Deserialize)]
struct Message {
    data: Data,
}

impl Message {
    /// Only the first match on a line is of interest, and a pattern like `.` has one for each character. No quotation
    /// mark of a text is without its escape, so the signs that end a match are found by looking for them.
    fn parse(message: &str) -> Self {
        let shortened =
            message.split_once(r#"},{"match":"#).map(|(first, _)| format!("{first}}}]}}}}"));
        serde_json::from_str(shortened.as_deref().unwrap_or(message)).unwrap()
    }
}

#[derive(Deserialize)]
struct Data {
    path: Text,
    lines: Text,
    line_number: u64,
    submatches: Vec<Submatch>,
}

#[derive(Deserialize)]
struct Text {
    text: Option<String>,
    /// In base64, where it is not UTF-8.
    bytes: Option<String>,
}

#[derive(Deserialize)]
struct Submatch {
    start: usize,
}

impl Data {
    fn line(self) -> Line {
        let bytes = match self.lines.text {
            Some(text) => text.into_bytes(),
            None => STANDARD.decode(self.lines.bytes.unwrap()).unwrap(),
        };
        let column = |first: &Submatch| {
            String::from_utf8_lossy(&bytes[..first.start]).chars().count() as u64 + 1
        };
        let column = self.submatches.first().map(column);
        let text = String::from_utf8_lossy(&bytes);
        let text = text.strip_suffix('\n').unwrap_or(&text);
        Line {
            file: self.path.text.unwrap().trim_start_matches("./").to_owned(),
            line: self.line_number,
            column,
            text: text.strip_suffix('\r').unwrap_or(text).to_owned(),
        }
    }
}
