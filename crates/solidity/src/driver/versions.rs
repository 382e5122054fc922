//! Chooses a compiler for each source that is compiled, so that few versions are needed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::graph::SourceGraph;
use super::pragma::{SolcVersion, VersionRange};
use crate::toolchain::{AvailableCompiler, DEFAULT_SOLC};

/// The newest patch of each minor version that npm has. Standard JSON begins with 0.4.11.
const RELEASES: [(u32, u32, u32); 5] = [(4, 11, 26), (5, 0, 17), (6, 0, 12), (7, 0, 6), (8, 0, 37)];

/// Maximum number of requirements in a message.
const MAX_SHOWN: usize = 4;

/// Error of choosing compilers: some sources cannot be compiled by any that is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingCompiler {
    /// A source that cannot be compiled.
    pub source: String,
    /// Its requirements and those of its imports: the pragma, and the source that contains it.
    pub requirements: Vec<(String, String)>,
    /// Versions to install, so that every source can be compiled. Empty if no release satisfies the requirements.
    pub install: Vec<SolcVersion>,
    /// Versions that are installed.
    pub installed: Vec<String>,
}

impl std::error::Error for MissingCompiler {}

impl fmt::Display for MissingCompiler {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_satisfiable = !self.install.is_empty();
        match (is_satisfiable, self.installed.is_empty()) {
            (true, true) => return out.write_str("no Solidity compiler found"),
            (true, false) => write!(out, "no installed compiler ({})", self.installed.join(", "))?,
            (false, _) => out.write_str("no known release of Solidity")?,
        }
        write!(out, " satisfies all requirements of `{}`: ", self.source)?;
        for (number, (pragma, source)) in self.requirements.iter().take(MAX_SHOWN).enumerate() {
            let comma = if number > 0 { ", " } else { "" };
            write!(out, "{comma}`{pragma}` in `{source}`")?;
        }
        match self.requirements.len().saturating_sub(MAX_SHOWN) {
            0 => Ok(()),
            more => write!(out, " and {more} more"),
        }
    }
}

impl MissingCompiler {
    /// Returns the arguments of `vouch solc install`; `None` if no release helps.
    pub fn install_arguments(&self) -> Option<String> {
        let versions: Vec<_> = self.install.iter().map(SolcVersion::to_string).collect();
        (!versions.is_empty()).then(|| versions.join(" "))
    }

    /// Returns a hint for the user, which may continue with another remedy.
    pub(crate) fn hint_beginning(&self) -> String {
        match self.install_arguments() {
            Some(versions) if versions == DEFAULT_SOLC => {
                "run `vouch solc install`, pass `--install-solc`".to_owned()
            }
            Some(versions) => format!("run `vouch solc install {versions}`, pass `--install-solc`"),
            None => "correct the pragmas, which contradict each other or name no known release"
                .to_owned(),
        }
    }

    /// Returns a hint for the user.
    pub fn hint(&self) -> String {
        format!("{}, or pass a compiler with `--solc PATH`", self.hint_beginning())
    }
}

/// Sources to compile together with one compiler. Entries are positions in the graph.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CompileGroup {
    /// Position of the compiler.
    pub(crate) compiler: usize,
    pub(crate) entries: Vec<usize>,
}

/// An entry with the requirements of all sources that it needs.
struct EntryNeeds<'a> {
    entry: usize,
    ranges: BTreeSet<&'a str>,
    parsed: Vec<&'a VersionRange>,
}

impl EntryNeeds<'_> {
    fn admits(&self, version: Option<SolcVersion>) -> bool {
        // A compiler that does not tell its version may suit; it reports a mismatch itself.
        version.is_none_or(|version| self.parsed.iter().all(|range| range.contains(version)))
    }
}

