//! What semble finds in the same documents, written out as files.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::collection::Collection;
use crate::peers::Peers;
use xtask::command::command;

/// Not called `semble.py`: Python would take the script for the package.
const SCRIPT: &str = "crates/bench/src/search/ask_semble.py";

/// For each query the documents that it finds, best first.
pub(crate) fn answers(peers: &Peers, collection: &Collection) -> Result<Vec<Vec<usize>>> {
    let folder = tempfile::tempdir()?;
    for document in &collection.documents {
        let path = folder.path().join(&document.path);
        fs::create_dir_all(path.parent().expect("it is below the folder"))?;
        fs::write(path, &document.text)?;
    }
    // Its own default for a project is code; a set of prose is what it calls docs.
    let prose = !collection.is_project
        && collection.documents.iter().all(|file| file.path.ends_with(".md"));
    let mut python = command(peers.python(), &[SCRIPT]);
    python.arg(folder.path()).env("SEMBLE_MODEL_NAME", peers.semble_model()?);
    let mut child =
        python.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("starting semble")?;
    let texts: Vec<&str> = collection.queries.iter().map(|query| query.text.as_str()).collect();
    let asked = json!({"queries": texts, "content": if prose { "docs" } else { "code" }});
    child.stdin.take().expect("stdin is piped").write_all(asked.to_string().as_bytes())?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "semble ended with {}", output.status);
    let found: Vec<Vec<String>> =
        serde_json::from_slice(&output.stdout).context("reading what semble found")?;
    let numbers: HashMap<&str, usize> = collection
        .documents
        .iter()
        .enumerate()
        .map(|(number, file)| (file.path.as_str(), number))
        .collect();
    let number = |path: &String| numbers.get(path.as_str()).copied();
    Ok(found.iter().map(|paths| paths.iter().filter_map(number).collect()).collect())
}
