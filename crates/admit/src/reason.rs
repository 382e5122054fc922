//! Why a tool is in the state it is in, and what to do about it.
//!
//! Reasons are the findings of [`lint`] (`C…`) and those of admission itself (`A…`), each with a remedy for the
//! operator, who can rarely change the server. Messages are safe to show: hidden characters are escaped.

use std::borrow::Cow;

use contract::text::shortened;
use lint::{Finding, Severity};
use serde::Serialize;

use crate::{Mode, Upstream, is_file_name};

/// A message may repeat names and digests of strangers, and those have no bound.
const MAX_MESSAGE: usize = 400;

/// One reason. `path` is as the definition has it; everything else is safe to show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// `C016` of the linter, `A005` of admission.
    pub rule: &'static str,
    pub name: &'static str,
    pub severity: Severity,
    /// JSON pointer into the definition.
    pub path: String,
    pub message: String,
    /// What the operator can do.
    pub remedy: String,
    /// A warning that even the strict policy only shows.
    #[serde(skip)]
    pub(crate) only_shown: bool,
}

impl Reason {
    /// Whether this reason keeps a tool from running by itself.
    pub fn refuses(&self, mode: Mode) -> bool {
        match self.severity {
            Severity::Error => true,
            Severity::Warning => mode == Mode::Strict && !self.only_shown,
            Severity::Note => false,
        }
    }

    pub(crate) fn of_finding(finding: Finding, upstream: &Upstream) -> Self {
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

/// A rule of admission, in the form of the linter's.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct AdmissionRule {
    pub id: &'static str,
    pub name: &'static str,
    pub severity: Severity,
    pub summary: &'static str,
}

macro_rules! table {
    ($($variant:ident $id:literal $name:literal $severity:ident $summary:literal)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Id { $($variant),* }

        static RULES: &[AdmissionRule] = &[$(AdmissionRule {
            id: $id,
            name: $name,
            severity: Severity::$severity,
            summary: $summary,
        }),*];
    };
}

table! {
    NoEntry "A001" "no-tool" Error
        "an entry of the list is not an object with a name"
    Oversized "A002" "oversized-definition" Error
        "a definition is too large or too deep to be judged"
    WrongType "A003" "wrong-type" Warning
        "a field of the definition has the wrong type and is ignored"
    NotAllowed "A004" "not-allowed" Note
        "the operator's allowlist does not name the tool"
    Changed "A005" "changed-definition" Error
        "the definition is not the one that was admitted"
    New "A006" "new-tool" Error
        "the tool came after its server was pinned, and nobody has accepted it"
    Copy "A007" "renamed-copy" Error
        "the tool is a changed copy of one that is or was quarantined, or is gone, under another name"
    AllowedChange "A008" "allowed-change" Note
        "the definition changed in a way that the policy lets pass"
    OverlayForOther "A009" "overlay-for-other" Warning
        "the overlay was written for another definition of the tool"
    OverlayWiderInput "A010" "overlay-wider-input" Warning
        "the overlay accepts arguments that the server refuses"
    OverlayOtherInput "A011" "overlay-other-input" Note
        "the overlay's input schema cannot be compared with the server's"
    OverlayUnknownParameter "A012" "overlay-unknown-parameter" Warning
        "the overlay describes a parameter that is not declared"
    OverlayReplacesText "A013" "overlay-replaces-text" Note
        "the server's own text was hidden or gave orders; the overlay replaces it"
    TooMany "A014" "too-many-pins" Error
        "the lock holds as many definitions of this server as it may"
    TaskRequired "A015" "task-required" Warning
        "the tool can only be called as a task, which is not done"
}

impl Id {
    fn rule(self) -> &'static AdmissionRule {
        &RULES[self as usize]
    }
}

/// Every rule of admission, in the order of their ids.
pub fn admission_rules() -> &'static [AdmissionRule] {
    RULES
}

/// Something admission found, before anybody knows for which upstream.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    id: Id,
    path: Cow<'static, str>,
    message: Cow<'static, str>,
}

