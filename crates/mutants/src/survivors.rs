//! The committed list of mutants that no test needs to catch, each with its reason.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::edit::Mutant;

/// Mutants of one function with one reason.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SurvivorEntry {
    file: String,
    function: String,
    mutations: Vec<String>,
    reason: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct SurvivorFile {
    #[serde(default)]
    survivor: Vec<SurvivorEntry>,
}

/// Reasons by file, function and mutation.
#[derive(Debug, Default)]
pub(crate) struct Survivors {
    reasons: HashMap<(String, String, String), String>,
}

impl Survivors {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("failed to read {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("invalid list {}", path.display()))
    }

    fn parse(text: &str) -> Result<Self> {
        let file: SurvivorFile = toml::from_str(text)?;
        let mut reasons = HashMap::new();
        for entry in file.survivor {
            ensure!(!entry.reason.trim().is_empty(), "no reason for {}", entry.function);
            for mutation in entry.mutations {
                let key = (entry.file.clone(), entry.function.clone(), mutation);
                let text = format!("{} {}: {}", key.0, key.1, key.2);
                let old = reasons.insert(key, entry.reason.clone());
                ensure!(old.is_none(), "listed twice: {text}");
            }
        }
        Ok(Self { reasons })
    }

    /// Returns why a mutant may survive.
    pub(crate) fn reason(&self, file: &str, function: &str, mutation: &str) -> Option<&str> {
        let key = (file.to_owned(), function.to_owned(), mutation.to_owned());
        self.reasons.get(&key).map(String::as_str)
    }

    /// Returns entries for files of these mutants that match none of them.
    pub(crate) fn unknown(&self, mutants: &[&Mutant], files: &[String]) -> Vec<String> {
        let is_known = |(file, function, mutation): &&(String, String, String)| {
            mutants.iter().any(|mutant| {
                mutant.file == *file && mutant.function == *function && mutant.mutation == *mutation
            })
        };
        let mut unknown: Vec<String> = self
            .reasons
            .keys()
            .filter(|key| files.contains(&key.0) && !is_known(key))
            .map(|(file, function, mutation)| format!("{file} {function}: {mutation}"))
            .collect();
        unknown.sort();
        unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needs_a_reason_and_no_duplicates() {
        let entry = |reason: &str| {
            format!(
                "[[survivor]]\nfile = \"a\"\nfunction = \"f\"\nmutations = [\"m\"]\nreason = \"{reason}\"\n"
            )
        };
        assert_eq!(Survivors::parse(&entry("same result")).unwrap().reasons.len(), 1);
        assert!(Survivors::parse(&entry(" ")).is_err());
        assert!(Survivors::parse(&entry("a").repeat(2)).is_err());
    }
}
