//! Targets for fuzzing the parsers of everything that comes from outside: peers, projects and tools.
//!
//! A target gets any bytes and must return: no panic, no endless loop, no memory beyond the bounds of the parser. Where a
//! parser promises more (the same result however its input is divided, a second validator that agrees), the target checks
//! that too. `cargo xtask fuzz-parsers` runs them with libFuzzer; the test `replay` runs the committed inputs without it.

#![expect(clippy::expect_used, reason = "a panic is how a target reports a finding")]

mod audit_log;
mod campaign;
mod documents;
mod messages;
mod project;
mod schemas;
mod scratch;

/// A parser under test.
#[derive(Clone, Copy)]
pub struct Target {
    /// The name of the target and of its folders of inputs.
    pub name: &'static str,
    pub run: fn(&[u8]),
}

const fn target(name: &'static str, run: fn(&[u8])) -> Target {
    Target { name, run }
}

/// All targets.
pub const TARGETS: &[Target] = &[
    target("audit-lines", documents::read_audit_log),
    target("audit-logs", audit_log::check_audit_log),
    target("call-scripts", campaign::parse_call_script),
    target("cel-rules", documents::compile_rule),
    target("corpus-files", campaign::parse_corpus_file),
    target("echidna-yaml", campaign::parse_echidna_yaml),
    target("http-bodies", messages::parse_http_body),
    target("overlays", documents::parse_overlay),
    target("rpc-link", messages::parse_upstream_frames),
    target("rpc-stdio", messages::parse_stdio_line),
    target("schemas", schemas::compare_validators),
    target("solc-output", project::read_solc_output),
    target("source-code", project::analyze_source),
    target("source-maps", project::parse_source_map),
    target("sse", messages::parse_events),
    target("vouch-lock", documents::parse_lock_file),
    target("vouch-toml", documents::parse_config_file),
];

/// Returns the target with this name.
pub fn find_target(name: &str) -> Option<Target> {
    TARGETS.iter().copied().find(|target| target.name == name)
}
