//! Runs semble on the same documents, written to files.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::collection::QueryCollection;
use crate::peers::SearchPeers;
use xtask::command::command;

/// Not named `semble.py`, because Python would import the script instead of the package.
const SCRIPT: &str = "crates/bench/src/search/ask_semble.py";

/// Returns the documents that semble finds for each query, best first.
pub(crate) fn search_with_semble(
    peers: &SearchPeers,
    collection: &QueryCollection,
) -> Result<Vec<Vec<usize>>> {
    let folder = tempfile::tempdir()?;
    for document in &collection.documents {
        let path = folder.path().join(&document.path);
        fs::create_dir_all(path.parent().expect("it is below the folder"))?;
        fs::write(path, &document.text)?;
    }
    // semble's default is code; it calls prose docs.
    let prose = !collection.is_project
        && collection.documents.iter().all(|file| file.path.ends_with(".md"));
    let mut python = command(peers.python(), &[SCRIPT]);
    python.arg(folder.path()).env("SEMBLE_MODEL_NAME", peers.semble_model()?);
    let mut child = python
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("failed to start semble")?;
    let texts: Vec<&str> = collection.queries.iter().map(|query| query.text.as_str()).collect();
    let asked = json!({"queries": texts, "content": if prose { "docs" } else { "code" }});
    child.stdin.take().expect("stdin is piped").write_all(asked.to_string().as_bytes())?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "semble ended with {}", output.status);
    let found: Vec<Vec<String>> =
        serde_json::from_slice(&output.stdout).context("failed to parse the output of semble")?;
    let numbers: HashMap<&str, usize> = collection
        .documents
        .iter()
        .enumerate()
        .map(|(number, file)| (file.path.as_str(), number))
        .collect();
    let number = |path: &String| numbers.get(path.as_str()).copied();
    Ok(found.iter().map(|paths| paths.iter().filter_map(number).collect()).collect())
}
