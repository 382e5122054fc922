//! Parses and formats `context://` URIs.

use std::fmt;

use contract::{ErrorCode, ToolError};

pub(super) const MODULE_TEMPLATE: &str = "context://module/{name}";
pub(super) const RECENT_TEMPLATE: &str = "context://sessions/recent{?limit}";

const OVERVIEW: &str = "context://project/overview";
const MODULE: &str = "context://module/";
const CURRENT: &str = "context://session/current";
const RECENT: &str = "context://sessions/recent";

const DEFAULT_SESSIONS: usize = 10;
const MAX_SESSIONS: usize = 50;

/// URI of a resource.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ContextUri {
    Overview,
    Module(String),
    CurrentSession,
    /// The given number of most recent sessions.
    RecentSessions(usize),
}

impl ContextUri {
    pub(super) fn default_recent() -> Self {
        Self::RecentSessions(DEFAULT_SESSIONS)
    }

    pub(super) fn parse(uri: &str) -> Result<Self, ToolError> {
        match uri {
            OVERVIEW => return Ok(Self::Overview),
            CURRENT => return Ok(Self::CurrentSession),
            RECENT => return Ok(Self::default_recent()),
            _ => {}
        }
        if let Some(query) = uri.strip_prefix(RECENT).and_then(|rest| rest.strip_prefix('?')) {
            return parse_limit(query).map(Self::RecentSessions);
        }
        if let Some(name) = uri.strip_prefix(MODULE) {
            let name = percent_decode(name).filter(|name| !name.is_empty());
            return name.map(Self::Module).ok_or_else(|| {
                let uri = guard::display_path(uri);
                let message =
                    format!("invalid URI `{uri}`: missing or invalid module name; expected {MODULE_TEMPLATE}");
                ToolError::new(ErrorCode::InvalidInput, message)
            });
        }
        let message = format!(
            "unknown resource `{}`; available: {OVERVIEW}, {MODULE_TEMPLATE}, {CURRENT}, {RECENT_TEMPLATE}",
            guard::display_path(uri)
        );
        Err(ToolError::new(ErrorCode::NotFound, message)
            .with_detail("uri", guard::display_path(uri)))
    }
}

impl fmt::Display for ContextUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overview => f.write_str(OVERVIEW),
            Self::Module(name) => write!(f, "{MODULE}{}", percent_encode(name)),
            Self::CurrentSession => f.write_str(CURRENT),
            Self::RecentSessions(DEFAULT_SESSIONS) => f.write_str(RECENT),
            Self::RecentSessions(limit) => write!(f, "{RECENT}?limit={limit}"),
        }
    }
}

fn parse_limit(query: &str) -> Result<usize, ToolError> {
    let invalid = |problem: String| {
        let message =
            format!("{problem}; expected {RECENT}?limit=n with n from 1 to {MAX_SESSIONS}");
        Err(ToolError::new(ErrorCode::InvalidInput, message)
            .with_detail("field", "limit")
            .with_detail("minimum", 1)
            .with_detail("maximum", MAX_SESSIONS))
    };
    match query.split_once('=') {
        Some(("limit", number)) => match number.parse() {
            Ok(limit @ 1..=MAX_SESSIONS) => Ok(limit),
            _ => invalid(format!("invalid limit `{}`", guard::display_path(number))),
        },
        _ => invalid(format!("unknown query `{}`", guard::display_path(query))),
    }
}

/// Decodes percent escapes; returns `None` if an escape is invalid or the result is not UTF-8.
///
/// Characters that are not escaped are accepted as they are.
fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        bytes.push(match (first, after) {
            (b'%', [high, low, after @ ..]) => {
                rest = after;
                let digit = |byte: &u8| char::from(*byte).to_digit(16);
                u8::try_from(digit(high)? * 16 + digit(low)?).ok()?
            }
            (b'%', _) => return None,
            (byte, _) => *byte,
        });
    }
    String::from_utf8(bytes).ok()
}

fn percent_encode(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let bytes = name.bytes();
    bytes.map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parses_valid_uris() {
        for (uri, address) in [
            ("context://project/overview", ContextUri::Overview),
            ("context://session/current", ContextUri::CurrentSession),
            ("context://sessions/recent", ContextUri::RecentSessions(10)),
            ("context://sessions/recent?limit=50", ContextUri::RecentSessions(50)),
            ("context://module/auth", ContextUri::Module("auth".into())),
            ("context://module/@scope/web", ContextUri::Module("@scope/web".into())),
            ("context://module/%40scope%2fweb", ContextUri::Module("@scope/web".into())),
        ] {
            assert_eq!(ContextUri::parse(uri).expect(uri), address);
        }
    }

    #[test]
    fn rejects_invalid_uris() {
        let errors = [
            "context://sessions/recent?limit=0",
            "context://sessions/recent?limit=51",
            "context://sessions/recent?limit=-1",
            "context://sessions/recent?limit=ten",
            "context://sessions/recent?page=2",
            "context://sessions/recent?",
            "context://module/",
            "context://module/%zz",
            "context://module/%ff",
            "context://project",
            "context://project/overview?x=1",
            "file:///etc/passwd",
            "",
        ]
        .map(|uri| format!("{uri:?}\n  {}", ContextUri::parse(uri).expect_err(uri)));
        insta::assert_snapshot!(errors.join("\n"));
    }

    proptest! {
        #[test]
        fn module_name_round_trips_through_uri(name in "\\PC{1,20}") {
            let address = ContextUri::Module(name);
            prop_assert_eq!(ContextUri::parse(&address.to_string()).expect("a formatted URI is valid"), address);
        }

        #[test]
        fn parse_never_panics(text in "context://(module/|sessions/recent\\?)?\\PC{0,20}") {
            let _ = ContextUri::parse(&text);
        }
    }
}
