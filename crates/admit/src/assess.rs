//! One tool by itself: its definition with the overlay on it, what the linter says, and the contract if there is one.
//!
//! This is the part that costs time, and it depends on nothing but the entry, the overlay and the mode; so it is kept
//! and used again while those stay the same.

use std::sync::Arc;

use contract::{Contract, Definition};
use lint::{lint, lint_texts};
use serde_json::{Map, Value, json};

use crate::overlay::apply::apply;
use crate::read::{definition_of, rest_of};
use crate::reason::{Found, Id, Reason};
use crate::{Mode, Overlay, ResultMode, Upstream};

/// Findings after which not even [`Mode::Observe`] lets a tool run: bad name, input that is no object.
const CANNOT_RUN: &[&str] = &["C002", "C007"];

#[derive(Debug)]
pub(crate) struct Assessed {
    /// Of the entry as it came, and of the overlay.
    pub(crate) digest: String,
    pub(crate) overlay: Option<String>,
    pub(crate) mode: Mode,
    pub(crate) definition: Arc<Definition>,
    pub(crate) reasons: Vec<Reason>,
    /// Under which it could run, if nothing else were against it.
    pub(crate) contract: Option<Arc<Contract>>,
    pub(crate) result: ResultMode,
}

/// What is judged, and by whose word.
pub(crate) struct Case<'a> {
    pub(crate) upstream: &'a Upstream,
    pub(crate) entry: &'a Map<String, Value>,
    pub(crate) digest: String,
    pub(crate) overlay: Option<(&'a Overlay, &'a str)>,
    pub(crate) mode: Mode,
}

impl Case<'_> {
    pub(crate) fn assess(self) -> Assessed {
        let overlay = self.overlay.map(|(overlay, _)| overlay);
        let mut found = Vec::new();
        let read = definition_of(self.entry, &mut found);
        let execution = self.entry.get("execution").and_then(|how| how.get("taskSupport"));
        if execution.is_some_and(|support| support == "required") {
            found.push(Found::new(
                Id::TaskRequired,
                "/execution/taskSupport",
                "the server wants every call as a task, and calls are made without one",
            ));
        }
        let effective = apply(read, overlay, &self.digest, &mut found);
        let definition = effective.definition;
        let name = definition.name.clone();
        let judged = Definition { annotations: effective.hints, ..definition.clone() };
        let mut findings = lint(&judged);
        findings.extend(lint_texts(&name, &rest_of(self.entry)));
        if overlay.is_some() {
            found.extend(self.replaced_text(&name, &findings));
        }
        let mut reasons: Vec<Reason> = findings
            .into_iter()
            .map(|finding| Reason::of_finding(finding, self.upstream))
            .collect();
        reasons.extend(found.into_iter().map(|found| found.into_reason(self.upstream, &name)));
        let contract = self.contract(&definition, &reasons);
        Assessed {
            digest: self.digest,
            overlay: self.overlay.map(|(_, digest)| digest.to_owned()),
            mode: self.mode,
            definition: Arc::new(definition),
            reasons,
            contract: contract.map(Arc::new),
            result: overlay.map(|overlay| overlay.result).unwrap_or_default(),
        }
    }

    /// The server's own words may be bad where the overlay's are good. Nobody should forget that.
    fn replaced_text(&self, name: &str, findings: &[lint::Finding]) -> impl Iterator<Item = Found> {
        let raw = Value::Object(self.entry.clone());
        let left: Vec<String> = findings.iter().map(|finding| finding.path.clone()).collect();
        lint_texts(name, &raw).into_iter().filter(move |finding| !left.contains(&finding.path)).map(
            |finding| {
                let message =
                    format!("the overlay replaces {}, where {}", finding.path, finding.message);
                Found::new(Id::OverlayReplacesText, finding.path, message)
            },
        )
    }

    fn contract(&self, definition: &Definition, reasons: &[Reason]) -> Option<Contract> {
        if reasons.iter().any(|reason| CANNOT_RUN.contains(&reason.rule)) {
            return None;
        }
        let contract = Contract::new(definition.clone(), &[]);
        if self.mode != Mode::Observe {
            return contract.ok();
        }
        contract.ok().or_else(|| {
            let mut definition = definition.clone();
            definition.input_schema.get_or_insert_with(|| json!({"type": "object"}));
            Contract::new(definition.clone(), &[])
                .or_else(|_| Contract::new(Definition { output_schema: None, ..definition }, &[]))
                .ok()
        })
    }
}
