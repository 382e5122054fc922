//! A set of patterns for names and path ends, indexed so that most names cost a few comparisons.
//!
//! A name is compared with a pattern only if it has all letters of the pattern, and looked up only if its shape is that of a
//! known name.

use std::borrow::Cow;
use std::collections::HashMap;

use super::fold_name;

/// Patterns with the text that they were written as.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PatternSet {
    texts: Vec<String>,
    /// Patterns without `*`.
    exact: NameMap,
    /// Patterns of the form `*.ext`, by extension.
    extensions: NameMap,
    /// Other patterns for one name.
    globs: LetterList<(String, usize)>,
    /// Patterns of several names, with the letters of the last name.
    paths: LetterList<PathPattern>,
}

/// Patterns, each with the letters that a matching name must have.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LetterList<T> {
    letters: Vec<u64>,
    patterns: Vec<T>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct PathPattern {
    /// Names from the last to the first.
    names: Vec<String>,
    /// Ends with `/**`: matches everything below the names.
    below: bool,
    index: usize,
}

/// A folded name with what is compared first.
#[derive(Debug)]
pub(super) struct NameKey<'n> {
    text: Cow<'n, str>,
    letters: u64,
    /// The place of the extension.
    extension: Option<usize>,
}

/// Numbers by name. Most names that it does not have are recognized by their shape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct NameMap {
    names: HashMap<String, usize>,
    shapes: ShapeSet,
}

/// The shapes of some names: their lengths with their first and last bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ShapeSet([u64; 8]);

impl ShapeSet {
    pub(super) fn insert(&mut self, name: &str) {
        if let Some((word, bit)) = Self::place(name) {
            self.0[word] |= bit;
        }
    }

    /// Returns false if no name of this shape was inserted.
    pub(super) fn may_have(&self, name: &str) -> bool {
        Self::place(name).is_some_and(|(word, bit)| self.0[word] & bit != 0)
    }

    fn place(name: &str) -> Option<(usize, u64)> {
        let (first, last) = (*name.as_bytes().first()?, *name.as_bytes().last()?);
        let shape = usize::from(first) * 37 + usize::from(last) * 11 + name.len();
        Some((shape / 64 % 8, 1 << (shape % 64)))
    }
}

impl NameMap {
    fn insert(&mut self, name: &str, index: usize) {
        self.shapes.insert(name);
        self.names.insert(name.to_owned(), index);
    }

    fn get(&self, name: &str) -> Option<usize> {
        if self.shapes.may_have(name) { self.names.get(name).copied() } else { None }
    }
}

impl<'n> NameKey<'n> {
    /// Returns the key of a name that is already folded.
    pub(super) fn new(text: Cow<'n, str>) -> Self {
        let extension = text.bytes().rposition(|byte| byte == b'.').map(|at| at + 1);
        Self { letters: find_letters(&text), extension, text }
    }
}

impl<T> Default for LetterList<T> {
    fn default() -> Self {
        Self { letters: Vec::new(), patterns: Vec::new() }
    }
}

impl<T> LetterList<T> {
    fn push(&mut self, letters: u64, pattern: T) {
        self.letters.push(letters);
        self.patterns.push(pattern);
    }

    /// Returns the first pattern that matches a name with these letters.
    fn find(&self, letters: u64, matches: impl Fn(&T) -> bool) -> Option<&T> {
        let likely = self.letters.iter().enumerate().filter(|(_, wanted)| *wanted & !letters == 0);
        likely.map(|(index, _)| &self.patterns[index]).find(|pattern| matches(pattern))
    }
}

/// Returns a set of the bytes of a name. Some bytes share a bit.
fn find_letters(name: &str) -> u64 {
    name.bytes().fold(0, |letters, byte| letters | 1 << (byte % 64))
}

/// Returns the bytes that each name has that the pattern matches.
fn find_pattern_letters(pattern: &str) -> u64 {
    find_letters(&pattern.replace('*', ""))
}

impl PatternSet {
    pub(super) fn insert(&mut self, pattern: &str) {
        let index = self.texts.len();
        let folded = fold_name(pattern.trim_matches('/')).into_owned();
        if self.texts.contains(&folded) || folded.is_empty() {
            return;
        }
        if folded.contains('/') {
            let (path, below) = match folded.strip_suffix("/**") {
                Some(path) => (path, true),
                None => (folded.as_str(), false),
            };
            let names: Vec<_> = path.split('/').rev().map(str::to_owned).collect();
            let letters = if below { 0 } else { find_pattern_letters(&names[0]) };
            self.paths.push(letters, PathPattern { names, below, index });
        } else if let Some(extension) = plain_extension(&folded) {
            self.extensions.insert(extension, index);
        } else if folded.contains('*') {
            self.globs.push(find_pattern_letters(&folded), (folded.clone(), index));
        } else {
            self.exact.insert(&folded, index);
        }
        self.texts.push(folded);
    }

    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(String::as_str)
    }

    /// Returns the pattern that matches one of the names below the given folders; the first name that any matches decides.
    pub(super) fn find<'p>(
        &self,
        parents: impl DoubleEndedIterator<Item = &'p str> + Clone,
        names: &[NameKey<'_>],
    ) -> Option<&str> {
        let mut indices = names.iter().map(|name| self.find_index(parents.clone(), name));
        indices.find_map(|index| index).map(|index| self.texts[index].as_str())
    }

    fn find_index<'p>(
        &self,
        parents: impl DoubleEndedIterator<Item = &'p str> + Clone,
        name: &NameKey<'_>,
    ) -> Option<usize> {
        let exact = self.exact.get(&name.text);
        let extension = name.extension.and_then(|at| self.extensions.get(&name.text[at..]));
        let glob = self.globs.find(name.letters, |(glob, _)| matches_glob(glob, &name.text));
        // The first pattern of the list is reported.
        let first = [exact, extension, glob.map(|(_, index)| *index)].into_iter().flatten().min();
        first.or_else(|| {
            let matches = |path: &PathPattern| path.matches(parents.clone(), &name.text);
            self.paths.find(name.letters, matches).map(|path| path.index)
        })
    }
}

