//! Questions about real projects: semble's annotations, and sources from registry packages.
//!
//! Annotations come from semble's repository or from a folder, because no package has them. Neither is kept in this
//! repository. The packages are newer than the annotations; every annotated file still exists.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::collection::{AnnotatedQuery, CollectionDocument, QueryCollection};
use crate::peers::unpack_archive;
use xtask::command::{command, root, run};

const ANNOTATIONS: &str = "https://github.com/MinishLab/semble";

/// A registry package, the folder of it to use, and the path of that folder in the annotations.
enum RegistryPackage {
    Pip { name: &'static str, version: &'static str },
    Npm { name: &'static str, version: &'static str, folder: &'static str, place: &'static str },
    Crate { name: &'static str, version: &'static str, folder: &'static str, place: &'static str },
}

use RegistryPackage::{Crate, Npm, Pip};

const PROJECTS: [(&str, &[RegistryPackage]); 10] = [
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

pub(crate) struct AnnotatedProject {
    pub(crate) name: &'static str,
    packages: &'static [RegistryPackage],
    annotations: PathBuf,
}

/// Returns every project, or an empty list if the annotations are unavailable.
pub(crate) fn list_projects(annotations: Option<&Path>) -> Result<Vec<AnnotatedProject>> {
    let folder = match annotations {
        Some(folder) => root().join(folder),
        None => match clone_annotations() {
            Ok(folder) => folder,
            Err(error) => {
                println!("no annotated projects: {error:#}; pass a folder with --annotations");
                return Ok(Vec::new());
            }
        },
    };
    ensure!(
        folder.is_dir(),
        "{} is not a folder; pass semble's with --annotations",
        folder.display()
    );
    let project = |(name, packages)| AnnotatedProject {
        name,
        packages,
        annotations: folder.join(format!("{name}.json")),
    };
    Ok(PROJECTS.into_iter().map(project).collect())
}

fn clone_annotations() -> Result<PathBuf> {
    let clone = root().join("target/bench/semble");
    if !clone.exists() {
        let mut git = command("git", &["clone", "--quiet", "--depth", "1", ANNOTATIONS]);
        git.arg(&clone).env("GIT_TERMINAL_PROMPT", "0");
        run(git)?;
    }
    Ok(clone.join("benchmarks/annotations"))
}

impl AnnotatedProject {
    pub(crate) fn read_collection(&self) -> Result<QueryCollection> {
        let tree = root().join("target/bench/projects").join(self.name);
        if !tree.exists() {
            let scratch = tempfile::tempdir_in(root().join("target"))?;
            let made = scratch.path().join("tree");
            for package in self.packages {
                package
                    .fetch_into(scratch.path(), &made)
                    .with_context(|| format!("failed to fetch the sources of {}", self.name))?;
            }
            fs::create_dir_all(tree.parent().expect("it is below `target`"))?;
            fs::rename(made, &tree)?;
        }
        let mut documents = Vec::new();
        read_tree(&tree, &tree, &mut documents)?;
        documents.sort_by(|a, b| a.path.cmp(&b.path));
        let annotations = fs::read_to_string(&self.annotations)
            .with_context(|| format!("failed to read {}", self.annotations.display()))?;
        let annotations: Vec<Value> = serde_json::from_str(&annotations)?;
        let queries = annotations
            .iter()
            .map(|each| parse_annotation(each, &documents))
            .collect::<Result<_>>()?;
        Ok(QueryCollection { name: self.name.to_owned(), is_project: true, documents, queries })
    }
}

/// Parses an annotation: the question, the files that answer it, and those that help.
fn parse_annotation(
    annotation: &Value,
    documents: &[CollectionDocument],
) -> Result<AnnotatedQuery> {
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
    Ok(AnnotatedQuery { text, relevant })
}

impl RegistryPackage {
    /// Moves the folder to its path in the annotations, below `tree`.
    fn fetch_into(&self, scratch: &Path, tree: &Path) -> Result<()> {
        let (from, place) = match *self {
            Pip { name, version } => (fetch_pip(scratch, name, version)?.join(name), name),
            Npm { name, version, folder, place } => {
                (fetch_npm(scratch, name, version)?.join(folder), place)
            }
            Crate { name, version, folder, place } => {
                (fetch_crate(scratch, name, version)?.join(folder), place)
            }
        };
        let into = tree.join(place);
        fs::create_dir_all(into.parent().expect("it is below the tree"))?;
        fs::rename(&from, &into).with_context(|| format!("the package has no {}", from.display()))
    }
}

fn fetch_pip(scratch: &Path, name: &str, version: &str) -> Result<PathBuf> {
    let into = scratch.join("wheel");
    let pip =
        ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target"];
    let mut install = command("python3", &pip);
    install.arg(&into).args(["--no-compile", &format!("{name}=={version}")]);
    run(install)?;
    Ok(into)
}

fn fetch_npm(scratch: &Path, name: &str, version: &str) -> Result<PathBuf> {
    let folder = scratch.to_string_lossy();
    run(command(
        "npm",
        &["pack", "--silent", "--pack-destination", &folder, &format!("{name}@{version}")],
    ))?;
    let file = name.trim_start_matches('@').replace('/', "-");
    unpack_archive(&scratch.join(format!("{file}-{version}.tgz")), scratch, None)?;
    Ok(scratch.join("package"))
}

fn fetch_crate(scratch: &Path, name: &str, version: &str) -> Result<PathBuf> {
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

/// Reads every text file in a known language; semble and the product use the same files.
fn read_tree(root: &Path, folder: &Path, documents: &mut Vec<CollectionDocument>) -> Result<()> {
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
            if source::Language::detect(&relative, &text).is_some() {
                documents.push(CollectionDocument { path: relative, text });
            }
        }
    }
    Ok(())
}
