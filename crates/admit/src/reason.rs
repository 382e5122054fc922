//! The reasons for a tool's status, and their remedies.
//!
//! Reasons are the findings of [`lint`] (`C…`) and of admission itself (`A…`). Each has a remedy for the operator, who
//! can rarely change the server. Messages are safe to show: hidden characters are escaped.

use std::borrow::Cow;

use contract::text::shorten_line;
use lint::{LintFinding, Severity};
use serde::Serialize;

use crate::{AdmissionMode, UpstreamIdentity, is_overlay_file_name};

/// Maximum length of a message, which may repeat unbounded names and digests of the server.
const MAX_MESSAGE: usize = 400;

/// A finding about a tool and its remedy. `path` is unescaped; all other fields are safe to show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AdmissionReason {
    /// AdmissionRuleId of the rule, such as `C016` (linter) or `A005` (admission).
    pub rule: &'static str,
    pub name: &'static str,
    pub severity: Severity,
    /// JSON pointer into the definition.
    pub path: String,
    pub message: String,
    /// Action for the operator.
    pub remedy: String,
    /// True for a warning that does not refuse the tool even in strict mode.
    #[serde(skip)]
    pub(crate) only_shown: bool,
}

impl AdmissionReason {
    /// Returns true if this reason alone refuses a tool in the given mode.
    pub fn refuses_tool(&self, mode: AdmissionMode) -> bool {
        match self.severity {
            Severity::Error => true,
            Severity::Warning => mode == AdmissionMode::Strict && !self.only_shown,
            Severity::Note => false,
        }
    }

    pub(crate) fn from_finding(finding: LintFinding, upstream: &UpstreamIdentity) -> Self {
        let remedy = remedy(&finding, upstream);
        Self {
            rule: finding.rule.id,
            name: finding.rule.name,
            severity: finding.rule.severity,
            path: finding.path,
            message: finding.message,
            remedy,
            only_shown: false,
        }
    }
}

/// A rule of admission, in the form of a linter rule.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct AdmissionRule {
    pub id: &'static str,
    pub name: &'static str,
    pub severity: Severity,
    pub summary: &'static str,
}

macro_rules! define_admission_rules {
    ($($variant:ident $id:literal $name:literal $severity:ident $summary:literal)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum AdmissionRuleId { $($variant),* }

        static RULES: &[AdmissionRule] = &[$(AdmissionRule {
            id: $id,
            name: $name,
            severity: Severity::$severity,
            summary: $summary,
        }),*];
    };
}

define_admission_rules! {
    NoEntry "A001" "no-tool" Error
        "an entry of the list is not an object with a name"
    Oversized "A002" "oversized-definition" Error
        "a definition is too large or too deeply nested"
    WrongType "A003" "wrong-type" Warning
        "a field of the definition has the wrong type and is ignored"
    NotAllowed "A004" "not-allowed" Note
        "the tool is not on the operator's allowlist"
    Changed "A005" "changed-definition" Error
        "the definition changed since it was admitted"
    New "A006" "new-tool" Error
        "the tool appeared after its server was pinned and has not been accepted"
    Copy "A007" "renamed-copy" Error
        "the tool is a renamed, changed copy of a tool that was quarantined or removed"
    AllowedChange "A008" "allowed-change" Note
        "the definition changed in a way that the policy allows"
    OverlayForOther "A009" "overlay-for-other" Warning
        "the overlay was written for another definition of the tool"
    OverlayWiderInput "A010" "overlay-wider-input" Warning
        "the overlay accepts arguments that the server rejects"
    OverlayOtherInput "A011" "overlay-other-input" Note
        "the overlay's input schema cannot be compared with the server's"
    OverlayUnknownParameter "A012" "overlay-unknown-parameter" Warning
        "the overlay describes a parameter that is not declared"
    OverlayReplacesText "A013" "overlay-replaces-text" Note
        "the overlay replaces server text that hides characters or instructs the model"
    TooMany "A014" "too-many-pins" Error
        "the lock file contains the maximum number of definitions for this server"
    TaskRequired "A015" "task-required" Warning
        "the tool can only be called as a task, which is not supported"
}

impl AdmissionRuleId {
    fn rule(self) -> &'static AdmissionRule {
        &RULES[self as usize]
    }
}

/// Returns all rules of admission, ordered by id.
pub fn admission_rules() -> &'static [AdmissionRule] {
    RULES
}

