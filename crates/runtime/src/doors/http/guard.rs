//! Host and Origin: only requests that were meant for this server come in.

use std::net::IpAddr;

use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri, header};
use contract::{Code, ToolError};

use super::HttpOptions;

pub(super) fn check(
    options: &HttpOptions,
    headers: &HeaderMap,
    uri: &Uri,
) -> Result<(), ToolError> {
    let refused = |what: &str, key: &str| {
        ToolError::new(
            Code::AccessDenied,
            format!(
                "the {what} header does not name this server; allow it with `{key}` in vouch.toml"
            ),
        )
        .with("header", what)
    };
    let host = match headers.get(header::HOST) {
        Some(host) => host.to_str().ok().and_then(|host| host.parse::<Authority>().ok()),
        None => uri.authority().cloned(),
    };
    if !host.is_some_and(|host| host_is_ours(options, &host)) {
        return Err(refused("Host", "server.allowed_hosts"));
    }
    for origin in headers.get_all(header::ORIGIN) {
        if !origin.to_str().is_ok_and(|origin| origin_is_ours(options, origin)) {
            return Err(refused("Origin", "server.allowed_origins"));
        }
    }
    Ok(())
}

fn host_is_ours(options: &HttpOptions, host: &Authority) -> bool {
    let name = bare(host.host());
    is_loopback(name)
        || name.parse::<IpAddr>().is_ok_and(|ip| ip == options.address.ip())
        || options.allowed_hosts.iter().any(|allowed| {
            allowed.eq_ignore_ascii_case(name) || allowed.eq_ignore_ascii_case(host.as_str())
        })
}

fn origin_is_ours(options: &HttpOptions, origin: &str) -> bool {
    if options.allowed_origins.iter().any(|allowed| allowed.eq_ignore_ascii_case(origin)) {
        return true;
    }
    origin.parse::<Uri>().is_ok_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri.host().is_some_and(|host| is_loopback(bare(host)))
    })
}

fn bare(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

/// Whether a host, without brackets and port, is this machine.
pub fn is_loopback(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admits(host: &str, origin: Option<&str>) -> bool {
        let mut options = HttpOptions::new(([192, 168, 7, 7], 1).into());
        options.allowed_hosts.push("vouch.example".into());
        options.allowed_origins.push("https://app.example".into());
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        check(&options, &headers, &Uri::from_static("/mcp")).is_ok()
    }

    #[test]
    fn hosts() {
        for host in [
            "localhost:80",
            "127.0.0.1",
            "[::1]:9",
            "LOCALHOST",
            "vouch.example:1",
            "192.168.7.7:2",
        ] {
            assert!(admits(host, None), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "192.168.7.8",
            "[::2]",
        ] {
            assert!(!admits(host, None), "{host}");
        }
    }

    #[test]
    fn origins() {
        for origin in
            ["http://localhost:5173", "http://127.0.0.1", "https://[::1]:4", "https://app.example"]
        {
            assert!(admits("localhost", Some(origin)), "{origin}");
        }
        for origin in
            ["null", "https://evil.example", "file://localhost", "https://app.example.evil", "x"]
        {
            assert!(!admits("localhost", Some(origin)), "{origin}");
        }
    }
}
