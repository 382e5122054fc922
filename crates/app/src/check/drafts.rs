//! Writes draft overlays to disk. Existing files are a person's work and stay unless overwriting is forced.

use std::path::Path;

use admit::conformance::{ConformanceReport, OverlayFix, fix_overlays};
use serde::Serialize;
use store::files::{create_file, create_folders, replace_file};

use crate::config::Settings;
use crate::failure::{FailureExt, Result};

/// The draft overlays of a server's tools.
pub struct OverlayDrafts(pub Vec<OverlayDraft>);

/// The draft overlay of one tool.
#[derive(Serialize)]
pub struct OverlayDraft {
    pub tool: String,
    pub file: String,
    /// False if an existing file was kept.
    pub written: bool,
    /// Parts that a person has to fill in.
    pub todo: Vec<String>,
}

impl OverlayDrafts {
    /// Writes a draft for each tool that needs one, below `folder`; existing files stay unless `force` is set.
    ///
    /// The trust record is renewed for overlays of a trusted project.
    pub fn write(
        settings: &Settings,
        report: &ConformanceReport,
        folder: &Path,
        upstream: &str,
        force: bool,
    ) -> Result<Self> {
        let folder = folder.join(upstream);
        let mut drafts = Vec::new();
        for (tool, OverlayFix { overlay, todo }) in fix_overlays(report) {
            // The linter has already rejected such names; writing a file must not depend on that.
            if tool.contains(['/', '\\', '\0']) || tool.is_empty() {
                continue;
            }
            let path = folder.join(format!("{tool}.json"));
            let file = path.display().to_string();
            let allowed = settings.trust.check_write_path(&path);
            allowed.explain(format!("failed to write {file}"))?;
            create_folders(&folder)
                .explain(format!("failed to create folder {}", folder.display()))?;
            let text = overlay.to_pretty_json();
            let mut is_written = false;
            let mut write = || {
                is_written = match force {
                    true => replace_file(&path, text.as_bytes()).map(|()| true),
                    false => create_file(&path, text.as_bytes()),
                }?;
                Ok(())
            };
            let whole = std::path::absolute(&path)?;
            let is_overlay = whole.starts_with(&settings.gateway.contracts);
            // A kept file is not what would be recorded.
            let is_kept = !force && path.exists();
            let written = match is_overlay && !is_kept && settings.trust.is_granted() {
                true => settings.trust.write_file(&whole, text.as_bytes(), &mut write),
                false => write(),
            };
            let written = written.map(|()| is_written);
            let written = written.explain(format!("failed to write {file}"))?;
            drafts.push(OverlayDraft { tool, file, written, todo });
        }
        Ok(Self(drafts))
    }
}
