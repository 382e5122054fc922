//! URL of a node, of which only the host is displayed.

use std::fmt;

use percent_encoding::percent_decode_str;
use sha2::{Digest, Sha256};
use url::{Host, Url};

/// Minimum length of a part of a URL that is removed from messages. Shorter ones occur by chance and are no secrets.
const MIN_SECRET: usize = 4;

/// URL of a JSON-RPC endpoint. Everything but its host may be a secret, and is neither displayed nor printed by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct RpcUrl(Url);

/// The reason why a URL is invalid. Messages do not quote it, because it may contain an API key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RpcUrlError {
    #[error("expected a URL such as https://host/key")]
    NotAUrl,
    #[error("only http:// and https:// are supported")]
    UnsupportedScheme,
}

impl RpcUrl {
    /// Parses a URL; white space around it is ignored.
    pub fn parse(text: &str) -> Result<Self, RpcUrlError> {
        let mut url = Url::parse(text.trim()).map_err(|_| RpcUrlError::NotAUrl)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(RpcUrlError::UnsupportedScheme);
        }
        if !url.has_host() {
            return Err(RpcUrlError::NotAUrl);
        }
        url.set_fragment(None);
        Ok(Self(url))
    }

    /// Returns true if a text is meant as a URL rather than as the name of an endpoint.
    pub fn is_like(text: &str) -> bool {
        text.contains("://")
    }

    /// Returns host and port.
    pub fn host(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        match self.0.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    /// Returns true if the node runs on this machine.
    pub fn is_loopback(&self) -> bool {
        match self.0.host() {
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            Some(Host::Domain(name)) => name == "localhost",
            None => false,
        }
    }

    pub(crate) fn as_url(&self) -> &Url {
        &self.0
    }

    /// Returns a digest of the whole URL, under which the cache finds what it knows of the endpoint.
    pub(crate) fn digest(&self) -> String {
        let digest = Sha256::digest(self.0.as_str().as_bytes());
        alloy_primitives::hex::encode(&digest[..16])
    }

    /// Returns host and a short digest, which tell endpoints apart that differ in the secret part only.
    pub fn label(&self) -> String {
        format!("{}#{}", self.host(), &self.digest()[..8])
    }

    /// Removes every part of the URL that may be a secret from a text, as written and percent-decoded.
    pub(crate) fn redact(&self, text: &str) -> String {
        let Self(url) = self;
        let password = url.password().unwrap_or_default();
        let mut secrets = vec![url.as_str(), url.username(), password, url.path()];
        secrets.extend(url.path_segments().into_iter().flatten());
        let query = url.query().unwrap_or_default();
        secrets.push(query);
        secrets.extend(query.split(['&', '=']));
        let decoded = |text: &&str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let mut secrets: Vec<_> =
            secrets.iter().flat_map(|text| [(*text).to_owned(), decoded(text)]).collect();
        secrets.retain(|secret| secret.len() >= MIN_SECRET);
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), "…"))
    }
}

impl fmt::Display for RpcUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.host())
    }
}

impl fmt::Debug for RpcUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "RpcUrl({})", self.host())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_only_the_host() {
        let url = RpcUrl::parse(" https://me:hunter2@node.example:8545/v3/s3cr3t?key=abcdef#x\n");
        let url = url.unwrap();
        let shown = format!("{url} {url:?}");
        assert_eq!(shown, "node.example:8545 RpcUrl(node.example:8545)");
        let text = "invalid key s3cr3t of me:hunter2, abcdef in https://node.example";
        assert_eq!(url.redact(text), "invalid key … of me:…, … in https://node.example");
        let url = RpcUrl::parse("https://node.example/a%2Fkey?k=1&s3cr3t=0&n=x%20yz").unwrap();
        let text = "a%2Fkey a/key s3cr3t x%20yz x yz /a%2Fkey?k=1&s3cr3t=0&n=x%20yz /a/key";
        assert_eq!(url.redact(text), "… … … … … …?… …");
    }

    #[test]
    fn rejects_what_is_no_http_url() {
        let check = |text: &str| RpcUrl::parse(text).unwrap_err();
        assert_eq!(check("mainnet"), RpcUrlError::NotAUrl);
        assert_eq!(check("http://"), RpcUrlError::NotAUrl);
        assert_eq!(check("wss://node.example"), RpcUrlError::UnsupportedScheme);
        assert_eq!(check("file:///etc/passwd"), RpcUrlError::UnsupportedScheme);
    }

    #[test]
    fn recognizes_nodes_of_this_machine() {
        let check = |text: &str| RpcUrl::parse(text).unwrap().is_loopback();
        assert!(
            check("http://127.0.0.1:8545") && check("http://[::1]:1") && check("http://localhost")
        );
        assert!(!check("http://127.0.0.1.example") && !check("http://10.0.0.1"));
    }
}