/// Assigns a compiler to each entry. `pinned` replaces the requirements of the sources.
///
/// As in Foundry, one compiler that suits all entries is used for all. Otherwise each entry, in order, gets one that was
/// already chosen if it suits, or the first in the list that does.
pub(crate) fn assign_compilers(
    graph: &SourceGraph,
    entries: &[usize],
    pinned: Option<SolcVersion>,
    available: &[AvailableCompiler],
) -> Result<Vec<CompileGroup>, MissingCompiler> {
    let exact = pinned.map(VersionRange::exactly);
    let needs: Vec<_> =
        entries.iter().map(|&entry| collect_needs(graph, entry, exact.as_ref())).collect();
    let suits = |compiler: usize, entry: &EntryNeeds<'_>| entry.admits(available[compiler].version);
    let common = (0..available.len()).find(|&it| needs.iter().all(|entry| suits(it, entry)));
    if let Some(compiler) = common {
        return Ok(vec![CompileGroup { compiler, entries: entries.to_vec() }]);
    }
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut missing = Vec::new();
    for entry in needs {
        let chosen = groups.keys().copied().find(|&it| suits(it, &entry));
        match chosen.or_else(|| (0..available.len()).find(|&it| suits(it, &entry))) {
            Some(compiler) => groups.entry(compiler).or_default().push(entry.entry),
            None => missing.push(entry),
        }
    }
    match missing.is_empty() {
        true => Ok(groups
            .into_iter()
            .map(|(compiler, entries)| CompileGroup { compiler, entries })
            .collect()),
        false => Err(describe_missing(graph, &missing, pinned, available)),
    }
}

fn collect_needs<'a>(
    graph: &'a SourceGraph,
    entry: usize,
    exact: Option<&'a VersionRange>,
) -> EntryNeeds<'a> {
    let mut needs = EntryNeeds { entry, ranges: BTreeSet::new(), parsed: Vec::new() };
    if let Some(exact) = exact {
        needs.parsed.push(exact);
        return needs;
    }
    for index in graph.closure([entry]) {
        for (text, range) in &graph.sources[index].pragmas {
            if needs.ranges.insert(text) {
                needs.parsed.push(range);
            }
        }
    }
    needs
}

/// Describes the entries that no compiler suits; there is at least one.
fn describe_missing(
    graph: &SourceGraph,
    open: &[EntryNeeds<'_>],
    pinned: Option<SolcVersion>,
    available: &[AvailableCompiler],
) -> MissingCompiler {
    let entry = open[0].entry;
    let mut requirements = Vec::new();
    match pinned {
        Some(version) => requirements.push((version.to_string(), "foundry.toml".to_owned())),
        None => {
            for index in graph.closure([entry]) {
                let source = &graph.sources[index];
                for (text, _) in &source.pragmas {
                    if requirements.iter().all(|(known, _)| known != text) {
                        requirements.push((text.clone(), source.name.clone()));
                    }
                }
            }
        }
    }
    let installed = available.iter().map(|it| match it.version {
        Some(version) => version.to_string(),
        None => it.compiler.path().display().to_string(),
    });
    let mut install = suggest_installs(open);
    // A pinned version may be newer than the releases known here.
    install.extend(pinned.filter(|_| install.is_empty()));
    MissingCompiler {
        source: graph.sources[entry].name.clone(),
        requirements,
        install,
        installed: installed.collect(),
    }
}

/// Returns releases that suit the first of the entries, and as many others as can be.
fn suggest_installs(open: &[EntryNeeds<'_>]) -> Vec<SolcVersion> {
    let releases: Vec<_> = known_releases().collect();
    let mut versions = Vec::new();
    let mut rest: Vec<_> = open.iter().collect();
    // The message is about the first entry, so it comes first.
    if !releases.iter().any(|&version| open[0].admits(Some(version))) {
        return versions;
    }
    while let Some(first) = rest.first() {
        let suits =
            |version: &SolcVersion| rest.iter().filter(|it| it.admits(Some(*version))).count();
        let useful = releases.iter().filter(|version| first.admits(Some(**version)));
        let best = useful.copied().max_by_key(|version| (suits(version), *version));
        versions.extend(best);
        let covered = |needs: &&EntryNeeds<'_>| best.is_some_and(|it| needs.admits(Some(it)));
        let is_hopeless = best.is_none();
        rest = rest.into_iter().skip(usize::from(is_hopeless)).filter(|it| !covered(it)).collect();
    }
    versions
}

/// Returns the releases that npm has, as far as they are known.
fn known_releases() -> impl Iterator<Item = SolcVersion> {
    RELEASES.into_iter().flat_map(|(minor, first, last)| {
        (first..=last).map(move |patch| SolcVersion([0, minor, patch]))
    })
}
