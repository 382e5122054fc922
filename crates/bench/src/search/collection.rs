//! Documents with queries whose answers are known.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;
use source::Language;

use xtask::command::root;

/// Endings of the languages that a data set may be in.
const ENDINGS: [&str; 5] = ["py", "ts", "rs", "go", "java"];

/// So many texts show which language it is.
const SAMPLE: usize = 100;

pub(crate) struct Collection {
    pub(crate) name: String,
    /// Files of one project, not texts that have nothing to do with each other.
    pub(crate) is_project: bool,
    pub(crate) documents: Vec<Document>,
    pub(crate) queries: Vec<Query>,
}

pub(crate) struct Document {
    /// In a project, where the file is; else only the ending says something.
    pub(crate) path: String,
    pub(crate) text: String,
}

pub(crate) struct Query {
    pub(crate) text: String,
    /// Which documents answer it.
    pub(crate) relevant: Vec<usize>,
}

/// The names of the data sets in a folder, which has three files of each.
pub(crate) fn sets(folder: &Path) -> Result<Vec<String>> {
    let folder = root().join(folder);
    if !folder.is_dir() {
        println!("no data sets: {} is no folder; --data takes one that has them", folder.display());
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    for file in fs::read_dir(folder)? {
        let name = file?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".docs.json").map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

/// The ending of the language in which most texts define something; that of prose where none does.
fn ending(texts: &[String]) -> &'static str {
    let sample = &texts[..texts.len().min(SAMPLE)];
    let defines = |ending: &str, text: &str| {
        let language = Language::of(&format!("text.{ending}"), text);
        source::outline(language, text).chunks.iter().any(|chunk| chunk.name.is_some())
    };
    let count = |ending| sample.iter().filter(|text| defines(ending, text)).count();
    let counted = ENDINGS.map(|ending| (count(ending), ending));
    match counted.into_iter().max() {
        Some((most, ending)) if most * 4 > sample.len() * 3 => ending,
        _ => "md",
    }
}

impl Collection {
    /// One of the data sets.
    pub(crate) fn read(folder: &Path, name: &str) -> Result<Self> {
        let folder = root().join(folder);
        let docs: Vec<String> = read(&folder, name, "docs")?;
        let ending = ending(&docs);
        let queries: Vec<String> = read(&folder, name, "queries")?;
        let relevant: Vec<HashMap<String, Value>> = read(&folder, name, "qrels")?;
        let number = |text: &String| {
            text.parse().with_context(|| format!("{name}: `{text}` names no document"))
        };
        let documents = docs.into_iter().enumerate();
        Ok(Self {
            name: name.to_owned(),
            is_project: false,
            documents: documents
                .map(|(i, text)| Document { path: format!("{i}.{ending}"), text })
                .collect(),
            queries: queries
                .into_iter()
                .zip(relevant)
                .map(|(text, right)| {
                    Ok(Query { text, relevant: right.keys().map(number).collect::<Result<_>>()? })
                })
                .collect::<Result<_>>()?,
        })
    }
}

fn read<T: serde::de::DeserializeOwned>(folder: &Path, name: &str, part: &str) -> Result<T> {
    let path = folder.join(format!("{name}.{part}.json"));
    let text = fs::read_to_string(&path).with_context(|| {
        format!("reading {}; --data says where the data sets are", path.display())
    })?;
    serde_json::from_str(&text).with_context(|| format!("reading {}", path.display()))
}
