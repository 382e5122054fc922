//! What ran, by line and branch of the source, and the reports of it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::fuzz::campaign::{Shared, cover};
use ::fuzz::config::{CoverageFormat, Settings};
use ::fuzz::target::Target;
use coverage::Report;
use globset::{Glob, GlobSet, GlobSetBuilder};
use jiff::Timestamp;
use tempfile::NamedTempFile;

use crate::failure::FailureKind;
use crate::failure::{Explain, Result};

/// The coverage that a campaign has reached.
pub struct Cover {
    target: Arc<Target>,
    pub report: Report,
    /// Outcomes of branches in code, which are more than those in source.
    pub branches: usize,
}

impl Cover {
    /// Takes the coverage of a campaign at this moment.
    pub fn of(shared: &Shared) -> Self {
        let target = shared.target.clone();
        let hits = shared.hits();
        let report = cover::report(&target, &hits);
        Self { report, branches: cover::branches(&hits), target }
    }

    /// Writes the reports that are wanted, where a folder for them is named; says which.
    pub fn write(&self, settings: &Settings, excludes: &GlobSet) -> Result<Vec<PathBuf>> {
        let Some(folder) = folder(settings) else { return Ok(Vec::new()) };
        let mut report = self.report.clone();
        report.files.retain(|file| !excludes.is_match(&file.path));
        let now = Timestamp::now().as_second();
        let mut written = Vec::new();
        for format in &settings.coverage_formats {
            let (ending, text) = match format {
                CoverageFormat::Text => ("txt", coverage::annotate(&report, &self.target.build)),
                CoverageFormat::Html => ("html", coverage::html(&report, &self.target.build)),
                CoverageFormat::Lcov => ("lcov", coverage::lcov(&report)),
            };
            let file = folder.join(format!("covered.{now}.{ending}"));
            replace(folder, &file, &text)
                .explain(format_args!("cannot write the report of coverage {}", file.display()))
                .hint("make room, or name another folder: --coverage-dir DIR")?;
            written.push(file);
        }
        Ok(written)
    }
}

/// Patterns of files that somebody does not want to see.
pub fn excludes(patterns: &[String]) -> Result<GlobSet> {
    let mut excludes = GlobSetBuilder::new();
    for pattern in patterns {
        let glob = Glob::new(pattern)
            .explain(format_args!("`{pattern}` in `coverageExcludes` is no pattern"))
            .hint("write it as \"lib/**\" or \"**/*.t.sol\"")
            .map_err(|failure| failure.with_kind(FailureKind::Usage))?;
        excludes.add(glob);
    }
    Ok(excludes.build()?)
}

/// Where reports go, if they go anywhere.
fn folder(settings: &Settings) -> Option<&Path> {
    settings.coverage_dir.as_deref().or(settings.corpus_dir.as_deref())
}

/// Makes the folder of the reports before anything is fuzzed: hours later is too late to find that it cannot be made. The
/// corpus makes its own.
pub(crate) fn make_folder(settings: &Settings) -> Result {
    let Some(folder) = &settings.coverage_dir else { return Ok(()) };
    std::fs::create_dir_all(folder)
        .explain(format_args!("cannot make the folder {}", folder.display()))
        .hint("name another one: --coverage-dir DIR")
}

/// All of the file or nothing: it is written beside its place.
fn replace(folder: &Path, file: &Path, text: &str) -> std::io::Result<()> {
    let mut unfinished = NamedTempFile::new_in(folder)?;
    unfinished.write_all(text.as_bytes())?;
    unfinished.as_file().sync_all()?;
    unfinished.persist(file)?;
    Ok(())
}
