//! The deny list: names and path ends of files that no tool may read.
//!
//! Three layers decide on each name of a path:
//!
//! 1. Fixed patterns: Git internals, the patterns of the operator and of the packs. Nothing relaxes them. Without
//!    [`DenyList::with_source_exception`] the patterns of the seed contracts are among them.
//! 2. Secret files ([`SECRET_FILE_GROUPS`]), unless the name is harmless by convention (`*.pub`, `*.example`) or the
//!    operator allows it.
//! 3. Names that merely say "secret". With the source exception, a file of a programming language may have such a name or
//!    be in such a folder; its content is checked when it is opened (`Guard::with_source_check`).
//!
//! A copy is denied like its original: `backup_names.rs`. `secret_files.rs` has the list, `patterns.rs` the matching.

mod backup_names;
mod patterns;
mod secret_files;
mod source_names;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use contract::text;

pub use self::backup_names::matches_copy;
pub use self::patterns::matches_glob as matches_name_pattern;
use self::patterns::{NameKey, PatternSet};
pub use self::secret_files::{
    CONTRACT_PATTERNS, HARMLESS_PATTERNS, SECRET_FILE_GROUPS, SecretFileGroup,
};
pub use self::source_names::is_source_name;

/// Case-insensitive patterns for names and path ends; `*` matches any characters of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DenyList {
    /// Patterns that nothing relaxes.
    fixed: PatternSet,
    /// The patterns of the seed contracts, which hold literally unless there is a source exception.
    contract: PatternSet,
    files: PatternSet,
    /// Patterns that source code may match.
    words: PatternSet,
    harmless: PatternSet,
    /// Patterns that the operator allows.
    allowed: PatternSet,
    has_source_exception: bool,
}

