//! Admits a whole `tools/list`: assesses each tool, checks names for duplicates and compares all tools with the pins.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use contract::{Contract, ToolDefinition, canonical_json, sha256_digest};
use lint::{LintFinding, Severity, lint_names};
use serde::Serialize;
use serde_json::Value;

use crate::assess::{AssessmentInput, ToolAssessment};
use crate::decide::AdmissionDecider;
use crate::definition::{MAX_DEFINITION_BYTES, find_defect, read_definition};
use crate::reason::{AdmissionFinding, AdmissionReason, AdmissionRuleId, quote_name};
use crate::{AdmissionPolicy, Overlay, PinSet, ResultMode, ToolDefinitionChange, UpstreamIdentity};

const DUPLICATE_NAME_RULE: &str = "C003";

/// Status of a tool after admission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolStatus {
    /// Runs as the server defines it.
    Ready,
    /// Runs with the operator's overlay applied.
    Overlaid,
    /// Violates a rule.
    Refused,
    /// Differs from the admitted definition and waits for `vouch accept`. It may also violate a rule.
    Quarantined,
    /// Excluded by the operator's allowlist.
    NotAllowed,
}

impl ToolStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Overlaid => "overlaid",
            Self::Refused => "refused",
            Self::Quarantined => "quarantined",
            Self::NotAllowed => "not-allowed",
        }
    }
}

/// One tool with its status and the reasons for it.
#[derive(Clone, Debug)]
pub struct ToolAdmission {
    /// The server's own name, or `#3` for a third entry without a name. Untrusted: show it through
    /// `contract::text::one_line`.
    pub name: String,
    /// Zero-based position in the list.
    pub position: usize,
    pub state: ToolStatus,
    /// True if the tool is refused or quarantined but [`crate::AdmissionMode::Observe`] lets it run.
    pub observed: bool,
    /// All findings, including those about a tool that runs.
    pub reasons: Vec<AdmissionReason>,
    /// The definition with the overlay applied.
    pub definition: Arc<ToolDefinition>,
    /// The entry as the server sent it.
    pub upstream: Arc<Value>,
    /// Set only for a tool that runs. Its output schema may be missing only if [`ToolAdmission::observed`] is set.
    pub contract: Option<Arc<Contract>>,
    /// Conversion of answers into structured content.
    pub result: ResultMode,
    /// Digest of `upstream`.
    pub digest: String,
    /// Digest of the applied overlay.
    pub overlay: Option<String>,
    /// Change since the admitted definition; for a renamed copy, since the definition of the original.
    pub change: Option<ToolDefinitionChange>,
    assessed: Option<Arc<ToolAssessment>>,
}

impl ToolAdmission {
    /// Returns true if the tool may be called.
    pub fn can_run(&self) -> bool {
        self.contract.is_some()
    }

    /// Returns the reasons that refused or quarantined the tool, worst first; empty for a ready or overlaid tool.
    pub fn blocking_reasons(
        &self,
        policy: &AdmissionPolicy,
    ) -> impl Iterator<Item = &AdmissionReason> {
        let mode = policy.mode;
        let runs = matches!(self.state, ToolStatus::Ready | ToolStatus::Overlaid);
        self.reasons.iter().filter(move |reason| !runs && reason.refuses_tool(mode))
    }

    /// Returns the highest severity among the reasons.
    pub fn worst_severity(&self) -> Option<Severity> {
        self.reasons.iter().map(|reason| reason.severity).min()
    }
}

/// The result of admitting one list of tools.
#[derive(Clone, Debug)]
pub struct Admission {
    pub upstream: String,
    /// In the order of the list.
    pub tools: Vec<ToolAdmission>,
    /// Tool names of overlays that match no tool in the list.
    pub unused_overlays: Vec<String>,
}

impl Admission {
    /// Returns the tools that may be called.
    pub fn runnable_tools(&self) -> impl Iterator<Item = &ToolAdmission> {
        self.tools.iter().filter(|tool| tool.can_run())
    }

