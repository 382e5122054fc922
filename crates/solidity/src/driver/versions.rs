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

/// The compilers that suit a source, as bits.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CompilerSet(Vec<u64>);

impl CompilerSet {
    /// Returns the set of those for whose positions `suits` is true.
    fn select(count: usize, suits: impl Fn(usize) -> bool) -> Self {
        let mut set = Self(vec![0; count.div_ceil(64)]);
        for position in (0..count).filter(|&position| suits(position)) {
            set.0[position / 64] |= 1 << (position % 64);
        }
        set
    }

    fn contains(&self, position: usize) -> bool {
        self.0[position / 64] & 1 << (position % 64) != 0
    }

    /// Removes those that are not in another set. Returns true if there were any.
    fn intersect(&mut self, other: &Self) -> bool {
        let before = self.clone();
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own &= other);
        *self != before
    }
}

/// Compilers that a source may be compiled with: those that are available, followed by the known releases.
struct CompilerChoice<'a> {
    available: &'a [AvailableCompiler],
    releases: Vec<SolcVersion>,
    /// For each source, the compilers that it and everything that it imports admit.
    suitable: Vec<CompilerSet>,
}

impl<'a> CompilerChoice<'a> {
    fn new(
        graph: &SourceGraph,
        pinned: Option<SolcVersion>,
        available: &'a [AvailableCompiler],
    ) -> Self {
        let releases: Vec<_> = known_releases().collect();
        // A compiler that does not tell its version may suit; it reports a mismatch itself.
        let versions: Vec<_> = available.iter().map(|it| it.version).collect();
        let versions: Vec<_> =
            versions.into_iter().chain(releases.iter().copied().map(Some)).collect();
        let exact = pinned.map(VersionRange::exactly);
        let suitable = graph.sources.iter().map(|source| {
            let own = source.pragmas.iter().map(|(_, range)| range);
            let ranges: Vec<_> = match &exact {
                Some(exact) => vec![exact],
                None => own.collect(),
            };
            CompilerSet::select(versions.len(), |position| {
                versions[position].is_none_or(|it| ranges.iter().all(|range| range.contains(it)))
            })
        });
        let mut choice = Self { available, releases, suitable: suitable.collect() };
        choice.add_imports(graph);
        choice
    }

    /// Removes from each source the compilers that its imports do not admit. Imports may form cycles.
    ///
    /// Walking through all imports of each entry would take time that grows with the square of the sources.
    fn add_imports(&mut self, graph: &SourceGraph) {
        let mut importers = vec![Vec::new(); graph.sources.len()];
        for (importer, source) in graph.sources.iter().enumerate() {
            for &imported in &source.imports {
                importers[imported].push(importer);
            }
        }
        let mut changed: Vec<_> = (0..graph.sources.len()).collect();
        while let Some(imported) = changed.pop() {
            let admitted = self.suitable[imported].clone();
            for &importer in &importers[imported] {
                if self.suitable[importer].intersect(&admitted) {
                    changed.push(importer);
                }
            }
        }
    }

    fn suits(&self, compiler: usize, entry: usize) -> bool {
        self.suitable[entry].contains(compiler)
    }

    fn release_suits(&self, release: usize, entry: usize) -> bool {
        self.suits(self.available.len() + release, entry)
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
    let choice = CompilerChoice::new(graph, pinned, available);
    let common =
        (0..available.len()).find(|&it| entries.iter().all(|&entry| choice.suits(it, entry)));
    if let Some(compiler) = common {
        return Ok(vec![CompileGroup { compiler, entries: entries.to_vec() }]);
    }
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut missing = Vec::new();
    for &entry in entries {
        let chosen = groups.keys().copied().find(|&it| choice.suits(it, entry));
        match chosen.or_else(|| (0..available.len()).find(|&it| choice.suits(it, entry))) {
            Some(compiler) => groups.entry(compiler).or_default().push(entry),
            None => missing.push(entry),
        }
    }
    match missing.is_empty() {
        true => Ok(groups
            .into_iter()
            .map(|(compiler, entries)| CompileGroup { compiler, entries })
            .collect()),
        false => Err(describe_missing(graph, &missing, pinned, &choice)),
    }
}

/// Describes the entries that no compiler suits; there is at least one.
fn describe_missing(
    graph: &SourceGraph,
    open: &[usize],
    pinned: Option<SolcVersion>,
    choice: &CompilerChoice<'_>,
) -> MissingCompiler {
    let entry = open[0];
    let mut requirements = Vec::new();
    match pinned {
        Some(version) => requirements.push((version.to_string(), "foundry.toml".to_owned())),
        None => {
            let mut known = BTreeSet::new();
            for index in graph.closure([entry]) {
                let source = &graph.sources[index];
                for (text, _) in &source.pragmas {
                    if known.insert(text) {
                        requirements.push((text.clone(), source.name.clone()));
                    }
                }
            }
        }
    }
    let installed = choice.available.iter().map(|it| match it.version {
        Some(version) => version.to_string(),
        None => it.compiler.path().display().to_string(),
    });
    let mut install = suggest_installs(open, choice);
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
fn suggest_installs(open: &[usize], choice: &CompilerChoice<'_>) -> Vec<SolcVersion> {
    let releases = 0..choice.releases.len();
    let has_release = |entry: usize| releases.clone().any(|it| choice.release_suits(it, entry));
    let mut versions = Vec::new();
    // The message is about the first entry, so it comes first.
    if !has_release(open[0]) {
        return versions;
    }
    let mut rest: Vec<_> = open.iter().copied().filter(|&entry| has_release(entry)).collect();
    while let Some(&first) = rest.first() {
        let count = |release| rest.iter().filter(|&&it| choice.release_suits(release, it)).count();
        let useful = releases.clone().filter(|&release| choice.release_suits(release, first));
        let Some(best) = useful.max_by_key(|&release| (count(release), release)) else { break };
        versions.push(choice.releases[best]);
        rest.retain(|&entry| !choice.release_suits(best, entry));
    }
    versions
}

/// Returns the releases that npm has, as far as they are known.
fn known_releases() -> impl Iterator<Item = SolcVersion> {
    RELEASES.into_iter().flat_map(|(minor, first, last)| {
        (first..=last).map(move |patch| SolcVersion([0, minor, patch]))
    })
}
