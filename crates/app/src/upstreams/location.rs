//! An upstream's location as people may see it: without secrets.

use crate::config::{Connection, Upstream};

/// Where it is. An argument that is recognised as a secret should not be in the file, but if it is, it stays there.
pub fn place(upstream: &Upstream) -> String {
    match &upstream.connection {
        Connection::Stdio { command, args, .. } => {
            let shown = std::iter::once(command.as_str()).chain(shown_args(args));
            shown.collect::<Vec<_>>().join(" ")
        }
        Connection::Http { url, .. } => shown_url(url),
        Connection::Sse { url, .. } => format!("{} (sse)", shown_url(url)),
    }
}

/// The arguments of a program, with `…` in place of each that may be a secret.
pub fn shown_args(args: &[String]) -> impl Iterator<Item = &str> {
    // `--token x` is recognised only as a whole.
    let all_plain = secrets::find(&args.join(" ")).is_none();
    args.iter().map(move |arg| match all_plain && secrets::find(arg).is_none() {
        true => arg.as_str(),
        false => "…",
    })
}

/// Without what may be a key: who logs in, and what is asked.
pub fn shown_url(url: &str) -> String {
    let (address, query) = url.split_once('?').map_or((url, ""), |(address, _)| (address, "?…"));
    let (scheme, rest) = address.split_once("://").unwrap_or(("", address));
    let (host, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    format!("{scheme}://{host}{path}{query}")
}
