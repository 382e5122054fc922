//! The operator's policy for one upstream: strictness, allowed changes and allowed tools.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{ChangeClass, ToolAllowlist, ToolDefinitionChange};

/// Name of an upstream and location of its overlays. Both appear in remedies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamIdentity {
    pub name: String,
    /// Folder of all overlays as shown to people, for example `contracts`.
    pub contracts: String,
}

impl UpstreamIdentity {
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), contracts: "contracts".into() }
    }

    #[must_use]
    pub fn with_contracts(self, folder: impl Into<String>) -> Self {
        Self { contracts: folder.into(), ..self }
    }

    /// Returns the path of a tool's overlay file as shown to people.
    pub(crate) fn overlay_file(&self, tool: &str) -> String {
        format!("{}/{}/{tool}.json", self.contracts, self.name)
    }
}

/// Returns true if the tool's name can be the name of an overlay file: MCP allows it, and it does not start with a dot.
pub fn is_overlay_file_name(tool: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    (1..=128).contains(&tool.len()) && tool.chars().all(is_plain) && !tool.starts_with('.')
}

/// Strictness of admission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AdmissionMode {
    /// A finding of severity error refuses the tool.
    #[default]
    Default,
    /// A warning refuses the tool too, and a tool that appears after the upstream was pinned is quarantined.
    Strict,
    /// Every tool that can run does run. Tools that the default mode would refuse are marked as observed.
    ///
    /// Some entries cannot run even so:
    ///
    /// - an entry without a usable name, or with a name that another entry has;
    /// - an input schema that does not compile or does not describe an object (clients drop the whole list for it);
    /// - a definition over the size or depth limit.
    ///
    /// A tool without an input schema accepts every object. An output schema that does not compile is ignored, so the
    /// answers pass unchecked.
    Observe,
}

/// The operator's admission policy for one upstream.
#[derive(Clone, Debug, Default)]
pub struct AdmissionPolicy {
    pub mode: AdmissionMode,
    /// Changes that become the new baseline without `vouch accept`. [`ChangeClass::Instruction`] has no effect here:
    /// new instructions to the model always need a person's approval.
    pub allow_changes: BTreeSet<ChangeClass>,
    pub allowed: ToolAllowlist,
    /// Quarantines a tool that appears after the upstream was pinned, as [`AdmissionMode::Strict`] does. Set this if
    /// the pins cannot be written, because a tool that runs unpinned could change unnoticed.
    pub hold_new: bool,
}

impl AdmissionPolicy {
    pub fn new(mode: AdmissionMode) -> Self {
        Self { mode, ..Self::default() }
    }

    /// Returns true if every class of the change is allowed.
    pub(crate) fn allows_change(&self, change: &ToolDefinitionChange) -> bool {
        change
            .classes
            .iter()
            .all(|class| *class != ChangeClass::Instruction && self.allow_changes.contains(class))
    }
}
