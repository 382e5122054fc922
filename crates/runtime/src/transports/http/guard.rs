//! Host and Origin check: admits only requests that are addressed to this server.

use std::net::IpAddr;

use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri, header};
use contract::{ErrorCode, ToolError};

use super::HttpOptions;

/// Returns an error unless every Host and every Origin is loopback, the bound address or configured.
pub(super) fn check_host_and_origin(
    options: &HttpOptions,
    headers: &HeaderMap,
    uri: &Uri,
) -> Result<(), ToolError> {
    let refused = |header_name: &str, key: &str| {
        ToolError::new(
            ErrorCode::AccessDenied,
            format!(
                "the {header_name} header does not name this server; allow it with `{key}` in vouch.toml"
            ),
        )
        .with_detail("header", header_name)
    };
    // A request target with an authority counts as well: HTTP/2 has it instead of the header.
    let named = headers.get_all(header::HOST).into_iter();
    let mut hosts = named
        .map(|host| host.to_str().ok().and_then(|host| host.parse::<Authority>().ok()))
        .chain(uri.authority().cloned().map(Some))
        .peekable();
    let has_host = hosts.peek().is_some();
    if !has_host || !hosts.all(|host| host.is_some_and(|host| is_allowed_host(options, &host))) {
        return Err(refused("Host", "server.allowed_hosts"));
    }
    for origin in headers.get_all(header::ORIGIN) {
        if !origin.to_str().is_ok_and(|origin| is_allowed_origin(options, origin)) {
            return Err(refused("Origin", "server.allowed_origins"));
        }
    }
    Ok(())
}

fn is_allowed_host(options: &HttpOptions, host: &Authority) -> bool {
    let name = strip_brackets(host.host());
    is_loopback(name)
        || name.parse::<IpAddr>().is_ok_and(|ip| ip == options.address.ip())
        || options.allowed_hosts.iter().any(|allowed| {
            allowed.eq_ignore_ascii_case(name) || allowed.eq_ignore_ascii_case(host.as_str())
        })
}

fn is_allowed_origin(options: &HttpOptions, origin: &str) -> bool {
    if options.allowed_origins.iter().any(|allowed| allowed.eq_ignore_ascii_case(origin)) {
        return true;
    }
    origin.parse::<Uri>().is_ok_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri.host().is_some_and(|host| is_loopback(strip_brackets(host)))
    })
}

fn strip_brackets(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

/// Returns true if a host, without brackets and port, is a loopback name or address.
pub fn is_loopback(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admits(host: &str, origin: Option<&str>) -> bool {
        let mut options = HttpOptions::new(([192, 168, 7, 7], 1).into());
        options.allowed_hosts.extend(["vouch.example".into(), "port.example:8443".into()]);
        options.allowed_origins.push("https://app.example".into());
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        check_host_and_origin(&options, &headers, &Uri::from_static("/mcp")).is_ok()
    }

    #[test]
    fn admits_only_allowed_hosts() {
        for host in [
            "localhost:80",
            "127.0.0.1",
            "[::1]:9",
            "LOCALHOST",
            "vouch.example:1",
            "192.168.7.7:2",
            "VOUCH.example",
            "Port.example:8443",
        ] {
            assert!(admits(host, None), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "192.168.7.8",
            "[::2]",
            "port.example",
            "port.example:1",
        ] {
            assert!(!admits(host, None), "{host}");
        }
    }

    #[test]
    fn admits_only_allowed_origins() {
        for origin in
            ["http://localhost:5173", "http://127.0.0.1", "https://[::1]:4", "https://APP.example"]
        {
            assert!(admits("localhost", Some(origin)), "{origin}");
        }
        for origin in [
            "null",
            "https://evil.example",
            "file://localhost",
            "https://app.example.evil",
            "x",
            "",
        ] {
            assert!(!admits("localhost", Some(origin)), "{origin}");
        }
    }

    #[test]
    fn checks_every_host() {
        let check = |hosts: &[&str], target: &'static str| {
            let mut headers = HeaderMap::new();
            for host in hosts {
                headers.append(header::HOST, host.parse().unwrap());
            }
            let options = HttpOptions::new(([127, 0, 0, 1], 1).into());
            check_host_and_origin(&options, &headers, &Uri::from_static(target)).is_ok()
        };
        assert!(check(&["localhost"], "/mcp") && check(&[], "https://localhost/mcp"));
        assert!(check(&["localhost", "127.0.0.1"], "http://localhost/mcp"));
        for (hosts, target) in [
            (&["localhost", "evil.example"][..], "/mcp"),
            (&["evil.example", "localhost"], "/mcp"),
            (&["localhost", "@"], "/mcp"),
            (&["localhost"], "http://evil.example/mcp"),
            (&[], "http://evil.example/mcp"),
            (&[], "/mcp"),
        ] {
            assert!(!check(hosts, target), "{hosts:?} {target}");
        }
    }

    #[test]
    fn checks_every_origin_header() {
        let check = |origins: &[&str]| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, "localhost".parse().unwrap());
            for origin in origins {
                headers.append(header::ORIGIN, origin.parse().unwrap());
            }
            let options = HttpOptions::new(([127, 0, 0, 1], 1).into());
            check_host_and_origin(&options, &headers, &Uri::from_static("/mcp")).is_ok()
        };
        let (own, foreign) = ("http://localhost", "https://evil.example");
        assert!(check(&[own, own]));
        for origins in [[own, foreign], [foreign, own], [foreign, foreign]] {
            assert!(!check(&origins), "{origins:?}");
        }
    }

    #[test]
    fn needs_a_host() {
        let options = HttpOptions::new(([127, 0, 0, 1], 1).into());
        let check = |headers: &HeaderMap, uri: &'static str| {
            check_host_and_origin(&options, headers, &Uri::from_static(uri)).is_ok()
        };
        let mut headers = HeaderMap::new();
        assert!(!check(&headers, "/mcp"));
        // HTTP/2 has the host in the address.
        assert!(check(&headers, "http://localhost:80/mcp"));
        assert!(!check(&headers, "http://evil.example/mcp"));
        headers.insert(header::HOST, "evil.example".parse().unwrap());
        assert!(!check(&headers, "http://localhost:80/mcp"));
        headers.insert(header::HOST, axum::http::HeaderValue::from_bytes(b"\xff").unwrap());
        assert!(!check(&headers, "http://localhost:80/mcp"));
    }
}