impl Found {
    pub(crate) fn new(
        id: Id,
        path: impl Into<Cow<'static, str>>,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { id, path: path.into(), message: message.into() }
    }

    pub(crate) fn into_reason(self, upstream: &Upstream, tool: &str) -> Reason {
        let rule = self.id.rule();
        Reason {
            rule: rule.id,
            name: rule.name,
            severity: rule.severity,
            path: self.path.into_owned(),
            message: shortened(&self.message, MAX_MESSAGE),
            remedy: shortened(&self.id.remedy(upstream, tool), MAX_MESSAGE),
            only_shown: self.id == Id::OverlayForOther,
        }
    }
}

/// A name in a message.
pub(crate) fn quoted(name: &str) -> String {
    format!("`{}`", shortened(name, 64))
}

impl Id {
    fn remedy(self, upstream: &Upstream, tool: &str) -> String {
        let name = &upstream.name;
        let file =
            || if is_file_name(tool) { upstream.overlay_file(tool) } else { "its overlay".into() };
        match self {
            Self::TaskRequired => "expect its calls to be refused by the server".into(),
            Self::NoEntry | Self::Oversized => "only the server's author can mend it".into(),
            Self::WrongType => format!("say it in {}", file()),
            Self::NotAllowed => {
                format!("add its name to `tools` of the upstream `{name}`, if it may run")
            }
            Self::Changed | Self::New | Self::Copy => {
                format!("look at it, and if it is what you want: vouch accept {name} {tool}")
            }
            Self::AllowedChange => "nothing to do: `allow_changes` names it".into(),
            Self::OverlayForOther => {
                format!("look whether {} still fits, then correct or remove its `for`", file())
            }
            Self::OverlayWiderInput | Self::OverlayOtherInput => {
                format!("compare `inputSchema` in {} with the server's", file())
            }
            Self::OverlayUnknownParameter => format!("correct `parameters` in {}", file()),
            Self::OverlayReplacesText => {
                "make sure that you know why the server says so before you rely on the tool".into()
            }
            Self::TooMany => {
                format!(
                    "if you still trust it, delete `{name}` under `upstreams` in vouch.lock and run: vouch accept {name}"
                )
            }
        }
    }
}

/// Where an overlay's words can stand in for the server's.
const OVERLAID: &[&str] =
    &["/title", "/description", "/inputSchema", "/outputSchema", "/annotations"];

/// What the operator can do about a finding of the linter, whose hint speaks to the server's author.
fn remedy(finding: &Finding, upstream: &Upstream) -> String {
    if !is_file_name(&finding.tool) {
        return "only the server's author can give it another name".into();
    }
    let file = upstream.overlay_file(&finding.tool);
    let name = &upstream.name;
    let is_in = |field: &str| finding.path.starts_with(field);
    match finding.rule.id {
        "C001" => format!("describe it in {file} (`description`)"),
        "C002" | "C003" | "C004" => "only the server's author can give it another name".into(),
        "C005" => format!("declare it in {file} (`inputSchema`)"),
        "C012" | "C014" => format!("describe it in {file} (`parameters`)"),
        "C015" => format!("close it in {file} (`inputSchema` with `additionalProperties` false)"),
        "C016" | "C017" => format!("declare it in {file}, or: vouch learn {name}"),
        "C018" | "C019" => format!("tighten it in {file} (`outputSchema`), or: vouch learn {name}"),
        "C020" if is_in("/examples") => format!("correct the example in {file}"),
        "C022" | "C023" | "C024" => {
            let why = "find out why the server says so";
            if OVERLAID.iter().any(|field| is_in(field)) {
                format!("{why}; if you trust the tool nevertheless, put your own words in {file}")
            } else {
                format!("{why}; no overlay can replace it")
            }
        }
        "C025" | "C026" => format!("say what it does in {file} (`constraints`)"),
        _ if is_in("/inputSchema") => format!("mend it in {file} (`inputSchema`)"),
        _ if is_in("/outputSchema") => format!("mend it in {file} (`outputSchema`)"),
        _ => finding.hint.clone(),
    }
}
