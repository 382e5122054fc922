//! Compiles the sources of a project: finds imports, chooses compiler versions, caches their output.
//!
//! ```text
//! entries ──► graph (imports, scan) ──► versions (pragma) ──► one group per compiler ──► cache or compile ──► merge
//! ```
//!
//! Every source is read here, and compilers get its text: which files may be read is decided by [`ImportResolver`] alone.
//! A compiler that looks for an import itself, in order to report it, is limited to the project too.

mod cache;
mod graph;
mod imports;
mod pragma;
mod scan;
mod settings;
mod versions;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

pub(crate) use cache::BuildCache;
use graph::SourceGraph;
pub(crate) use graph::defines_contract;
pub(crate) use imports::{FoundFiles, FoundSource, ImportResolver, LibraryIndex};
pub use pragma::SolcVersion;
pub(crate) use settings::SolcSettings;
use versions::CompileGroup;
pub use versions::MissingCompiler;

use crate::compile::{ImportPaths, run_compiler};
use crate::format::standard;
use crate::staleness::{self, SourceRoots};
use crate::toolchain::{AvailableCompiler, SolcCompiler};
use crate::{LoadError, SolidityBuild, Toolchain, ToolchainError, merge};

/// What is compiled.
pub(crate) struct CompileRequest<'a> {
    /// Path for messages.
    pub(crate) path: &'a Path,
    pub(crate) entries: Vec<FoundSource>,
    pub(crate) resolver: ImportResolver,
    pub(crate) settings: SolcSettings,
    /// Version that the project demands, whatever its sources say.
    pub(crate) pinned: Option<SolcVersion>,
}

/// Compiles sources with the compilers that they need.
pub(crate) fn compile_sources(
    request: CompileRequest<'_>,
    toolchain: &Toolchain,
) -> Result<SolidityBuild, LoadError> {
    let CompileRequest { path, entries, mut resolver, settings, pinned } = request;
    let graph = SourceGraph::read(&entries, &mut resolver)?;
    let positions: Vec<_> = entries.iter().filter_map(|it| graph.find(&it.name)).collect();
    if positions.is_empty() {
        return Ok(SolidityBuild::default());
    }
    let mut job =
        CompileJob { path, graph: &graph, resolver: &resolver, settings: &settings, toolchain };
    let named = toolchain.find_named_compiler()?;
    let (available, groups) = match named {
        // A compiler that the user named is used for everything. It reports sources that it does not suit.
        Some(compiler) => {
            let version = toolchain.query_version(&compiler, &resolver.root);
            let groups = vec![CompileGroup { compiler: 0, entries: positions }];
            (vec![AvailableCompiler { compiler, version }], groups)
        }
        None => {
            let available = toolchain.list_compilers(&resolver.root)?;
            let groups = versions::assign_compilers(&graph, &positions, pinned, &available)?;
            (available, groups)
        }
    };
    let mut units = Vec::new();
    for (number, group) in groups.iter().enumerate() {
        let mut unit = job.compile_group(group, &available[group.compiler])?;
        // A source that is an entry of another group is compiled there as its project wants it.
        let others = groups.iter().enumerate().filter(|(other, _)| *other != number);
        let taken: BTreeSet<_> = others
            .flat_map(|(_, other)| &other.entries)
            .map(|&entry| graph.sources[entry].name.as_str())
            .collect();
        unit.contracts.retain(|contract| !taken.contains(contract.source.as_str()));
        units.push(unit);
    }
    Ok(merge::merge_units(units))
}

/// Everything that the groups of a compilation share.
struct CompileJob<'a> {
    path: &'a Path,
    graph: &'a SourceGraph,
    resolver: &'a ImportResolver,
    settings: &'a SolcSettings,
    toolchain: &'a Toolchain,
}

