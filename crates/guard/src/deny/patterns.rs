//! A set of patterns for names and path ends, indexed so that most names cost a few hash lookups.

use std::collections::HashMap;

use super::fold_name;

/// Patterns with the text that they were written as.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PatternSet {
    texts: Vec<String>,
    /// Patterns without `*`.
    exact: HashMap<String, usize>,
    /// Patterns of the form `*.ext`, by extension.
    extensions: HashMap<String, usize>,
    /// Other patterns for one name.
    globs: Vec<(String, usize)>,
    /// Patterns of several names.
    paths: Vec<PathPattern>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct PathPattern {
    /// Names from the last to the first.
    names: Vec<String>,
    /// Ends with `/**`: matches everything below the names.
    below: bool,
    index: usize,
}

impl PatternSet {
    pub(super) fn insert(&mut self, pattern: &str) {
        let index = self.texts.len();
        let folded = fold_name(pattern.trim_matches('/'));
        if self.texts.contains(&folded) || folded.is_empty() {
            return;
        }
        if folded.contains('/') {
            let (path, below) = match folded.strip_suffix("/**") {
                Some(path) => (path, true),
                None => (folded.as_str(), false),
            };
            let names = path.split('/').rev().map(str::to_owned).collect();
            self.paths.push(PathPattern { names, below, index });
        } else if let Some(extension) = plain_extension(&folded) {
            self.extensions.insert(extension.to_owned(), index);
        } else if folded.contains('*') {
            self.globs.push((folded.clone(), index));
        } else {
            self.exact.insert(folded.clone(), index);
        }
        self.texts.push(folded);
    }

    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(String::as_str)
    }

    /// Returns the pattern that matches the folded name below the given folders.
    pub(super) fn find<'p>(
        &self,
        parents: impl DoubleEndedIterator<Item = &'p str> + Clone,
        name: &str,
    ) -> Option<&str> {
        self.find_index(parents, name).map(|index| self.texts[index].as_str())
    }

    fn find_index<'p>(
        &self,
        parents: impl DoubleEndedIterator<Item = &'p str> + Clone,
        name: &str,
    ) -> Option<usize> {
        let exact = self.exact.get(name).copied();
        let extension =
            name.rsplit_once('.').and_then(|(_, end)| self.extensions.get(end)).copied();
        let glob = self.globs.iter().find(|(glob, _)| matches_glob(glob, name));
        // The first pattern of the list is reported.
        let first = [exact, extension, glob.map(|(_, index)| *index)].into_iter().flatten().min();
        if first.is_some() {
            return first;
        }
        let path = self.paths.iter().find(|path| path.matches(parents.clone(), name));
        path.map(|path| path.index)
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
            set.find(parents, &fold_name(name)).map(str::to_owned)
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
}
