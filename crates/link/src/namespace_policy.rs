//! The policy of a server in its own namespaces: its files, hosts and resources. [`crate::supervisor`] enforces it.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Access of a server in its own namespaces, in addition to the system's programs and libraries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamespacePolicy {
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
    /// Paths that are empty for the server, even inside a grant.
    pub hidden: Vec<PathBuf>,
    pub masked: MaskedNames,
    pub network: NetworkAccess,
    pub limits: ResourceLimits,
}

/// Names of files and folders that are empty for a server, wherever they are below a grant. A path that `read` or `write`
/// lists by itself is not masked. Names are compared as the deny list of the tools compares them: without case and hidden
/// characters, and a copy such as `#id_rsa#` counts as its original. `*` matches any characters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MaskedNames {
    /// Patterns of a name, or of a folder's name and a name in it, such as `.git/config`.
    pub patterns: Vec<String>,
    /// Patterns like `patterns`, except that files of a programming language may match them. Their content is judged when
    /// the server starts: it must be source code without a recognizable secret.
    pub words: Vec<String>,
    /// Patterns of file names that neither `patterns` nor `words` mask, such as `*.example`.
    pub harmless: Vec<String>,
}

/// Network access of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum NetworkAccess {
    /// An empty network with a loopback interface of its own.
    #[default]
    None,
    /// As `None`, with a proxy in it that connects to these hosts.
    Hosts(Vec<AllowedHost>),
    /// The network of the machine.
    All,
}

/// A host and port that a server may connect to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllowedHost {
    /// A name in lower case, or an address without brackets.
    pub host: String,
    pub port: u16,
}

impl FromStr for AllowedHost {
    type Err = String;

    /// Parses `host:port`, where an IPv6 address is in brackets.
    fn from_str(text: &str) -> Result<Self, String> {
        let invalid =
            || format!("expected a host and a port such as \"api.github.com:443\", not {text:?}");
        let (host, port) = text.rsplit_once(':').ok_or_else(invalid)?;
        let port = port.parse().ok().filter(|port| *port != 0).ok_or_else(invalid)?;
        let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let host = match bracketed {
            Some(address) => match address.parse() {
                Ok(IpAddr::V6(address)) => address.to_string(),
                _ => return Err(invalid()),
            },
            None => host.trim_end_matches('.').to_ascii_lowercase(),
        };
        let is_name_byte =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
        let is_name = !host.is_empty() && host.len() <= 253 && host.bytes().all(is_name_byte);
        if bracketed.is_some() || is_name { Ok(Self { host, port }) } else { Err(invalid()) }
    }
}

impl fmt::Display for AllowedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// Resource limits of a server. `None` is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLimits {
    /// Private writable memory of each process in bytes. Not the address space: Node reserves far more than it uses.
    pub memory: Option<u64>,
    /// Processes and threads of the server together.
    pub processes: Option<u32>,
    /// Open files of each process.
    pub open_files: Option<u32>,
    /// Processor time of each process. Off by default, because a server may run for months.
    pub cpu_seconds: Option<u64>,
}

impl Default for ResourceLimits {
    fn default() -> Self {
        Self {
            memory: Some(4 << 30),
            processes: Some(512),
            open_files: Some(4096),
            cpu_seconds: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_hosts_with_ports() {
        for (text, shown) in [
            ("API.GitHub.com:443", "api.github.com:443"),
            ("example.com.:80", "example.com:80"),
            ("127.0.0.1:8080", "127.0.0.1:8080"),
            ("[::1]:9", "[::1]:9"),
        ] {
            assert_eq!(text.parse::<AllowedHost>().unwrap().to_string(), shown);
        }
        for text in [
            "",
            "example.com",
            "example.com:0",
            "example.com:65536",
            ":443",
            "::1:443",
            "[a]:1",
            "a b:1",
            "*:443",
            "http://a:1",
        ] {
            assert!(text.parse::<AllowedHost>().is_err(), "{text}");
        }
    }
}