/// A finding of admission, before its remedy is built for an upstream.
#[derive(Clone, Debug)]
pub(crate) struct AdmissionFinding {
    id: AdmissionRuleId,
    path: Cow<'static, str>,
    message: Cow<'static, str>,
}

impl AdmissionFinding {
    pub(crate) fn new(
        id: AdmissionRuleId,
        path: impl Into<Cow<'static, str>>,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { id, path: path.into(), message: message.into() }
    }

    pub(crate) fn into_reason(self, upstream: &UpstreamIdentity, tool: &str) -> AdmissionReason {
        let rule = self.id.rule();
        AdmissionReason {
            rule: rule.id,
            name: rule.name,
            severity: rule.severity,
            path: self.path.into_owned(),
            message: shorten_line(&self.message, MAX_MESSAGE),
            remedy: shorten_line(&self.id.remedy(upstream, tool), MAX_MESSAGE),
            only_shown: self.id == AdmissionRuleId::OverlayForOther,
        }
    }
}

/// Returns a name in backticks, shortened for a message.
pub(crate) fn quote_name(name: &str) -> String {
    format!("`{}`", shorten_line(name, 64))
}

impl AdmissionRuleId {
    fn remedy(self, upstream: &UpstreamIdentity, tool: &str) -> String {
        let name = &upstream.name;
        let file = || {
            if is_overlay_file_name(tool) {
                upstream.overlay_file(tool)
            } else {
                "its overlay".into()
            }
        };
        match self {
            Self::TaskRequired => "expect the server to reject its calls".into(),
            Self::NoEntry | Self::Oversized => "only the server's author can fix it".into(),
            Self::WrongType => format!("set it in {}", file()),
            Self::NotAllowed => {
                format!("to allow it, add its name to `tools` of the upstream `{name}`")
            }
            Self::Changed | Self::New | Self::Copy => {
                format!("review it, then run `vouch accept {name} {tool}`")
            }
            Self::AllowedChange => "no action needed: `allow_changes` permits it".into(),
            Self::OverlayForOther => {
                format!("check that {} still fits, then update or remove its `for`", file())
            }
            Self::OverlayWiderInput | Self::OverlayOtherInput => {
                format!("compare `inputSchema` in {} with the server's", file())
            }
            Self::OverlayUnknownParameter => format!("correct `parameters` in {}", file()),
            Self::OverlayReplacesText => {
                "find out why the server sends this text before you rely on the tool".into()
            }
            Self::TooMany => {
                format!(
                    "if you still trust it, delete `{name}` under `upstreams` in vouch.lock, then run `vouch accept {name}`"
                )
            }
        }
    }
}

/// Fields of a definition that an overlay can replace.
const OVERLAY_FIELDS: &[&str] =
    &["/title", "/description", "/inputSchema", "/outputSchema", "/annotations"];

/// Returns the operator's remedy for a finding of the linter. The linter's own hint addresses the server's author.
fn remedy(finding: &LintFinding, upstream: &UpstreamIdentity) -> String {
    if !is_overlay_file_name(&finding.tool) {
        return "only the server's author can rename it".into();
    }
    let file = upstream.overlay_file(&finding.tool);
    let name = &upstream.name;
    let is_in = |field: &str| finding.path.starts_with(field);
    match finding.rule.id {
        "C001" => format!("describe it in {file} (`description`)"),
        "C002" | "C003" | "C004" => "only the server's author can rename it".into(),
        "C005" => format!("declare it in {file} (`inputSchema`)"),
        "C012" | "C014" => format!("describe it in {file} (`parameters`)"),
        "C015" => format!("close it in {file} (`inputSchema` with `additionalProperties` false)"),
        "C016" | "C017" => format!("declare it in {file}, or run `vouch learn {name}`"),
        "C018" | "C019" => {
            format!("tighten it in {file} (`outputSchema`), or run `vouch learn {name}`")
        }
        "C020" if is_in("/examples") => format!("correct the example in {file}"),
        "C022" | "C023" | "C024" => {
            let why = "find out why the server sends this text";
            if OVERLAY_FIELDS.iter().any(|field| is_in(field)) {
                format!("{why}; if you still trust the tool, replace it in {file}")
            } else {
                format!("{why}; an overlay cannot replace it")
            }
        }
        "C025" | "C026" => format!("declare its side effects in {file} (`constraints`)"),
        _ if is_in("/inputSchema") => format!("fix it in {file} (`inputSchema`)"),
        _ if is_in("/outputSchema") => format!("fix it in {file} (`outputSchema`)"),
        _ => finding.hint.clone(),
    }
}