impl CompileJob<'_> {
    fn compile_group(
        &mut self,
        group: &CompileGroup,
        compiler: &AvailableCompiler,
    ) -> Result<SolidityBuild, LoadError> {
        let names = self.graph.closure(group.entries.iter().copied());
        let input: Arc<str> = self.build_input(&names, compiler.version).to_string().into();
        let cache = self.toolchain.cache.as_deref().map(BuildCache::new);
        let entry = cache.as_ref().and_then(|it| it.entry_path(&input, &compiler.compiler));
        let cached =
            cache.as_ref().zip(entry.as_ref()).and_then(|(cache, entry)| cache.load(entry));
        let given: HashSet<_> =
            names.iter().map(|&index| self.graph.sources[index].name.as_str()).collect();
        if let Some(output) = cached.as_deref().and_then(standard::parse_standard)
            && output.depends_only_on(&given)
            && let Ok(build) = output.into_build(self.path)
        {
            return Ok(self.fill_texts(build));
        }
        let imports = ImportPaths {
            root: self.resolver.root.clone(),
            include_folders: self.resolver.include_folders.clone(),
            working_folder: self.toolchain.working_folder(&self.resolver.root),
        };
        let output = run_compiler(&compiler.compiler, &imports, self.toolchain, &input)?;
        let (build, is_complete) = self.parse_output(compiler.compiler.path(), &output, &given)?;
        // The entry is found by the input, so that it must not depend on files that the compiler read itself.
        if let Some((cache, entry)) = cache.zip(entry).filter(|_| is_complete) {
            cache.store(&entry, &output.stdout);
        }
        Ok(self.fill_texts(build))
    }

    fn build_input(&self, sources: &BTreeSet<usize>, version: Option<SolcVersion>) -> Value {
        let remappings: Vec<_> = self.resolver.remappings.iter().map(ToString::to_string).collect();
        let mut settings = json!({
            "remappings": remappings,
            "outputSelection": { "*": { "": ["ast"], "*": [
                "abi", "metadata",
                "evm.bytecode.object", "evm.bytecode.sourceMap", "evm.bytecode.linkReferences",
                "evm.deployedBytecode.object", "evm.deployedBytecode.sourceMap",
                "evm.deployedBytecode.linkReferences", "evm.deployedBytecode.immutableReferences",
            ] } },
        });
        self.settings.add_to(&mut settings, version);
        // Sorted, so that the input does not depend on the order of imports.
        let sources: BTreeMap<_, _> = sources
            .iter()
            .map(|&index| &self.graph.sources[index])
            .map(|source| (source.name.clone(), json!({ "content": source.text })))
            .collect();
        json!({ "language": "Solidity", "sources": sources, "settings": settings })
    }

    /// Parses the standard JSON output of a compiler that ended. Returns true if it depends on the `given` sources only.
    fn parse_output(
        &self,
        program: &Path,
        finished: &crate::toolchain::ProgramOutput,
        given: &HashSet<&str>,
    ) -> Result<(SolidityBuild, bool), LoadError> {
        let output = std::str::from_utf8(&finished.stdout).ok().and_then(standard::parse_standard);
        let Some(output) = output else {
            let (program, output) = (program.to_owned(), finished.summary());
            return Err(match finished.status.success() {
                true => ToolchainError::InvalidOutput { program, output },
                false => {
                    ToolchainError::Failed { program, status: finished.status.to_string(), output }
                }
            }
            .into());
        };
        if let Some(errors) = output.compile_errors() {
            return Err(LoadError::CompileFailed { path: self.path.to_owned(), errors });
        }
        let is_complete = output.depends_only_on(given);
        Ok((output.into_build(self.path)?, is_complete))
    }

    fn fill_texts(&self, mut build: SolidityBuild) -> SolidityBuild {
        let texts: BTreeMap<_, _> =
            self.graph.sources.iter().map(|it| (it.name.as_str(), it.text.as_str())).collect();
        for source in build.sources.iter_mut().filter(|source| source.text.is_empty()) {
            if let Some(text) = texts.get(source.path.as_str()) {
                source.text = (*text).into();
            }
        }
        // A source that only the compiler found.
        let folders = [&self.resolver.root].into_iter().chain(&self.resolver.include_folders);
        let disk = SourceRoots::new(folders.map(PathBuf::as_path)).with_containment(true);
        staleness::fill_source_texts(&mut build, &disk);
        build
    }
}

impl SolcCompiler {
    /// Returns the executable, or the folder of the package.
    pub(crate) fn path(&self) -> &PathBuf {
        match self {
            Self::Native(program) => program,
            Self::Package { folder, .. } => folder,
        }
    }
}
