//! Integration tests: every input format yields the same build, and invalid input yields a helpful error.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod compile;
mod driver;
mod find;
mod folder;
mod formats;
mod install;
mod literals;
mod outputs;
mod projects;
mod source_maps;
mod toolchain;

use std::error::Error;

use solidity::{ContractBytecode, LoadError, SolidityBuild};

/// Describes a build, for snapshots.
fn describe_build(build: &SolidityBuild) -> String {
    let mut lines = vec![format!("compiler {}", build.compiler.as_deref().unwrap_or("unknown"))];
    for source in &build.sources {
        let tree = if source.ast.is_some() { ", tree" } else { "" };
        let (id, path, text) = (source.id, &source.path, source.text.len());
        lines.push(format!("source {id} {path}: {text} bytes{tree}"));
    }
    for contract in &build.contracts {
        let functions: Vec<_> = contract.abi.functions().map(|one| one.signature()).collect();
        lines.push(format!("contract {}: {}", contract.qualified_name(), functions.join(" ")));
        if contract.is_deployable() {
            lines.push(format!("  creation {}", describe_code(&contract.creation)));
            lines.push(format!("  runtime {}", describe_code(&contract.runtime)));
            lines.push(format!("  immutables {:?}", contract.immutables));
        }
    }
    lines.join("\n")
}

fn describe_code(code: &ContractBytecode) -> String {
    let links: Vec<_> =
        code.links.iter().map(|link| format!(", {} at {}", link.library, link.offset)).collect();
    let mut sources: Vec<_> = code.source_map.spans.iter().map(|span| span.source).collect();
    sources.sort();
    sources.dedup();
    let (bytes, spans) = (code.bytes.len(), code.source_map.spans.len());
    format!("{bytes} bytes, {spans} spans in {sources:?}{}", links.concat())
}

/// Formats an error as shown to the user: message, causes and hint.
fn format_load_error(error: &LoadError) -> String {
    let hint = error.hint().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
    format!("{}{hint}", format_causes(error))
}

fn format_causes(error: &dyn Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {}", format_causes(cause)),
        None => error.to_string(),
    }
}