    /// Returns the first tool with this name.
    pub fn find_tool(&self, name: &str) -> Option<&ToolAdmission> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// Returns the number of tools in each status.
    pub fn count_by_status(&self) -> BTreeMap<ToolStatus, usize> {
        let mut counts = BTreeMap::new();
        self.tools.iter().for_each(|tool| *counts.entry(tool.state).or_default() += 1);
        counts
    }
}

/// Admits a list of tools. Pins are not changed; pass the result to [`PinSet::update`] to record it.
pub fn admit_tools(
    upstream: &UpstreamIdentity,
    tools: &[Value],
    overlays: &BTreeMap<String, Overlay>,
    pins: &PinSet,
    policy: &AdmissionPolicy,
) -> Admission {
    admit_list(upstream, tools, overlays, pins, policy, None)
}

/// Like [`admit_tools`], but reuses assessments of the previous admission where entry, overlay and mode are unchanged.
pub fn readmit_tools(
    previous: &Admission,
    upstream: &UpstreamIdentity,
    tools: &[Value],
    overlays: &BTreeMap<String, Overlay>,
    pins: &PinSet,
    policy: &AdmissionPolicy,
) -> Admission {
    admit_list(upstream, tools, overlays, pins, policy, Some(previous))
}

fn admit_list(
    upstream: &UpstreamIdentity,
    tools: &[Value],
    overlays: &BTreeMap<String, Overlay>,
    pins: &PinSet,
    policy: &AdmissionPolicy,
    previous: Option<&Admission>,
) -> Admission {
    // Remedies of another upstream would name the wrong files.
    let known = previous.filter(|previous| previous.upstream == upstream.name);
    let known: HashMap<&str, &Arc<ToolAssessment>> = known
        .into_iter()
        .flat_map(|previous| &previous.tools)
        .filter_map(|tool| tool.assessed.as_ref())
        .map(|assessed| (assessed.digest.as_str(), assessed))
        .collect();
    let overlays: BTreeMap<&str, (&Overlay, String)> = overlays
        .iter()
        .map(|(name, overlay)| (name.as_str(), (overlay, overlay.digest())))
        .collect();
    let mut admitted: Vec<ToolAdmission> = tools
        .iter()
        .enumerate()
        .map(|(position, tool)| {
            let overlay = tool
                .get("name")
                .and_then(Value::as_str)
                .and_then(|name| overlays.get(name))
                .map(|(overlay, digest)| (*overlay, digest.as_str()));
            assess_entry(upstream, position, tool, overlay, policy, &known)
        })
        .collect();
    lint_tool_names(upstream, &mut admitted);
    AdmissionDecider::new(upstream, pins, policy, &admitted).decide_statuses(&mut admitted);
    let offered: HashSet<&str> = admitted.iter().map(|tool| tool.name.as_str()).collect();
    let unused_overlays = overlays
        .keys()
        .filter(|name| !offered.contains(*name))
        .map(|name| (*name).to_owned())
        .collect();
    Admission { upstream: upstream.name.clone(), tools: admitted, unused_overlays }
}

