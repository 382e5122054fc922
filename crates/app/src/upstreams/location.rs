//! Formats an upstream's location for display, without secrets.

use crate::config::{UpstreamConfig, UpstreamConnection};

/// Returns the command or URL of an upstream, with secrets redacted.
pub fn display_location(upstream: &UpstreamConfig) -> String {
    match &upstream.connection {
        UpstreamConnection::Stdio { command, args, .. } => {
            let shown = std::iter::once(command.as_str()).chain(redact_args(args));
            shown.collect::<Vec<_>>().join(" ")
        }
        UpstreamConnection::Http { url, .. } => redact_url(url),
        UpstreamConnection::Sse { url, .. } => format!("{} (sse)", redact_url(url)),
    }
}

/// Returns the arguments of a program, with `…` in place of possible secrets.
pub fn redact_args(args: &[String]) -> impl Iterator<Item = &str> {
    // `--token x` is recognized only as a whole, so then every argument is redacted.
    let all_plain = secrets::find_secret(&args.join(" ")).is_none();
    args.iter().map(move |arg| match all_plain && secrets::find_secret(arg).is_none() {
        true => arg.as_str(),
        false => "…",
    })
}

/// Returns a URL without user info, and with its query replaced by `…`.
pub fn redact_url(url: &str) -> String {
    let (address, query) = url.split_once('?').map_or((url, ""), |(address, _)| (address, "?…"));
    let (scheme, rest) = address.split_once("://").unwrap_or(("", address));
    let (host, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    format!("{scheme}://{host}{path}{query}")
}
