//! A whole `tools/list`: each tool judged by itself, the names against each other, and all of them against the pins.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use contract::{Contract, Definition, canonical_json, sha256_of};
use lint::{Finding, Severity, lint_names};
use serde::Serialize;
use serde_json::Value;

use crate::assess::{Assessed, Case};
use crate::decide::Decider;
use crate::read::{MAX_DEFINITION_BYTES, defect_of, definition_of};
use crate::reason::{Found, Id, Reason, quoted};
use crate::{Change, Overlay, Pins, Policy, ResultMode, Upstream};

const DUPLICATE: &str = "C003";

/// What admission made of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Runs as the server defines it.
    Ready,
    /// Runs with the operator's overlay on it.
    Overlaid,
    /// Does not keep the rules.
    Refused,
    /// Keeps them, perhaps, but is not what was admitted; waits for `vouch accept`.
    Quarantined,
    /// Left out by the operator.
    NotAllowed,
}

impl State {
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

/// One tool with its judgement.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The server's own name; `#3` for the third entry if that has none. Show it through `contract::text::one_line`.
    pub name: String,
    /// In the list, from 0.
    pub position: usize,
    pub state: State,
    /// Refused or quarantined, but [`crate::Mode::Observe`] lets it run.
    pub observed: bool,
    /// Everything there is to say, also about a tool that runs.
    pub reasons: Vec<Reason>,
    /// With the overlay on it.
    pub definition: Arc<Definition>,
    /// As it came.
    pub upstream: Arc<Value>,
    /// Only of a tool that runs. Its output schema may be missing only where [`Judged::observed`] is set.
    pub contract: Option<Arc<Contract>>,
    /// How its answers become structured.
    pub result: ResultMode,
    /// Of `upstream`.
    pub digest: String,
    /// The digest of the overlay on it.
    pub overlay: Option<String>,
    /// Against the definition that was admitted; for a renamed copy, against that of the original.
    pub change: Option<Change>,
    assessed: Option<Arc<Assessed>>,
}

impl Judged {
    /// Whether calls may reach it.
    pub fn runs(&self) -> bool {
        self.contract.is_some()
    }

    /// The reasons that decided, worst first: why it does not run, or would not without `observe`.
    pub fn blocking(&self, policy: &Policy) -> impl Iterator<Item = &Reason> {
        let mode = policy.mode;
        let runs = matches!(self.state, State::Ready | State::Overlaid);
        self.reasons.iter().filter(move |reason| !runs && reason.refuses(mode))
    }

    pub fn worst(&self) -> Option<Severity> {
        self.reasons.iter().map(|reason| reason.severity).min()
    }
}

/// The judgement on one list.
#[derive(Clone, Debug)]
pub struct Admission {
    pub upstream: String,
    /// In the order of the list.
    pub tools: Vec<Judged>,
    /// Overlays that no tool of the list has use for, by tool name.
    pub unused_overlays: Vec<String>,
}

impl Admission {
    /// The tools that may be called.
    pub fn running(&self) -> impl Iterator<Item = &Judged> {
        self.tools.iter().filter(|tool| tool.runs())
    }

    pub fn tool(&self, name: &str) -> Option<&Judged> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// How many tools are in each state.
    pub fn counts(&self) -> BTreeMap<State, usize> {
        let mut counts = BTreeMap::new();
        self.tools.iter().for_each(|tool| *counts.entry(tool.state).or_default() += 1);
        counts
    }
}

/// Judges a list. Pure: what is to be remembered is in [`Pins::update`].
pub fn admit(
    upstream: &Upstream,
    tools: &[Value],
    overlays: &BTreeMap<String, Overlay>,
    pins: &Pins,
    policy: &Policy,
) -> Admission {
    run(upstream, tools, overlays, pins, policy, None)
}

/// As [`admit`], but what was judged before is not judged again where entry, overlay and mode are the same.
pub fn readmit(
    previous: &Admission,
    upstream: &Upstream,
    tools: &[Value],
    overlays: &BTreeMap<String, Overlay>,
    pins: &Pins,
    policy: &Policy,
) -> Admission {
    run(upstream, tools, overlays, pins, policy, Some(previous))
}

fn run(
    upstream: &Upstream,
    tools: &[Value],
    overlays: &BTreeMap<String, Overlay>,
    pins: &Pins,
    policy: &Policy,
    previous: Option<&Admission>,
) -> Admission {
    // Another upstream's remedies would name the wrong files.
    let known = previous.filter(|previous| previous.upstream == upstream.name);
    let known: HashMap<&str, &Arc<Assessed>> = known
        .into_iter()
        .flat_map(|previous| &previous.tools)
        .filter_map(|tool| tool.assessed.as_ref())
        .map(|assessed| (assessed.digest.as_str(), assessed))
        .collect();
    let overlays: BTreeMap<&str, (&Overlay, String)> = overlays
        .iter()
        .map(|(name, overlay)| (name.as_str(), (overlay, overlay.digest())))
        .collect();
    let mut judged: Vec<Judged> = tools
        .iter()
        .enumerate()
        .map(|(position, tool)| {
            let overlay = tool
                .get("name")
                .and_then(Value::as_str)
                .and_then(|name| overlays.get(name))
                .map(|(overlay, digest)| (*overlay, digest.as_str()));
            look_at(upstream, position, tool, overlay, policy, &known)
        })
        .collect();
    compare_names(upstream, &mut judged);
    Decider::new(upstream, pins, policy, &judged).decide(&mut judged);
    let offered: HashSet<&str> = judged.iter().map(|tool| tool.name.as_str()).collect();
    let unused_overlays = overlays
        .keys()
        .filter(|name| !offered.contains(*name))
        .map(|name| (*name).to_owned())
        .collect();
    Admission { upstream: upstream.name.clone(), tools: judged, unused_overlays }
}

