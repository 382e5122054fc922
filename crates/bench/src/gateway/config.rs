//! Configuration of our gateway for a run: `vouch.toml` and overlays in a folder of their own.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::Value;

use super::upstream::{GatewayScene, Upstream, path_to_string};
use xtask::command::root;

/// One `[[upstream]]` with its overlays.
pub(super) struct UpstreamEntry {
    pub(super) name: String,
    pub(super) reach: UpstreamAddress,
    /// Tool and overlay.
    pub(super) overlays: Vec<(&'static str, Value)>,
}

pub(super) enum UpstreamAddress {
    /// Command of a child, and the folders it may write to.
    Stdio(Vec<String>, Vec<PathBuf>),
    Http(String),
}

impl UpstreamEntry {
    /// Returns the entry of a compared server; its name is always `up`.
    pub(super) fn from_upstream(scene: &GatewayScene, upstream: Upstream) -> Result<Self> {
        let reach = if upstream.http {
            UpstreamAddress::Http(format!("http://{}/mcp", scene.address(upstream.kind)?))
        } else {
            let writes = vec![scene.folder.path().join("own")];
            UpstreamAddress::Stdio(scene.command(upstream.kind), writes)
        };
        let overlays = vec![(upstream.kind.tool().0, upstream.kind.overlay())];
        Ok(Self { name: "up".into(), reach, overlays })
    }
}

/// Writes the configuration and returns the folder to start `vouch gateway` in. The sandbox is on, as by default.
pub(super) fn write_config(
    scene: &GatewayScene,
    name: &str,
    entries: &[UpstreamEntry],
) -> Result<PathBuf> {
    let folder = scene.folder.path().join(name);
    fs::create_dir_all(&folder)?;
    let mut text = String::new();
    for UpstreamEntry { name, reach, overlays } in entries {
        writeln!(text, "[[upstream]]\nname = {}", quote(name))?;
        match reach {
            UpstreamAddress::Stdio(command, writes) => {
                let args: Vec<_> = command[1..].iter().map(|it| quote(it)).collect();
                let runtime = Path::new(&command[0]).parent().unwrap_or(Path::new("/"));
                let packages = root().join("e2e/node_modules");
                let reads = [runtime, packages.as_path()].map(Path::to_owned);
                writeln!(text, "command = {}", quote(&command[0]))?;
                writeln!(text, "args = [{}]", args.join(", "))?;
                // Our server keeps its state outside its project, where the sandbox lets it write.
                let state = scene.folder.path().join("state");
                fs::create_dir_all(&state)?;
                writeln!(
                    text,
                    "env = {{ VOUCH_TRUST = \"1\", XDG_STATE_HOME = {} }}",
                    quote(&path_to_string(&state))
                )?;
                let reads = quote_paths(reads.iter().chain(writes).chain([&state]));
                let writes = quote_paths(writes.iter().chain([&state]));
                writeln!(
                    text,
                    "sandbox = {{ read = [{reads}], write = [{writes}], network = false }}"
                )?;
            }
            UpstreamAddress::Http(url) => {
                writeln!(text, "url = {}\ntransport = \"http\"", quote(url))?;
            }
        }
        for (tool, overlay) in overlays {
            let contracts = folder.join("contracts").join(name);
            fs::create_dir_all(&contracts)?;
            fs::write(
                contracts.join(format!("{tool}.json")),
                serde_json::to_string_pretty(overlay)?,
            )?;
        }
    }
    fs::write(folder.join("vouch.toml"), text)?;
    Ok(folder)
}

fn quote_paths<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> String {
    paths.into_iter().map(|path| quote(&path_to_string(path))).collect::<Vec<_>>().join(", ")
}

/// Quotes a text for TOML; JSON strings are valid TOML strings.
pub(super) fn quote(text: &str) -> String {
    Value::from(text).to_string()
}
