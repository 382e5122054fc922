//! One draft on its way to a file.

use admit::Judged;
use admit::learn::{Draft, Samples, draft};
use app::config::Settings;
use app::files::replace;
use app::upstreams::shown;
use serde_json::{Value, json};

use crate::report::{Explain, Result};

pub(super) struct Drafted {
    upstream: String,
    tool: String,
    /// As people write it.
    pub(super) file: String,
    pub(super) samples: usize,
    overlay: admit::Overlay,
    pub(super) notes: Vec<String>,
    /// None where nobody asked for it.
    pub(super) written: Option<std::result::Result<(), String>>,
}

impl Drafted {
    pub(super) fn new(
        settings: &Settings,
        upstream: &str,
        tool: &Judged,
        samples: &Samples,
    ) -> Self {
        let Draft { overlay, notes } = draft(&tool.upstream, samples);
        let contracts = shown(settings, &settings.gateway.contracts);
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

    pub(super) fn text(&self) -> String {
        self.overlay.to_pretty_json()
    }

    /// A person's overlay is not replaced unless that is wanted, and a draft from nothing is worth no file.
    pub(super) fn write(&mut self, settings: &Settings, force: bool) -> Result {
        let folder = settings.gateway.contracts.join(&self.upstream);
        let path = folder.join(format!("{}.json", self.tool));
        let refusal = if !is_file_name(&self.tool) {
            Some("no file can be called as the tool is".to_owned())
        } else if self.samples == 0 {
            Some("there is nothing to draft it from".to_owned())
        } else if path.exists() && !force {
            Some("it is there already; to replace it: --write --force".to_owned())
        } else {
            None
        };
        self.written = Some(match refusal {
            Some(why) => Err(why),
            None => {
                let failed = format!("cannot write {}", self.file);
                std::fs::create_dir_all(&folder).explain(&failed)?;
                replace(&path, &self.text()).explain(&failed)?;
                Ok(())
            }
        });
        Ok(())
    }

    pub(super) fn view(&self) -> Value {
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

/// A name that MCP allows, and that is no path.
fn is_file_name(tool: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    (1..=128).contains(&tool.len()) && tool.chars().all(plain) && !tool.starts_with('.')
}
