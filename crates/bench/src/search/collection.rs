//! Collections: documents, and queries whose answers are known.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;
use source::Language;

use xtask::command::root;

/// File endings of the languages of data sets.
const ENDINGS: [&str; 5] = ["py", "ts", "rs", "go", "java"];

/// Number of texts used to guess the language.
const SAMPLE: usize = 100;

pub(crate) struct QueryCollection {
    pub(crate) name: String,
    /// True for files of one project, false for unrelated texts.
    pub(crate) is_project: bool,
    pub(crate) documents: Vec<CollectionDocument>,
    pub(crate) queries: Vec<AnnotatedQuery>,
}

pub(crate) struct CollectionDocument {
    /// Path in a project; in a data set only its ending matters.
    pub(crate) path: String,
    pub(crate) text: String,
}

pub(crate) struct AnnotatedQuery {
    pub(crate) text: String,
    /// Indexes of the documents that answer the query.
    pub(crate) relevant: Vec<usize>,
}

/// Returns the names of the data sets in a folder, which has three files of each.
pub(crate) fn list_data_sets(folder: &Path) -> Result<Vec<String>> {
    let folder = root().join(folder);
    if !folder.is_dir() {
        println!("no data sets: {} is not a folder; pass one with --data", folder.display());
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

/// Returns the file ending of the language in which most texts define something, or that of prose.
fn guess_ending(texts: &[String]) -> &'static str {
    let sample = &texts[..texts.len().min(SAMPLE)];
    let defines = |ending: &str, text: &str| {
        let language = Language::detect(&format!("text.{ending}"), text);
        source::build_outline(language, text).chunks.iter().any(|chunk| chunk.name.is_some())
    };
    let count = |ending| sample.iter().filter(|text| defines(ending, text)).count();
    let counted = ENDINGS.map(|ending| (count(ending), ending));
    match counted.into_iter().max() {
        Some((most, ending)) if most * 4 > sample.len() * 3 => ending,
        _ => "md",
    }
}

impl QueryCollection {
    /// Reads a data set.
    pub(crate) fn read_data_set(folder: &Path, name: &str) -> Result<Self> {
        let folder = root().join(folder);
        let docs: Vec<String> = read_part(&folder, name, "docs")?;
        let ending = guess_ending(&docs);
        let queries: Vec<String> = read_part(&folder, name, "queries")?;
        let relevant: Vec<HashMap<String, Value>> = read_part(&folder, name, "qrels")?;
        let number = |text: &String| {
            text.parse().with_context(|| format!("{name}: invalid document number `{text}`"))
        };
        let documents = docs.into_iter().enumerate();
        Ok(Self {
            name: name.to_owned(),
            is_project: false,
            documents: documents
                .map(|(i, text)| CollectionDocument { path: format!("{i}.{ending}"), text })
                .collect(),
            queries: queries
                .into_iter()
                .zip(relevant)
                .map(|(text, right)| {
                    Ok(AnnotatedQuery {
                        text,
                        relevant: right.keys().map(number).collect::<Result<_>>()?,
                    })
                })
                .collect::<Result<_>>()?,
        })
    }
}

fn read_part<T: serde::de::DeserializeOwned>(folder: &Path, name: &str, part: &str) -> Result<T> {
    let path = folder.join(format!("{name}.{part}.json"));
    let text = fs::read_to_string(&path).with_context(|| {
        format!("failed to read {}; pass the folder of the data sets with --data", path.display())
    })?;
    serde_json::from_str(&text).with_context(|| format!("failed to parse {}", path.display()))
}