/// The result of checking one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameVerdict<'d> {
    Allowed,
    /// Only source code may have this name, or be below a folder of this name.
    OnlySource(&'d str),
    Denied(&'d str),
}

impl Default for DenyList {
    /// Returns the default list without a source exception.
    fn default() -> Self {
        let collect = |patterns: &mut dyn Iterator<Item = &&str>| {
            let mut set = PatternSet::default();
            patterns.for_each(|pattern| set.insert(pattern));
            set
        };
        let groups = |may_be_source| {
            let groups = SECRET_FILE_GROUPS.iter();
            groups.filter(move |group| group.may_be_source == may_be_source)
        };
        Self {
            fixed: collect(&mut [".git"].iter()),
            contract: collect(&mut CONTRACT_PATTERNS.iter()),
            files: collect(&mut groups(false).flat_map(|group| group.patterns)),
            words: collect(&mut groups(true).flat_map(|group| group.patterns)),
            harmless: collect(&mut HARMLESS_PATTERNS.iter()),
            allowed: PatternSet::default(),
            has_source_exception: false,
        }
    }
}

impl DenyList {
    /// Adds a pattern that nothing relaxes.
    #[must_use]
    pub fn with_pattern(mut self, pattern: &str) -> Self {
        self.fixed.insert(pattern);
        self
    }

    /// Allows names that the default list denies. Fixed patterns and the patterns of the contract still apply. A pattern
    /// `folder/**` allows everything below the folder.
    #[must_use]
    pub fn with_allowed(mut self, pattern: &str) -> Self {
        self.allowed.insert(pattern);
        self
    }

    /// Lets source code have names that say "secret", for tools that read code.
    #[must_use]
    pub fn with_source_exception(mut self) -> Self {
        self.has_source_exception = true;
        self
    }

    /// Returns every pattern that can deny a name.
    pub fn patterns(&self) -> impl Iterator<Item = &str> {
        let contract = (!self.has_source_exception).then(|| self.contract.texts());
        let fixed = contract.into_iter().flatten().chain(self.fixed.texts());
        fixed.chain(self.files.texts()).chain(self.words.texts())
    }

    /// Returns what is denied, for the contract of a tool: the fixed patterns one by one, the default list by group.
    pub fn describe(&self) -> String {
        let contract = (!self.has_source_exception).then(|| self.contract.texts());
        let fixed = self.fixed.texts();
        let fixed =
            fixed.filter(|text| self.has_source_exception || !CONTRACT_PATTERNS.contains(text));
        let listed = contract.into_iter().flatten().chain(fixed);
        let listed: Vec<_> = listed.map(|pattern| format!("`{pattern}`")).collect();
        let groups = SECRET_FILE_GROUPS.iter().filter(|group| !group.may_be_source);
        let groups: Vec<_> = groups.map(|group| group.name).collect();
        let source = match self.has_source_exception {
            true => {
                " Names that contain `secret`, `credential` and similar words are blocked unless the file is source \
                     code without a recognizable secret."
            }
            false => "",
        };
        format!(
            "{}; and the names of common secret files and their backup copies ({}).{source}",
            listed.join(", "),
            groups.join(", ")
        )
    }

    /// Returns the pattern that denies the file at this path from the root as the error.
    pub fn check_file_path(&self, path: &str) -> Result<(), String> {
        self.check_names(&split_path(path), true)
    }

    /// Returns the pattern that denies the folder at this path and everything below it as the error.
    pub fn check_folder_path(&self, path: &str) -> Result<(), String> {
        self.check_names(&split_path(path), false)
    }

    /// Like [`DenyList::check_file_path`], for an entry of a folder that is already allowed. Cheaper than checking every
    /// name again.
    pub fn check_entry(&self, path: &str, is_file: bool) -> Result<(), String> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let parents = folder.split('/').filter(|name| !name.is_empty());
        let only_source = match self.judge_name(parents.clone(), name) {
            NameVerdict::Denied(pattern) => return Err(pattern.to_owned()),
            NameVerdict::OnlySource(pattern) => Some(pattern),
            NameVerdict::Allowed => None,
        };
        if !is_file || is_source_name(&fold_name(name)) {
            return Ok(());
        }
        let only_source = only_source.or_else(|| self.find_word(&split_path(folder)));
        only_source.map_or(Ok(()), |pattern| Err(pattern.to_owned()))
    }

    /// Returns the pattern because of which only source code may be at this path. The path must be allowed.
    pub(crate) fn source_only_pattern(&self, path: &str) -> Option<&str> {
        if self.has_source_exception { self.find_word(&split_path(path)) } else { None }
    }

    /// Checks a path by its names. `is_file` is false if it may be a folder.
    pub(crate) fn check_names(&self, names: &[&str], is_file: bool) -> Result<(), String> {
        let mut only_source = None;
        for (at, name) in names.iter().enumerate() {
            match self.judge_name(names[..at].iter().copied(), name) {
                NameVerdict::Allowed => {}
                NameVerdict::OnlySource(pattern) => only_source = only_source.or(Some(pattern)),
                NameVerdict::Denied(pattern) => return Err(pattern.to_owned()),
            }
        }
        let is_source = || names.last().is_some_and(|name| is_source_name(&fold_name(name)));
        match only_source {
            Some(pattern) if is_file && !is_source() => Err(pattern.to_owned()),
            _ => Ok(()),
        }
    }

    /// Judges one name in the folder with the given path.
    pub(crate) fn judge_name<'p>(
        &self,
        parents: impl DoubleEndedIterator<Item = &'p str> + Clone,
        name: &str,
    ) -> NameVerdict<'_> {
        let names = &name_and_originals(fold_name(name));
        let find = |set: &'_ PatternSet| set.find(parents.clone(), names).is_some();
        let fixed = self.fixed.find(parents.clone(), names);
        let fixed = fixed.or_else(|| match self.has_source_exception {
            true => None,
            false => self.contract.find(parents.clone(), names),
        });
        if let Some(pattern) = fixed {
            return NameVerdict::Denied(pattern);
        }
        let (pattern, is_word) = match self.files.find(parents.clone(), names) {
            Some(pattern) => (pattern, false),
            None => match self.words.find(parents.clone(), names) {
                Some(pattern) => (pattern, true),
                None => return NameVerdict::Allowed,
            },
        };
        if find(&self.harmless) || find(&self.allowed) {
            NameVerdict::Allowed
        } else if is_word && self.has_source_exception {
            NameVerdict::OnlySource(pattern)
        } else {
            NameVerdict::Denied(pattern)
        }
    }

    fn find_word(&self, names: &[&str]) -> Option<&str> {
        names.iter().enumerate().find_map(|(at, name)| {
            match self.judge_name(names[..at].iter().copied(), name) {
                NameVerdict::OnlySource(pattern) => Some(pattern),
                _ => None,
            }
        })
    }
}

/// Returns the keys of a folded name and of the names that it may be a copy of.
fn name_and_originals(name: Cow<'_, str>) -> Vec<NameKey<'_>> {
    let mut originals = Vec::new();
    backup_names::for_each_original(&name, |original| {
        originals.push(NameKey::new(original.into_owned().into()));
    });
    let mut names = vec![NameKey::new(name)];
    names.append(&mut originals);
    names
}

fn split_path(path: &str) -> Vec<&str> {
    path.split('/').filter(|name| !name.is_empty()).collect()
}

/// Folds names that a case-insensitive file system may treat as equal: without case (upper, then lower, so that `ſ`
/// becomes `s`), without characters that some file systems ignore, and without the dots and spaces at the end that
/// Windows file systems drop.
pub fn fold_name(name: &str) -> Cow<'_, str> {
    let is_dropped = [' ', '.'];
    if name.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        return Cow::Borrowed(name.trim_end_matches(is_dropped));
    }
    let mut folded: String = if name.is_ascii() {
        name.to_ascii_lowercase()
    } else {
        let visible = name.chars().filter(|c| !text::is_hidden(*c));
        visible.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
    };
    folded.truncate(folded.trim_end_matches(is_dropped).len());
    Cow::Owned(folded)
}
