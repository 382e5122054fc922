//! What our gateway is told for a run: `vouch.toml` and overlays, in a folder of their own.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::Value;

use super::upstream::{Scene, Upstream, shown};
use xtask::command::root;

/// One `[[upstream]]` with its overlays.
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) reach: Reach,
    /// Tool and overlay.
    pub(super) overlays: Vec<(&'static str, Value)>,
}

pub(super) enum Reach {
    /// A child, and the folders it may write to.
    Stdio(Vec<String>, Vec<PathBuf>),
    Http(String),
}

impl Entry {
    /// The server of a comparison, under the one name that it has everywhere.
    pub(super) fn compared(scene: &Scene, upstream: Upstream) -> Result<Self> {
        let reach = if upstream.http {
            Reach::Http(format!("http://{}/mcp", scene.address(upstream.kind)?))
        } else {
            let writes = vec![scene.folder.path().join("own")];
            Reach::Stdio(scene.command(upstream.kind), writes)
        };
        let overlays = vec![(upstream.kind.tool().0, upstream.kind.overlay())];
        Ok(Self { name: "up".into(), reach, overlays })
    }
}

/// A folder to start `vouch gateway` in. The sandbox is on, as it is by default.
pub(super) fn write(scene: &Scene, name: &str, entries: &[Entry]) -> Result<PathBuf> {
    let folder = scene.folder.path().join(name);
    fs::create_dir_all(&folder)?;
    let mut text = String::new();
    for Entry { name, reach, overlays } in entries {
        writeln!(text, "[[upstream]]\nname = {}", quoted(name))?;
        match reach {
            Reach::Stdio(command, writes) => {
                let args: Vec<_> = command[1..].iter().map(|it| quoted(it)).collect();
                let runtime = Path::new(&command[0]).parent().unwrap_or(Path::new("/"));
                let packages = root().join("e2e/node_modules");
                let reads = [runtime, packages.as_path()].map(Path::to_owned);
                writeln!(text, "command = {}", quoted(&command[0]))?;
                writeln!(text, "args = [{}]", args.join(", "))?;
                let reads = list(reads.iter().chain(writes));
                let writes = list(writes);
                writeln!(
                    text,
                    "sandbox = {{ read = [{reads}], write = [{writes}], network = false }}"
                )?;
            }
            Reach::Http(url) => {
                writeln!(text, "url = {}\ntransport = \"http\"", quoted(url))?;
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

fn list<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> String {
    paths.into_iter().map(|path| quoted(&shown(path))).collect::<Vec<_>>().join(", ")
}

/// JSON's strings are TOML's, too.
pub(super) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
