//! The crate from outside: every form of input becomes the same build, and every bad input an error that helps.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod compile;
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

use solidity::{Build, Code, LoadError};

/// What a build says, for snapshots.
fn described(build: &Build) -> String {
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
            lines.push(format!("  creation {}", described_code(&contract.creation)));
            lines.push(format!("  runtime {}", described_code(&contract.runtime)));
            lines.push(format!("  immutables {:?}", contract.immutables));
        }
    }
    lines.join("\n")
}

fn described_code(code: &Code) -> String {
    let links: Vec<_> =
        code.links.iter().map(|link| format!(", {} at {}", link.library, link.offset)).collect();
    let mut sources: Vec<_> = code.source_map.spans.iter().map(|span| span.source).collect();
    sources.sort();
    sources.dedup();
    let (bytes, spans) = (code.bytes.len(), code.source_map.spans.len());
    format!("{bytes} bytes, {spans} spans in {sources:?}{}", links.concat())
}

/// An error as a person sees it: the message, its causes, the hint.
fn reported(error: &LoadError) -> String {
    let hint = error.hint().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
    format!("{}{hint}", causes(error))
}

fn causes(error: &dyn Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {}", causes(cause)),
        None => error.to_string(),
    }
}
