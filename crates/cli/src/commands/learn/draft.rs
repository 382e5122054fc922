//! An overlay draft of one tool, and its file.

use admit::ToolAdmission;
use admit::learn::{DraftOverlay, SampleSet, draft_overlay};
use app::config::Settings;
use app::upstreams::display_path;
use serde_json::{Value, json};
use store::files::{create_folders, replace_file};

use crate::report::{FailureExt, Result};

/// Overlay draft of one tool.
pub(super) struct LearnDraft {
    upstream: String,
    tool: String,
    /// Path of the overlay file, for display.
    pub(super) file: String,
    pub(super) samples: usize,
    overlay: admit::Overlay,
    pub(super) notes: Vec<String>,
    /// Result of writing the file, with the reason if it was skipped. `None` without `--write`.
    pub(super) written: Option<std::result::Result<(), String>>,
}

impl LearnDraft {
    pub(super) fn new(
        settings: &Settings,
        upstream: &str,
        tool: &ToolAdmission,
        samples: &SampleSet,
    ) -> Self {
        let DraftOverlay { overlay, notes } = draft_overlay(&tool.upstream, samples);
        let contracts = display_path(settings, &settings.gateway.contracts);
        Self {
            upstream: upstream.to_owned(),
            tool: tool.name.clone(),
            file: format!("{contracts}/{upstream}/{}.json", tool.name),
            samples: samples.len(),
            overlay,
            notes,
            written: None,
        }
    }

    pub(super) fn to_pretty_json(&self) -> String {
        self.overlay.to_pretty_json()
    }

    /// Writes the file. Skips it if there are no samples, or if it exists and `force` is not set.
    pub(super) fn write(&mut self, settings: &Settings, force: bool) -> Result {
        let folder = settings.gateway.contracts.join(&self.upstream);
        let path = folder.join(format!("{}.json", self.tool));
        let refusal = if !is_file_name(&self.tool) {
            Some("the tool's name is not a valid file name".to_owned())
        } else if self.samples == 0 {
            Some("there are no samples".to_owned())
        } else if path.exists() && !force {
            Some("the file already exists; pass `--force` to replace it".to_owned())
        } else {
            None
        };
        self.written = Some(match refusal {
            Some(why) => Err(why),
            None => {
                let failed = format!("failed to write {}", self.file);
                settings.trust.check_write_path(&path).explain(&failed)?;
                create_folders(&folder).explain(&failed)?;
                let text = self.to_pretty_json();
                let write = &mut || replace_file(&path, text.as_bytes());
                settings.trust.write_file(&path, text.as_bytes(), write).explain(&failed)?;
                Ok(())
            }
        });
        Ok(())
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "upstream": self.upstream,
            "tool": self.tool,
            "file": self.file,
            "samples": self.samples,
            "overlay": self.overlay,
            "notes": self.notes,
            "written": matches!(self.written, Some(Ok(()))),
        })
    }
}

/// Returns true for a tool name that MCP allows and that is safe as a file name.
fn is_file_name(tool: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    (1..=128).contains(&tool.len()) && tool.chars().all(plain) && !tool.starts_with('.')
}
