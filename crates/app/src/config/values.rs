//! Validated string values of files, environment variables and flags.

use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::str::FromStr;

use serde::Deserialize;

/// Implements `TryFrom<String>` by `FromStr`, so that serde validates the value.
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

/// An IP address to listen on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct ListenHost(pub IpAddr);
from_text!(ListenHost);

impl FromStr for ListenHost {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let text = if text == "localhost" { "127.0.0.1" } else { text };
        let text = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
        text.parse().map(Self).map_err(|_| {
            format!("invalid IP address `{text}`; expected one such as 127.0.0.1, ::1 or 0.0.0.0")
        })
    }
}

/// A host name in a request's Host header.
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
            format!("invalid host name `{text}`; omit scheme and path, as in vouch.example.com")
        })
    }
}

/// A browser origin.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct BrowserOrigin(pub String);
from_text!(BrowserOrigin);

impl FromStr for BrowserOrigin {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let uri: Option<http::Uri> = text.parse().ok();
        let plain = uri.is_some_and(|uri| {
            matches!(uri.scheme_str(), Some("http" | "https"))
                && uri.host().is_some()
                && uri.path_and_query().is_none_or(|path| path == "/")
        }) && !text.ends_with('/');
        plain.then(|| Self(text.to_owned())).ok_or_else(|| {
            format!("invalid origin `{text}`; expected scheme, host and port only, as in https://app.example.com")
        })
    }
}

/// The base URL of an HTTP API, without a trailing slash.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct EndpointUrl(pub String);
from_text!(EndpointUrl);

impl FromStr for EndpointUrl {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let uri: Option<http::Uri> = text.parse().ok();
        let plain = uri.is_some_and(|uri| {
            matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some()
        });
        plain.then(|| Self(text.trim_end_matches('/').to_owned())).ok_or_else(|| {
            format!("invalid URL `{text}`: expected http:// or https:// with a host")
        })
    }
}

/// The URL of an MCP server, as written: a trailing slash may matter.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct ServerUrl(pub String);
from_text!(ServerUrl);

impl FromStr for ServerUrl {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        text.parse::<EndpointUrl>().map(|_| Self(text.to_owned()))
    }
}

/// The path of a folder, neither empty nor the root itself.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct FolderPath(pub String);
from_text!(FolderPath);

impl FromStr for FolderPath {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let named = std::path::Path::new(text).file_name().is_some() && !text.contains('\0');
        named
            .then(|| Self(text.to_owned()))
            .ok_or_else(|| format!("invalid folder `{text}`: it has no name"))
    }
}

/// A folder to exclude: a name that matches anywhere, or a path from the root.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct ExcludedFolder(pub String);
from_text!(ExcludedFolder);

impl FromStr for ExcludedFolder {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let folder = text.trim_end_matches('/');
        let mut parts = folder.split('/');
        let plain = !text.contains(['\0', '*', '?', '[', '\\'])
            && parts.all(|part| !matches!(part, "" | "." | ".."));
        plain.then(|| Self(folder.to_owned())).ok_or_else(|| {
            format!("invalid folder `{text}`: expected a name or a path from the root; put patterns into .ignore")
        })
    }
}

/// A number of background threads, from 1 to 256.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "i64")]
pub(crate) struct ThreadCount(pub NonZeroUsize);

impl TryFrom<i64> for ThreadCount {
    type Error = String;
    fn try_from(number: i64) -> Result<Self, String> {
        let fits = usize::try_from(number).ok().filter(|number| *number <= 256);
        let threads = fits.and_then(NonZeroUsize::new);
        threads.map(Self).ok_or_else(|| format!("invalid number `{number}`: expected 1 to 256"))
    }
}

/// The name of an environment variable.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct VariableName(pub String);
from_text!(VariableName);

impl FromStr for VariableName {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let plain = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        // The text may be the key itself, so it is not repeated.
        plain.then(|| Self(text.to_owned())).ok_or_else(|| {
            "expected the name of an environment variable, such as OPENAI_API_KEY, not the key itself".to_owned()
        })
    }
}
