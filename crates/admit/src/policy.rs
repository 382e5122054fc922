//! What the operator decided about one upstream: how strict, which changes pass, which tools at all.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{Allowlist, Change, ChangeClass};

/// Who offers the tools, and where the operator's overlays for them are. Both appear in remedies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    pub name: String,
    /// The folder of all overlays, as people write it: `contracts`.
    pub contracts: String,
}

impl Upstream {
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), contracts: "contracts".into() }
    }

    #[must_use]
    pub fn with_contracts(self, folder: impl Into<String>) -> Self {
        Self { contracts: folder.into(), ..self }
    }

    /// Where the overlay of a tool is, for people.
    pub(crate) fn overlay_file(&self, tool: &str) -> String {
        format!("{}/{}/{tool}.json", self.contracts, self.name)
    }
}

/// Whether an overlay's file can have the name of this tool: one that MCP allows, and that hides no file.
pub fn is_file_name(tool: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    (1..=128).contains(&tool.len()) && tool.chars().all(is_plain) && !tool.starts_with('.')
}

/// How much an upstream may leave out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// A finding of severity error refuses the tool.
    #[default]
    Default,
    /// A warning refuses too, and a tool that came after the upstream was pinned waits for a person.
    Strict,
    /// Nothing is refused that can run at all. It is marked, so that a team sees what the default would refuse.
    ///
    /// What cannot run: an entry without a usable name, two entries of one name (nobody can tell which one answers), an
    /// input schema that does not compile or describes no object (clients drop the whole list for it), a definition
    /// beyond the limits of size and depth. A tool without any input schema takes every object; an output schema that does not compile
    /// is left out, so answers pass unchecked.
    Observe,
}

/// What the operator decided about one upstream.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    pub mode: Mode,
    /// Changes that become the new baseline without anybody's `vouch accept`. [`ChangeClass::Instruction`] in it has no
    /// effect: new orders to the model are always shown to a person.
    pub allow_changes: BTreeSet<ChangeClass>,
    pub allowed: Allowlist,
    /// A tool that came after the upstream was pinned waits for a person, as under [`Mode::Strict`]: for whoever cannot
    /// pin it, because a tool that runs unpinned may become another one unseen.
    pub hold_new: bool,
}

impl Policy {
    pub fn new(mode: Mode) -> Self {
        Self { mode, ..Self::default() }
    }

    pub(crate) fn lets_pass(&self, change: &Change) -> bool {
        change
            .classes
            .iter()
            .all(|class| *class != ChangeClass::Instruction && self.allow_changes.contains(class))
    }
}
