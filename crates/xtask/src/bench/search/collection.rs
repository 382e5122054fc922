//! Documents with queries whose answers are known.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::command::root;

/// The data sets; their README says what each is.
pub(crate) const SETS: [&str; 4] = ["cosqa", "ts_s", "rust_s", "ruff_rules"];

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

impl Collection {
    /// One of the data sets.
    pub(crate) fn read(folder: &Path, name: &str) -> Result<Self> {
        let folder = root().join(folder);
        let ending = match name {
            "cosqa" => "py",
            "ts_s" => "ts",
            "rust_s" => "rs",
            _ => "md",
        };
        let docs: Vec<String> = read(&folder, name, "docs")?;
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