/// Assesses one entry. The returned status is provisional: [`ToolStatus::Ready`] means no objection so far.
fn assess_entry(
    upstream: &UpstreamIdentity,
    position: usize,
    tool: &Value,
    overlay: Option<(&Overlay, &str)>,
    policy: &AdmissionPolicy,
    known: &HashMap<&str, &Arc<ToolAssessment>>,
) -> ToolAdmission {
    let text = canonical_json(tool);
    let mut admission = ToolAdmission {
        name: format!("#{}", position + 1),
        position,
        state: ToolStatus::Ready,
        observed: false,
        reasons: Vec::new(),
        definition: Arc::default(),
        upstream: Arc::new(tool.clone()),
        contract: None,
        result: ResultMode::default(),
        digest: sha256_digest(text.as_bytes()),
        overlay: None,
        change: None,
        assessed: None,
    };
    let Some(entry) = tool.as_object() else {
        let found = AdmissionFinding::new(
            AdmissionRuleId::NoEntry,
            "",
            format!("entry {} is not an object", position + 1),
        );
        return admission.into_refused(found, upstream);
    };
    let Some(name) = entry.get("name").and_then(Value::as_str) else {
        let message = format!("entry {} has no string `name`", position + 1);
        return admission.into_refused(
            AdmissionFinding::new(AdmissionRuleId::NoEntry, "/name", message),
            upstream,
        );
    };
    admission.name = name.to_owned();
    if text.len() > MAX_DEFINITION_BYTES {
        let message = format!(
            "the definition of {} is {} bytes, over the limit of {MAX_DEFINITION_BYTES}",
            quote_name(name),
            text.len()
        );
        return admission.into_refused(
            AdmissionFinding::new(AdmissionRuleId::Oversized, "", message),
            upstream,
        );
    }
    if let Some(why) = find_defect(entry) {
        let message = format!("the definition of {} could not be read: {why}", quote_name(name));
        return admission.into_refused(
            AdmissionFinding::new(AdmissionRuleId::Oversized, "", message),
            upstream,
        );
    }
    if !policy.allowed.allows(name) {
        admission.definition = Arc::new(read_definition(entry, &mut Vec::new()));
        admission.state = ToolStatus::NotAllowed;
        let message = format!("{} is not on the allowlist of this upstream", quote_name(name));
        let found = AdmissionFinding::new(AdmissionRuleId::NotAllowed, "", message);
        admission.reasons.push(found.into_reason(upstream, name));
        return admission;
    }
    let same = known.get(admission.digest.as_str()).filter(|known| {
        known.mode == policy.mode && known.overlay.as_deref() == overlay.map(|(_, digest)| digest)
    });
    let assessed = same.map_or_else(
        || {
            let digest = admission.digest.clone();
            Arc::new(
                AssessmentInput { upstream, entry, digest, overlay, mode: policy.mode }.assess(),
            )
        },
        |known| Arc::clone(known),
    );
    admission.reasons.clone_from(&assessed.reasons);
    admission.definition = Arc::clone(&assessed.definition);
    admission.contract.clone_from(&assessed.contract);
    admission.result = assessed.result;
    admission.overlay.clone_from(&assessed.overlay);
    admission.assessed = Some(assessed);
    admission
}

impl ToolAdmission {
    fn into_refused(mut self, found: AdmissionFinding, upstream: &UpstreamIdentity) -> Self {
        self.state = ToolStatus::Refused;
        self.reasons.push(found.into_reason(upstream, &self.name));
        self
    }

    /// Returns true if the entry was assessed. Malformed entries and tools off the allowlist are not.
    pub(crate) fn is_assessed(&self) -> bool {
        self.assessed.is_some()
    }
}

/// Lints the names of all tools. Every tool with a duplicate name is refused, because a call would be ambiguous.
fn lint_tool_names(upstream: &UpstreamIdentity, tools: &mut [ToolAdmission]) {
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let mut findings = lint_names(&names);
    let mut by_name: HashMap<&str, (usize, usize)> = HashMap::new();
    for (index, name) in names.iter().enumerate() {
        by_name.entry(name).or_insert((index, 0)).1 += 1;
    }
    // The linter reports only the later duplicates; the first one is just as ambiguous.
    for (first, count) in by_name.into_values().filter(|(_, count)| *count > 1) {
        findings[first].push(LintFinding {
            rule: lint::find_rule(DUPLICATE_NAME_RULE).expect("the linter has this rule"),
            tool: tools[first].name.clone(),
            path: "/name".into(),
            message: format!("{count} tools in this list have this name"),
            hint: String::new(),
        });
    }
    for (tool, findings) in tools.iter_mut().zip(findings) {
        if findings.iter().any(|finding| finding.rule.id == DUPLICATE_NAME_RULE) {
            tool.contract = None;
        }
        let reasons =
            findings.into_iter().map(|finding| AdmissionReason::from_finding(finding, upstream));
        tool.reasons.extend(reasons);
    }
}
