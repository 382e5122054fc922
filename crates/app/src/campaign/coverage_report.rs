//! Coverage of a campaign by source line and branch, and its report files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::fuzz::campaign::{CampaignState, coverage_report};
use ::fuzz::config::{CampaignSettings, CoverageFormat};
use ::fuzz::target::FuzzTarget;
use coverage::CoverageReport;
use globset::{Glob, GlobSet, GlobSetBuilder};
use jiff::Timestamp;
use store::files::replace_file;

use crate::failure::FailureKind;
use crate::failure::{FailureExt, Result};

/// The coverage that a campaign has reached.
pub struct CampaignCoverage {
    target: Arc<FuzzTarget>,
    pub report: CoverageReport,
    /// Covered branch outcomes in bytecode, which outnumber those in the source.
    pub branches: usize,
}

impl CampaignCoverage {
    /// Takes a snapshot of a campaign's coverage.
    pub fn from_shared(shared: &CampaignState) -> Self {
        let target = shared.target.clone();
        let hits = shared.hits();
        let report = coverage_report::build_report(&target, &hits);
        Self { report, branches: coverage_report::count_branches(&hits), target }
    }

    /// Writes the configured reports and returns their paths; no-op if no report folder is configured.
    pub fn write_reports(
        &self,
        settings: &CampaignSettings,
        excludes: &GlobSet,
    ) -> Result<Vec<PathBuf>> {
        let Some(folder) = report_folder(settings) else { return Ok(Vec::new()) };
        let mut report = self.report.clone();
        report.files.retain(|file| !excludes.is_match(&file.path));
        let now = Timestamp::now().as_second();
        let mut written = Vec::new();
        for format in &settings.coverage_formats {
            let (ending, text) = match format {
                CoverageFormat::Text => {
                    ("txt", coverage::annotate_sources(&report, &self.target.build))
                }
                CoverageFormat::Html => {
                    ("html", coverage::render_html(&report, &self.target.build))
                }
                CoverageFormat::Lcov => ("lcov", coverage::render_lcov(&report)),
            };
            let file = folder.join(format!("covered.{now}.{ending}"));
            replace_file(&file, text.as_bytes())
                .explain(format_args!("failed to write the coverage report {}", file.display()))
                .hint("free disk space, or choose another folder: --coverage-dir DIR")?;
            written.push(file);
        }
        Ok(written)
    }
}

/// Compiles the patterns of files that coverage reports leave out.
pub fn compile_excludes(patterns: &[String]) -> Result<GlobSet> {
    let mut excludes = GlobSetBuilder::new();
    for pattern in patterns {
        let glob = Glob::new(pattern)
            .explain(format_args!("invalid pattern `{pattern}` in `coverageExcludes`"))
            .hint("write patterns such as \"lib/**\" or \"**/*.t.sol\"")
            .map_err(|failure| failure.with_kind(FailureKind::Usage))?;
        excludes.add(glob);
    }
    Ok(excludes.build()?)
}

/// Returns the folder of the reports, if one is configured.
fn report_folder(settings: &CampaignSettings) -> Option<&Path> {
    settings.coverage_dir.as_deref().or(settings.corpus_dir.as_deref())
}

/// Creates the report folder before fuzzing starts, so that a failure shows at once and not hours later.
///
/// The corpus creates its own folder.
pub(crate) fn create_report_folder(settings: &CampaignSettings) -> Result {
    let Some(folder) = &settings.coverage_dir else { return Ok(()) };
    std::fs::create_dir_all(folder)
        .explain(format_args!("failed to create folder {}", folder.display()))
        .hint("choose another folder: --coverage-dir DIR")
}
