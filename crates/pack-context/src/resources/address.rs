//! The addresses of the documents, and what is wrong with others.

use std::fmt;

use contract::{Code, ToolError};

pub(super) const MODULE_TEMPLATE: &str = "context://module/{name}";
pub(super) const RECENT_TEMPLATE: &str = "context://sessions/recent{?limit}";

const OVERVIEW: &str = "context://project/overview";
const MODULE: &str = "context://module/";
const CURRENT: &str = "context://session/current";
const RECENT: &str = "context://sessions/recent";

const DEFAULT_SESSIONS: usize = 10;
const MAX_SESSIONS: usize = 50;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Address {
    Overview,
    Module(String),
    Current,
    Recent(usize),
}

impl Address {
    pub(super) fn recent() -> Self {
        Self::Recent(DEFAULT_SESSIONS)
    }

    pub(super) fn parse(uri: &str) -> Result<Self, ToolError> {
        match uri {
            OVERVIEW => return Ok(Self::Overview),
            CURRENT => return Ok(Self::Current),
            RECENT => return Ok(Self::recent()),
            _ => {}
        }
        if let Some(query) = uri.strip_prefix(RECENT).and_then(|rest| rest.strip_prefix('?')) {
            return limit(query).map(Self::Recent);
        }
        if let Some(name) = uri.strip_prefix(MODULE) {
            let name = decoded(name).filter(|name| !name.is_empty());
            return name.map(Self::Module).ok_or_else(|| {
                let message =
                    format!("`{}` names no module; write {MODULE_TEMPLATE}", guard::shown(uri));
                ToolError::new(Code::InvalidInput, message)
            });
        }
        let message = format!(
            "there is no document `{}`; there are {OVERVIEW}, {MODULE_TEMPLATE}, {CURRENT} and {RECENT_TEMPLATE}",
            guard::shown(uri)
        );
        Err(ToolError::new(Code::NotFound, message).with("uri", guard::shown(uri)))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overview => f.write_str(OVERVIEW),
            Self::Module(name) => write!(f, "{MODULE}{}", encoded(name)),
            Self::Current => f.write_str(CURRENT),
            Self::Recent(DEFAULT_SESSIONS) => f.write_str(RECENT),
            Self::Recent(limit) => write!(f, "{RECENT}?limit={limit}"),
        }
    }
}

fn limit(query: &str) -> Result<usize, ToolError> {
    let wrong = |what: String| {
        let message = format!("{what}; write {RECENT}?limit=n with n from 1 to {MAX_SESSIONS}");
        Err(ToolError::new(Code::InvalidInput, message)
            .with("field", "limit")
            .with("minimum", 1)
            .with("maximum", MAX_SESSIONS))
    };
    match query.split_once('=') {
        Some(("limit", number)) => match number.parse() {
            Ok(limit @ 1..=MAX_SESSIONS) => Ok(limit),
            _ => wrong(format!("`limit` is `{}`", guard::shown(number))),
        },
        _ => wrong(format!("`{}` is not understood", guard::shown(query))),
    }
}

/// Percent signs undone; None where that gives no text. A name that needs none may also be written as it is.
fn decoded(text: &str) -> Option<String> {
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

fn encoded(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let bytes = name.bytes();
    bytes.map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses() {
        for (uri, address) in [
            ("context://project/overview", Address::Overview),
            ("context://session/current", Address::Current),
            ("context://sessions/recent", Address::Recent(10)),
            ("context://sessions/recent?limit=50", Address::Recent(50)),
            ("context://module/auth", Address::Module("auth".into())),
            ("context://module/@scope/web", Address::Module("@scope/web".into())),
            ("context://module/%40scope%2fweb", Address::Module("@scope/web".into())),
        ] {
            assert_eq!(Address::parse(uri).expect(uri), address);
        }
    }

    #[test]
    fn what_is_wrong_with_others() {
        let wrong = [
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
        .map(|uri| format!("{uri:?}\n  {}", Address::parse(uri).expect_err(uri)));
        insta::assert_snapshot!(wrong.join("\n"));
    }

    proptest! {
        #[test]
        fn a_name_survives_its_address(name in "\\PC{1,20}") {
            let address = Address::Module(name);
            prop_assert_eq!(Address::parse(&address.to_string()).expect("it is ours"), address);
        }

        #[test]
        fn any_text_is_parsed(text in "context://(module/|sessions/recent\\?)?\\PC{0,20}") {
            let _ = Address::parse(&text);
        }
    }
}