/// One entry, not decided yet: [`State::Ready`] stands for "nothing against it so far".
fn look_at(
    upstream: &Upstream,
    position: usize,
    tool: &Value,
    overlay: Option<(&Overlay, &str)>,
    policy: &Policy,
    known: &HashMap<&str, &Arc<Assessed>>,
) -> Judged {
    let text = canonical_json(tool);
    let mut judged = Judged {
        name: format!("#{}", position + 1),
        position,
        state: State::Ready,
        observed: false,
        reasons: Vec::new(),
        definition: Arc::default(),
        upstream: Arc::new(tool.clone()),
        contract: None,
        result: ResultMode::default(),
        digest: sha256_of(text.as_bytes()),
        overlay: None,
        change: None,
        assessed: None,
    };
    let Some(entry) = tool.as_object() else {
        let found = Found::new(Id::NoEntry, "", format!("entry {} is not an object", position + 1));
        return judged.refused(found, upstream);
    };
    let Some(name) = entry.get("name").and_then(Value::as_str) else {
        let message = format!("entry {} has no name that is a string", position + 1);
        return judged.refused(Found::new(Id::NoEntry, "/name", message), upstream);
    };
    judged.name = name.to_owned();
    if text.len() > MAX_DEFINITION_BYTES {
        let message = format!(
            "the definition of {} has {} bytes, over {MAX_DEFINITION_BYTES}",
            quoted(name),
            text.len()
        );
        return judged.refused(Found::new(Id::Oversized, "", message), upstream);
    }
    if let Some(why) = defect_of(entry) {
        let message = format!("the definition of {} could not be taken: {why}", quoted(name));
        return judged.refused(Found::new(Id::Oversized, "", message), upstream);
    }
    if !policy.allowed.allows(name) {
        judged.definition = Arc::new(definition_of(entry, &mut Vec::new()));
        judged.state = State::NotAllowed;
        let message = format!("{} is not on the allowlist of this upstream", quoted(name));
        let found = Found::new(Id::NotAllowed, "", message);
        judged.reasons.push(found.into_reason(upstream, name));
        return judged;
    }
    let same = known.get(judged.digest.as_str()).filter(|known| {
        known.mode == policy.mode && known.overlay.as_deref() == overlay.map(|(_, digest)| digest)
    });
    let assessed = same.map_or_else(
        || {
            let digest = judged.digest.clone();
            Arc::new(Case { upstream, entry, digest, overlay, mode: policy.mode }.assess())
        },
        |known| Arc::clone(known),
    );
    judged.reasons.clone_from(&assessed.reasons);
    judged.definition = Arc::clone(&assessed.definition);
    judged.contract.clone_from(&assessed.contract);
    judged.result = assessed.result;
    judged.overlay.clone_from(&assessed.overlay);
    judged.assessed = Some(assessed);
    judged
}

impl Judged {
    fn refused(mut self, found: Found, upstream: &Upstream) -> Self {
        self.state = State::Refused;
        self.reasons.push(found.into_reason(upstream, &self.name));
        self
    }

    /// It is judged by itself; entries that are no tool and those left out are not.
    pub(crate) fn is_open(&self) -> bool {
        self.assessed.is_some()
    }
}

/// All tools of one name are refused, since nobody can tell which of them answers to it.
fn compare_names(upstream: &Upstream, judged: &mut [Judged]) {
    let names: Vec<&str> = judged.iter().map(|tool| tool.name.as_str()).collect();
    let mut findings = lint_names(&names);
    let mut by_name: HashMap<&str, (usize, usize)> = HashMap::new();
    for (index, name) in names.iter().enumerate() {
        by_name.entry(name).or_insert((index, 0)).1 += 1;
    }
    // The linter blames the later ones; the first is as ambiguous.
    for (first, count) in by_name.into_values().filter(|(_, count)| *count > 1) {
        findings[first].push(Finding {
            rule: lint::rule(DUPLICATE).expect("the linter has this rule"),
            tool: judged[first].name.clone(),
            path: "/name".into(),
            message: format!("{count} tools of this list have this name"),
            hint: String::new(),
        });
    }
    for (tool, findings) in judged.iter_mut().zip(findings) {
        if findings.iter().any(|finding| finding.rule.id == DUPLICATE) {
            tool.contract = None;
        }
        let reasons = findings.into_iter().map(|finding| Reason::of_finding(finding, upstream));
        tool.reasons.extend(reasons);
    }
}
