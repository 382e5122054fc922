//! `cargo xtask arrows`: compares the crate dependencies listed in ARCHITECTURE.md with the manifests.
//!
//! The list is a fenced block that starts with ```` ```arrows ````, one line `crate -> crate, crate` for each crate that
//! depends on another one of the workspace. Dev-dependencies are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::command::{command, read_stdout, root};

const PAGE: &str = "ARCHITECTURE.md";
const BLOCK_START: &str = "```arrows\n";
const BLOCK_END: &str = "```\n";

#[derive(clap::Args)]
pub(crate) struct ArrowsArgs {
    /// Write the list into ARCHITECTURE.md instead of comparing it
    #[arg(long)]
    write: bool,
}

/// Compares the list with the manifests or, with `--write`, replaces it.
pub(crate) fn update_arrows(args: &ArrowsArgs) -> Result<()> {
    if args.write { write_arrows() } else { check_arrows() }
}

/// Returns an error with the lines to write if the list differs from the manifests.
pub(crate) fn check_arrows() -> Result<()> {
    let page = read_page()?;
    let differences = compare_arrows(split_page(&page)?.1, &read_dependencies()?);
    ensure!(
        differences.is_empty(),
        "{PAGE} differs from the manifests; run `cargo xtask arrows --write`, or edit these lines:\n{}",
        differences.join("\n")
    );
    Ok(())
}

fn write_arrows() -> Result<()> {
    let page = read_page()?;
    let (before, _, after) = split_page(&page)?;
    let mut written = before.to_owned();
    for (name, dependencies) in read_dependencies()? {
        written.push_str(&format_arrow(&name, &dependencies));
        written.push('\n');
    }
    written.push_str(after);
    fs::write(root().join(PAGE), written).with_context(|| format!("failed to write {PAGE}"))
}

fn read_page() -> Result<String> {
    fs::read_to_string(root().join(PAGE)).with_context(|| format!("failed to read {PAGE}"))
}

/// Splits the page into the text up to the list, the list, and the text after it.
fn split_page(page: &str) -> Result<(&str, &str, &str)> {
    let start = page.find(BLOCK_START).with_context(|| format!("{PAGE} has no block `arrows`"))?;
    let start = start + BLOCK_START.len();
    let length = page[start..]
        .find(BLOCK_END)
        .with_context(|| format!("the block `arrows` in {PAGE} has no end"))?;
    let (before, rest) = page.split_at(start);
    let (list, after) = rest.split_at(length);
    Ok((before, list, after))
}

/// Returns the workspace dependencies of each crate that has any.
fn read_dependencies() -> Result<BTreeMap<String, BTreeSet<String>>> {
    let metadata = command("cargo", &["metadata", "--no-deps", "--format-version", "1"]);
    parse_dependencies(&read_stdout(metadata)?)
}

fn parse_dependencies(metadata: &str) -> Result<BTreeMap<String, BTreeSet<String>>> {
    let metadata: Value =
        serde_json::from_str(metadata).context("failed to parse the output of `cargo metadata`")?;
    let packages = metadata["packages"].as_array().context("`cargo metadata` lists no packages")?;
    let mut arrows = BTreeMap::new();
    for package in packages {
        let name = package["name"].as_str().context("a package has no name")?;
        let dependencies: BTreeSet<String> = package["dependencies"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|it| it["path"].is_string() && it["kind"] != "dev")
            .filter_map(|it| it["name"].as_str().map(str::to_owned))
            .collect();
        if !dependencies.is_empty() {
            arrows.insert(name.to_owned(), dependencies);
        }
    }
    Ok(arrows)
}

/// Returns one line per difference: `- line` to remove, `+ line` to add.
fn compare_arrows(list: &str, expected: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let listed: BTreeSet<&str> = list.lines().map(str::trim).filter(|it| !it.is_empty()).collect();
    let expected: BTreeSet<String> =
        expected.iter().map(|(name, dependencies)| format_arrow(name, dependencies)).collect();
    let removed = listed.iter().filter(|it| !expected.contains(**it)).map(|it| format!("- {it}"));
    let added =
        expected.iter().filter(|it| !listed.contains(it.as_str())).map(|it| format!("+ {it}"));
    removed.chain(added).collect()
}

fn format_arrow(name: &str, dependencies: &BTreeSet<String>) -> String {
    let dependencies: Vec<&str> = dependencies.iter().map(String::as_str).collect();
    format!("{name} -> {}", dependencies.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const METADATA: &str = r#"{"packages": [
        {"name": "cli", "dependencies": [
            {"name": "store", "kind": null, "path": "/x/store"},
            {"name": "contract", "kind": null, "path": "/x/contract"},
            {"name": "testkit", "kind": "dev", "path": "/x/testkit"},
            {"name": "serde", "kind": null}
        ]},
        {"name": "contract", "dependencies": [{"name": "serde", "kind": null}]},
        {"name": "store", "dependencies": [{"name": "contract", "kind": null, "path": "/x/contract"}]}
    ]}"#;

    #[test]
    fn ignores_dev_and_registry_dependencies() {
        let arrows = parse_dependencies(METADATA).unwrap();
        let lines: Vec<String> = arrows.iter().map(|(name, to)| format_arrow(name, to)).collect();
        assert_eq!(lines, ["cli -> contract, store", "store -> contract"]);
    }

    #[test]
    fn prints_lines_to_remove_and_to_add() {
        let expected = parse_dependencies(METADATA).unwrap();
        let page = "text\n```arrows\ncli -> contract\nstore -> contract\n```\nmore\n";
        let (before, list, after) = split_page(page).unwrap();
        assert_eq!((before, after), ("text\n```arrows\n", "```\nmore\n"));
        let differences = compare_arrows(list, &expected);
        assert_eq!(differences, ["- cli -> contract", "+ cli -> contract, store"]);
        assert!(
            compare_arrows("cli -> contract, store\nstore -> contract\n", &expected).is_empty()
        );
    }
}
