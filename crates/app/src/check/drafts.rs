//! Draft overlays on disk. What is there already is a person's work and stays, unless somebody says otherwise.

use std::path::Path;

use admit::conformance::{Fix, Report, fix_overlays};
use serde::Serialize;

use crate::failure::{Explain, Result};
use crate::files::{replace, write_new};

/// What was drafted, tool by tool.
pub struct Drafts(pub Vec<Draft>);

/// A draft overlay of one tool.
#[derive(Serialize)]
pub struct Draft {
    pub tool: String,
    pub file: String,
    /// False where a file was there and was kept.
    pub written: bool,
    /// What a person has to fill in.
    pub todo: Vec<String>,
}

impl Drafts {
    /// Writes a draft for each tool that needs one, below `folder`; existing files stay unless `force` is set.
    pub fn write(report: &Report, folder: &Path, upstream: &str, force: bool) -> Result<Self> {
        let folder = folder.join(upstream);
        let mut drafts = Vec::new();
        for (tool, Fix { overlay, todo }) in fix_overlays(report) {
            // The linter has refused other names already; a file is no place to rely on that.
            if tool.contains(['/', '\\', '\0']) || tool.is_empty() {
                continue;
            }
            std::fs::create_dir_all(&folder)
                .explain(format!("cannot make the folder {}", folder.display()))?;
            let path = folder.join(format!("{tool}.json"));
            let file = path.display().to_string();
            let text = overlay.to_pretty_json();
            let written = match force {
                true => replace(&path, &text).map(|()| true),
                false => write_new(&path, &text),
            };
            let written = written.explain(format!("cannot write {file}"))?;
            drafts.push(Draft { tool, file, written, todo });
        }
        Ok(Self(drafts))
    }
}
