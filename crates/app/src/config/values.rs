//! Values that are more than a string: checked where they are read, whether in a file, a variable or a flag.

use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::str::FromStr;

use serde::Deserialize;

/// Makes a checked string readable from TOML as well as from text.
macro_rules! from_text {
    ($name:ident) => {
        impl TryFrom<String> for $name {
            type Error = String;
            fn try_from(text: String) -> Result<Self, String> {
                text.parse()
            }
        }
    };
}

/// The address to listen on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Host(pub IpAddr);
from_text!(Host);

impl FromStr for Host {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let text = if text == "localhost" { "127.0.0.1" } else { text };
        let text = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
        text.parse().map(Self).map_err(|_| {
            format!("`{text}` is not an IP address; write 127.0.0.1, ::1, 0.0.0.0 or such")
        })
    }
}

/// A host name as it stands in a request's Host header.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct HostName(pub String);
from_text!(HostName);

impl FromStr for HostName {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let plain = !text.is_empty()
            && text.chars().all(|c| c.is_ascii_alphanumeric() || "-._:[]".contains(c));
        plain.then(|| Self(text.to_owned())).ok_or_else(|| {
            format!("`{text}` is not a host name; write it without scheme and path, as vouch.example.com")
        })
    }
}

/// A browser origin.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Origin(pub String);
from_text!(Origin);

impl FromStr for Origin {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let uri: Option<http::Uri> = text.parse().ok();
        let plain = uri.is_some_and(|uri| {
            matches!(uri.scheme_str(), Some("http" | "https"))
                && uri.host().is_some()
                && uri.path_and_query().is_none_or(|path| path == "/")
        }) && !text.ends_with('/');
        plain.then(|| Self(text.to_owned())).ok_or_else(|| {
            format!("`{text}` is not an origin; write scheme, host and port only, as https://app.example.com")
        })
    }
}

/// Where something is reached over HTTP.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Endpoint(pub String);
from_text!(Endpoint);

impl FromStr for Endpoint {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let uri: Option<http::Uri> = text.parse().ok();
        let plain = uri.is_some_and(|uri| {
            matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some()
        });
        plain
            .then(|| Self(text.trim_end_matches('/').to_owned()))
            .ok_or_else(|| format!("`{text}` is not an http:// or https:// address with a host"))
    }
}

/// Where a server is reached, as it is written: a slash at the end may matter to it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Address(pub String);
from_text!(Address);

impl FromStr for Address {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        text.parse::<Endpoint>().map(|_| Self(text.to_owned()))
    }
}

/// A folder: not nothing, and not the root itself.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Folder(pub String);
from_text!(Folder);

impl FromStr for Folder {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let named = std::path::Path::new(text).file_name().is_some() && !text.contains('\0');
        named
            .then(|| Self(text.to_owned()))
            .ok_or_else(|| format!("`{text}` does not name a folder of its own"))
    }
}

/// A folder to leave out: its name wherever it stands, or its path from the root.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Exclude(pub String);
from_text!(Exclude);

impl FromStr for Exclude {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let folder = text.trim_end_matches('/');
        let mut parts = folder.split('/');
        let plain = !text.contains(['\0', '*', '?', '[', '\\'])
            && parts.all(|part| !matches!(part, "" | "." | ".."));
        plain.then(|| Self(folder.to_owned())).ok_or_else(|| {
            format!("`{text}` is not a folder's name or its path from the root; patterns go into .ignore")
        })
    }
}

/// How many threads may work in the background: more than any machine has use for is a slip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "i64")]
pub(crate) struct Threads(pub NonZeroUsize);

impl TryFrom<i64> for Threads {
    type Error = String;
    fn try_from(number: i64) -> Result<Self, String> {
        let fits = usize::try_from(number).ok().filter(|number| *number <= 256);
        let threads = fits.and_then(NonZeroUsize::new);
        threads.map(Self).ok_or_else(|| format!("`{number}` is not a number from 1 to 256"))
    }
}

/// The name of an environment variable.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Variable(pub String);
from_text!(Variable);

impl FromStr for Variable {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let plain = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        // What was written may be the key itself, so it is not repeated.
        plain.then(|| Self(text.to_owned())).ok_or_else(|| {
            "expected the name of an environment variable, such as OPENAI_API_KEY, not the key itself".to_owned()
        })
    }
}
