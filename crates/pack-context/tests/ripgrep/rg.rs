//! Runs ripgrep and parses its output.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use crate::patterns::GrepQuery;

/// Excluded and blocked names of the tools, as ignore rules for ripgrep.
const EXCLUDED: &str = "node_modules/\n.git/\ndist/\nbuild/\n.next/\n.context/\n.vouch/\n\
                        .env*\n*secret*\n*credential*\n*.key\n*.pem\nnode_modules\n";

pub(crate) struct Ripgrep {
    program: String,
    rules: tempfile::NamedTempFile,
}

/// One matching line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GrepLine {
    pub(crate) file: String,
    pub(crate) line: u64,
    pub(crate) column: Option<u64>,
    pub(crate) text: String,
}

impl Ripgrep {
    pub(crate) fn new() -> Self {
        let program =
            std::env::var("RIPGREP_BIN").expect("RIPGREP_BIN must be the path of ripgrep");
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

    /// Returns the files that match the glob, or `None` if the glob is invalid.
    ///
    /// A ripgrep glob alone also includes ignored files; here it only filters.
    pub(crate) fn files_matching(
        &self,
        root: &Path,
        glob: Option<&str>,
    ) -> Option<BTreeSet<String>> {
        let mut files = self.list_files(root, None)?;
        if let Some(glob) = glob {
            let globbed = self.list_files(root, Some(glob))?;
            files.retain(|file| globbed.contains(file));
        }
        Some(files)
    }

    fn list_files(&self, root: &Path, glob: Option<&str>) -> Option<BTreeSet<String>> {
        let mut command = self.command(root);
        command.args(["--files", "./"]).args(glob.map(|glob| format!("--glob={glob}")));
        let output = command.output().unwrap();
        if output.status.code() == Some(2) && output.stdout.is_empty() {
            return None;
        }
        let text = String::from_utf8(output.stdout).unwrap();
        Some(text.lines().map(|line| line.trim_start_matches("./").to_owned()).collect())
    }

    /// Returns the number of matching lines per file, or `None` if the pattern is invalid.
    pub(crate) fn count_matches(
        &self,
        root: &Path,
        query: &GrepQuery,
    ) -> Option<BTreeMap<String, u64>> {
        let counts = self.run(root, query, &["--count", "--with-filename", "--null"])?;
        let counts = counts.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        Some(counts.map(|line| parse_count(std::str::from_utf8(line).unwrap())).collect())
    }

    /// Returns the first matching lines of each file, in any order.
    pub(crate) fn search(
        &self,
        root: &Path,
        query: &GrepQuery,
        max_per_file: usize,
    ) -> Option<Vec<GrepLine>> {
        let output =
            self.run(root, query, &["--json", "--max-count", &max_per_file.to_string()])?;
        let messages = String::from_utf8(output).unwrap();
        let matches = messages.lines().filter(|line| line.starts_with(r#"{"type":"match""#));
        Some(matches.map(|line| RgMessage::parse(line).data.into_line()).collect())
    }

    fn run(&self, root: &Path, query: &GrepQuery, options: &[&str]) -> Option<Vec<u8>> {
        let mut command = self.command(root);
        command.args(options).arg(if query.case_sensitive { "-s" } else { "-i" });
        command.arg("-e").arg(&query.pattern).arg("./");
        let output = command.output().unwrap();
        let rejected = output.status.code() == Some(2) && output.stdout.is_empty();
        (!rejected).then_some(output.stdout)
    }
}

fn parse_count(line: &str) -> (String, u64) {
    let (file, count) = line.split_once('\0').unwrap();
    (file.trim_start_matches("./").to_owned(), count.parse().unwrap())
}

#[derive(Deserialize)]
struct RgMessage {
    data: RgMatch,
}

impl RgMessage {
    /// Parses a message, keeping only the first match of the line: a pattern like `.` matches every character.
    ///
    /// Quotes inside texts are escaped, so the separator between matches can be found by a plain search.
    fn parse(message: &str) -> Self {
        let shortened =
            message.split_once(r#"},{"match":"#).map(|(first, _)| format!("{first}}}]}}}}"));
        serde_json::from_str(shortened.as_deref().unwrap_or(message)).unwrap()
    }
}

#[derive(Deserialize)]
struct RgMatch {
    path: RgText,
    lines: RgText,
    line_number: u64,
    submatches: Vec<RgSubmatch>,
}

#[derive(Deserialize)]
struct RgText {
    text: Option<String>,
    /// Base64, if the text is not UTF-8.
    bytes: Option<String>,
}

#[derive(Deserialize)]
struct RgSubmatch {
    start: usize,
}

impl RgMatch {
    fn into_line(self) -> GrepLine {
        let bytes = match self.lines.text {
            Some(text) => text.into_bytes(),
            None => STANDARD.decode(self.lines.bytes.unwrap()).unwrap(),
        };
        let column = |first: &RgSubmatch| {
            String::from_utf8_lossy(&bytes[..first.start]).chars().count() as u64 + 1
        };
        let column = self.submatches.first().map(column);
        let text = String::from_utf8_lossy(&bytes);
        let text = text.strip_suffix('\n').unwrap_or(&text);
        GrepLine {
            file: self.path.text.unwrap().trim_start_matches("./").to_owned(),
            line: self.line_number,
            column,
            text: text.strip_suffix('\r').unwrap_or(text).to_owned(),
        }
    }
}
