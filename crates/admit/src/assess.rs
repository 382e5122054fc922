//! Assesses one tool: applies the overlay, lints the definition and compiles the contract.
//!
//! This is the expensive part of admission. It depends only on the entry, the overlay and the mode, so the result is
//! reused while those are unchanged.

use std::sync::Arc;

use contract::{Contract, ToolDefinition};
use lint::{lint_definition, lint_texts};
use serde_json::{Map, Value, json};

use crate::definition::{collect_other_fields, read_definition};
use crate::overlay::apply::apply_overlay;
use crate::reason::{AdmissionFinding, AdmissionReason, AdmissionRuleId};
use crate::{AdmissionMode, Overlay, ResultMode, UpstreamIdentity};

/// Rules whose violation prevents a tool from running even in [`AdmissionMode::Observe`]: invalid name, input not an
/// object.
const UNRUNNABLE_RULES: &[&str] = &["C002", "C007"];

#[derive(Debug)]
pub(crate) struct ToolAssessment {
    /// Digest of the entry as the server sent it.
    pub(crate) digest: String,
    /// Digest of the overlay.
    pub(crate) overlay: Option<String>,
    pub(crate) mode: AdmissionMode,
    pub(crate) definition: Arc<ToolDefinition>,
    pub(crate) reasons: Vec<AdmissionReason>,
    /// Contract of the tool, if it can run at all.
    pub(crate) contract: Option<Arc<Contract>>,
    pub(crate) result: ResultMode,
}

/// The inputs of an assessment.
pub(crate) struct AssessmentInput<'a> {
    pub(crate) upstream: &'a UpstreamIdentity,
    pub(crate) entry: &'a Map<String, Value>,
    pub(crate) digest: String,
    /// The overlay with its digest.
    pub(crate) overlay: Option<(&'a Overlay, &'a str)>,
    pub(crate) mode: AdmissionMode,
}

impl AssessmentInput<'_> {
    pub(crate) fn assess(self) -> ToolAssessment {
        let overlay = self.overlay.map(|(overlay, _)| overlay);
        let mut found = Vec::new();
        let read = read_definition(self.entry, &mut found);
        let execution = self.entry.get("execution").and_then(|how| how.get("taskSupport"));
        if execution.is_some_and(|support| support == "required") {
            found.push(AdmissionFinding::new(
                AdmissionRuleId::TaskRequired,
                "/execution/taskSupport",
                "the server requires every call to be a task, which is not supported",
            ));
        }
        let effective = apply_overlay(read, overlay, &self.digest, &mut found);
        let definition = effective.definition;
        let name = definition.name.clone();
        let linted = ToolDefinition { annotations: effective.hints, ..definition.clone() };
        let mut findings = lint_definition(&linted);
        findings.extend(lint_texts(&name, &collect_other_fields(self.entry)));
        if overlay.is_some() {
            found.extend(self.find_replaced_texts(&name, &findings));
        }
        let mut reasons: Vec<AdmissionReason> = findings
            .into_iter()
            .map(|finding| AdmissionReason::from_finding(finding, self.upstream))
            .collect();
        reasons.extend(found.into_iter().map(|found| found.into_reason(self.upstream, &name)));
        let contract = self.compile_contract(&definition, &reasons);
        ToolAssessment {
            digest: self.digest,
            overlay: self.overlay.map(|(_, digest)| digest.to_owned()),
            mode: self.mode,
            definition: Arc::new(definition),
            reasons,
            contract: contract.map(Arc::new),
            result: overlay.map(|overlay| overlay.result).unwrap_or_default(),
        }
    }

    /// Returns a finding for each suspect text of the server that the overlay replaces, so that it stays visible.
    fn find_replaced_texts(
        &self,
        name: &str,
        findings: &[lint::LintFinding],
    ) -> impl Iterator<Item = AdmissionFinding> {
        let raw = Value::Object(self.entry.clone());
        let left: Vec<String> = findings.iter().map(|finding| finding.path.clone()).collect();
        lint_texts(name, &raw).into_iter().filter(move |finding| !left.contains(&finding.path)).map(
            |finding| {
                let message =
                    format!("the overlay replaces {}, where {}", finding.path, finding.message);
                AdmissionFinding::new(AdmissionRuleId::OverlayReplacesText, finding.path, message)
            },
        )
    }

    /// Compiles the contract. In observe mode, a missing input schema is filled in and an invalid output schema
    /// dropped.
    fn compile_contract(
        &self,
        definition: &ToolDefinition,
        reasons: &[AdmissionReason],
    ) -> Option<Contract> {
        if reasons.iter().any(|reason| UNRUNNABLE_RULES.contains(&reason.rule)) {
            return None;
        }
        let contract = Contract::new(definition.clone(), &[]);
        if self.mode != AdmissionMode::Observe {
            return contract.ok();
        }
        contract.ok().or_else(|| {
            let mut definition = definition.clone();
            definition.input_schema.get_or_insert_with(|| json!({"type": "object"}));
            Contract::new(definition.clone(), &[])
                .or_else(|_| {
                    Contract::new(ToolDefinition { output_schema: None, ..definition }, &[])
                })
                .ok()
        })
    }
}
