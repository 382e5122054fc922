//! Remappings that are looked up by the beginnings of an importer and an import.
//!
//! A hostile project may have many remappings and many imports, so that an import is not compared with each of them.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use super::ImportRemapping;

/// Remappings in their order.
#[derive(Debug, Default)]
pub(crate) struct RemappingTable {
    list: Vec<ImportRemapping>,
    contexts: TextBeginnings<TextBeginnings<String>>,
}

impl RemappingTable {
    pub(crate) fn new(remappings: Vec<ImportRemapping>) -> Self {
        let mut table = Self::default();
        remappings.into_iter().for_each(|remapping| table.push(remapping));
        table
    }

    /// Adds a remapping. It replaces one of the same context and prefix, as in solc.
    pub(crate) fn push(&mut self, remapping: ImportRemapping) {
        let ImportRemapping { context, prefix, target } = &remapping;
        let prefixes = self.contexts.entry(context);
        target.clone_into(prefixes.entry(prefix));
        self.list.push(remapping);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &ImportRemapping> {
        self.list.iter()
    }

    /// Returns the name of the source that an import refers to. The longest context decides, then the longest prefix, then
    /// the position, as in solc.
    pub(crate) fn apply(&self, importer: &str, import: &str) -> String {
        let mut contexts = self.contexts.beginnings_of(importer);
        let matching = contexts.find_map(|(_, prefixes)| prefixes.beginnings_of(import).next());
        match matching {
            Some((prefix, target)) => format!("{target}{}", &import[prefix..]),
            None => import.to_owned(),
        }
    }
}

/// Values by text, found by the texts that begin with it.
#[derive(Debug)]
struct TextBeginnings<V> {
    values: HashMap<String, V>,
    /// Lengths of the texts, longest first.
    lengths: BTreeSet<Reverse<usize>>,
}

impl<V> Default for TextBeginnings<V> {
    fn default() -> Self {
        Self { values: HashMap::new(), lengths: BTreeSet::new() }
    }
}

impl<V: Default> TextBeginnings<V> {
    fn entry(&mut self, text: &str) -> &mut V {
        self.lengths.insert(Reverse(text.len()));
        self.values.entry(text.to_owned()).or_default()
    }
}

impl<V> TextBeginnings<V> {
    /// Returns the values of the texts that a text begins with, each with its length, longest first.
    fn beginnings_of(&self, text: &str) -> impl Iterator<Item = (usize, &V)> {
        self.lengths.range(Reverse(text.len())..).filter_map(move |&Reverse(length)| {
            Some((length, self.values.get(text.get(..length)?)?))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longest_context_then_longest_prefix_then_last_position_decide() {
        let lines = ["a/=1/", "a/b/=2/", "src/:a/=3/", "src/:é=4/", "a/b/=5/", "=6/", "x/:a=7"];
        let all = lines.iter().filter_map(|line| ImportRemapping::parse(line)).collect();
        let table = RemappingTable::new(all);
        let cases = [
            ("test/A.sol", "a/X.sol", "1/X.sol"),
            ("test/A.sol", "a/b/X.sol", "5/X.sol"),
            ("src/A.sol", "a/b/X.sol", "3/b/X.sol"),
            ("src/A.sol", "éX.sol", "4/X.sol"),
            ("src/A.sol", "b/X.sol", "b/X.sol"),
            ("x", "a", "a"),
        ];
        for (importer, import, name) in cases {
            assert_eq!(table.apply(importer, import), name, "{import} in {importer}");
        }
    }
}