impl PathPattern {
    fn matches<'p>(
        &self,
        parents: impl DoubleEndedIterator<Item = &'p str> + Clone,
        name: &str,
    ) -> bool {
        if self.below {
            // Any folder above the name may be the one that the pattern ends at.
            let folders: Vec<&str> = parents.rev().collect();
            return (0..folders.len()).any(|start| self.ends_at(folders[start..].iter().copied()));
        }
        matches_glob(&self.names[0], name) && {
            let mut above = parents.rev();
            self.names[1..].iter().all(|wanted| matches_parent(wanted, above.next()))
        }
    }

    /// Returns true if the folders, from the last to the first, begin with the names.
    fn ends_at<'p>(&self, mut folders: impl Iterator<Item = &'p str>) -> bool {
        self.names.iter().all(|wanted| matches_parent(wanted, folders.next()))
    }
}

fn matches_parent(wanted: &str, folder: Option<&str>) -> bool {
    folder.is_some_and(|folder| matches_glob(wanted, &fold_name(folder)))
}

/// Returns the extension of a pattern `*.ext`.
fn plain_extension(pattern: &str) -> Option<&str> {
    pattern.strip_prefix("*.").filter(|extension| !extension.contains(['*', '.']))
}

/// Returns true if the folded name matches; `*` matches any characters.
///
/// Compares bytes in place: most patterns differ in the first byte, and a substring search costs more to set up than to do.
pub fn matches_glob(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut at, mut name_at) = (0, 0);
    // Position after the last star, and the end of what it matches so far.
    let mut star = None;
    while name_at < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                at += 1;
                star = Some((at, name_at));
            }
            Some(byte) if *byte == name[name_at] => {
                at += 1;
                name_at += 1;
            }
            _ => match star {
                Some((after, matched)) => {
                    at = after;
                    name_at = matched + 1;
                    star = Some((after, name_at));
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn star_matches_any_characters() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxcyyb", false),
            ("*ab*ab", "ab", false),
            ("**x**", "axb", true),
        ] {
            assert_eq!(matches_glob(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn path_patterns_match_the_end_of_a_path() {
        let mut set = PatternSet::default();
        for pattern in [".kube/config", "a/*/c", "tests/keys/**", "Mixed/Case.TXT"] {
            set.insert(pattern);
        }
        let find = |path: &str| {
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
            let parents = folder.split('/').filter(|part| !part.is_empty());
            set.find(parents, &[NameKey::new(fold_name(name))]).map(str::to_owned)
        };
        for (path, expected) in [
            (".kube/config", Some(".kube/config")),
            ("x/y/.KUBE/Config", Some(".kube/config")),
            ("config", None),
            ("kube/config", None),
            ("a/b/c", Some("a/*/c")),
            ("b/c", None),
            ("tests/keys/one", Some("tests/keys/**")),
            ("deep/tests/keys/more/one", Some("tests/keys/**")),
            ("tests/keys", None),
            ("mixed/case.txt", Some("mixed/case.txt")),
        ] {
            assert_eq!(find(path).as_deref(), expected, "{path}");
        }
    }

    /// Returns what [`PatternSet::find`] must return, by comparing every pattern.
    fn find_plainly<'d>(set: &'d PatternSet, folders: &[&str], name: &str) -> Option<&'d str> {
        let is_path = |text: &&str| text.contains('/');
        let mut names = set.texts().filter(|text| !is_path(text));
        let path = || {
            let index = set.paths.patterns.iter();
            let mut index = index.filter(|it| it.matches(folders.iter().copied(), name));
            index.next().map(|it| set.texts[it.index].as_str())
        };
        names.find(|text| matches_glob(text, name)).or_else(path)
    }

    #[test]
    fn shapes_and_letters_reject_no_match() {
        let mut set = PatternSet::default();
        let groups = super::super::SECRET_FILE_GROUPS.iter();
        let patterns: Vec<&str> = groups.flat_map(|it| it.patterns).copied().collect();
        patterns.iter().chain(&["é*ß", "a*b*c", "x/**"]).for_each(|it| set.insert(it));
        let mut found = 0;
        for pattern in patterns {
            for fill in ["", "a", "é", ".env", "-"] {
                let path = pattern.replace('*', fill).to_lowercase();
                for path in [path.clone(), format!("x{path}"), format!("{path}x"), path + ".key"] {
                    let mut folders: Vec<&str> = path.split('/').collect();
                    let name = folders.pop().unwrap_or_default();
                    let key = [NameKey::new(name.into())];
                    let expected = find_plainly(&set, &folders, name);
                    found += usize::from(expected.is_some());
                    assert_eq!(set.find(folders.iter().copied(), &key), expected, "{path}");
                }
            }
        }
        assert!(found > 1_000, "{found}");
    }
}
