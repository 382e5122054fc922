//! `vouch upstream list`: prints the configured upstream servers, without secrets.

use std::path::{Path, PathBuf};

use app::config::{SandboxConfig, Settings, UpstreamConfig, UpstreamConnection};
use app::upstreams::{display_location, redact_args, redact_url};
use contract::text::one_line;
use link::NetworkAccess;
use serde_json::{Value, json};

use crate::commands::{CommandContext, JsonOutputArgs};
use crate::exit::ExitStatus;
use crate::report::Result;
use crate::ui::{TextTable, format_path};

pub(super) fn run_upstream_list(
    ctx: &CommandContext,
    format: &JsonOutputArgs,
) -> Result<ExitStatus> {
    let settings = ctx.app.settings()?;
    if format.json {
        let all: Vec<_> =
            settings.upstreams.iter().map(|one| upstream_to_json(one, &settings)).collect();
        ctx.ui.print_json(&json!({ "upstreams": all }))?;
        return Ok(ExitStatus::Success);
    }
    if settings.upstreams.is_empty() {
        ctx.ui.print_note(
            "No upstream servers. Run `vouch upstream add --help` to see how to add one.",
        );
        return Ok(ExitStatus::Success);
    }
    let mut table = TextTable::new(["NAME", "POLICY", "SANDBOX", "ENABLED", "COMMAND OR URL"]);
    for upstream in &settings.upstreams {
        let policy = serde_json::to_value(upstream.policy).unwrap_or_default();
        table.add_row([
            upstream.name.clone(),
            policy.as_str().unwrap_or_default().to_owned(),
            format_sandbox(upstream, &settings.root),
            if upstream.enabled { "yes" } else { "no" }.to_owned(),
            one_line(&display_location(upstream)),
        ]);
    }
    table.write_to(&mut ctx.ui.stdout())?;
    Ok(ExitStatus::Success)
}

/// Returns the level of the sandbox and its grants.
fn format_sandbox(upstream: &UpstreamConfig, root: &Path) -> String {
    let UpstreamConnection::Stdio { sandbox, .. } = &upstream.connection else {
        return "-".to_owned();
    };
    let Some(grants) = sandbox.grants() else { return sandbox.level_name().to_owned() };
    let shown = |paths: &[PathBuf]| {
        paths.iter().map(|path| relative_path(path, root)).collect::<Vec<_>>().join(" ")
    };
    let mut parts = Vec::new();
    if !grants.read.is_empty() {
        parts.push(format!("read {}", shown(&grants.read)));
    }
    if !grants.write.is_empty() {
        parts.push(format!("write {}", shown(&grants.write)));
    }
    match &grants.network {
        NetworkAccess::None => {}
        NetworkAccess::Hosts(hosts) => {
            let hosts: Vec<_> = hosts.iter().map(ToString::to_string).collect();
            parts.push(format!("network {}", hosts.join(" ")));
        }
        NetworkAccess::All => parts.push("network".to_owned()),
    }
    let grants = if parts.is_empty() { "no grants".to_owned() } else { parts.join(", ") };
    one_line(&format!("{}: {grants}", sandbox.level_name()))
}

/// Returns the sandbox for `--json`.
fn sandbox_to_json(sandbox: &SandboxConfig, root: &Path) -> Value {
    let Some(grants) = sandbox.grants() else { return json!({"level": sandbox.level_name()}) };
    let shown =
        |paths: &[PathBuf]| paths.iter().map(|path| relative_path(path, root)).collect::<Vec<_>>();
    let mut view = json!({
        "level": sandbox.level_name(),
        "read": shown(&grants.read),
        "write": shown(&grants.write),
        "network": match &grants.network {
            NetworkAccess::None => json!(false),
            NetworkAccess::Hosts(hosts) => hosts.iter().map(ToString::to_string).collect(),
            NetworkAccess::All => json!(true),
        },
    });
    if let SandboxConfig::Full(grants) = sandbox {
        view["limits"] = json!({
            "memory_bytes": grants.limits.memory,
            "processes": grants.limits.processes,
            "open_files": grants.limits.open_files,
            "cpu_seconds": grants.limits.cpu_seconds,
        });
    }
    view
}

fn relative_path(path: &Path, root: &Path) -> String {
    match path.strip_prefix(root) {
        Ok(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
        Ok(inside) => format_path(inside),
        Err(_) => format_path(path),
    }
}

fn upstream_to_json(upstream: &UpstreamConfig, settings: &Settings) -> Value {
    let root = &settings.root;
    let mut view = json!({
        "name": upstream.name,
        "enabled": upstream.enabled,
        "policy": upstream.policy,
        "allow_changes": upstream.allow_changes,
        "tools": upstream.tools.as_ref().map(|globs| globs.patterns()),
        "connect_timeout_ms": u64::try_from(upstream.connect_timeout.as_millis()).unwrap_or(u64::MAX),
        "variables": upstream.variable_names(),
    });
    match &upstream.connection {
        UpstreamConnection::Stdio { command, args, env, cwd, sandbox } => {
            view["transport"] = "stdio".into();
            view["command"] = command.as_str().into();
            view["args"] = redact_args(args).collect();
            view["cwd"] = relative_path(cwd, root).into();
            view["env"] = env.keys().cloned().collect();
            view["sandbox"] = sandbox_to_json(sandbox, root);
        }
        UpstreamConnection::Http { url, headers } | UpstreamConnection::Sse { url, headers } => {
            let sse = matches!(upstream.connection, UpstreamConnection::Sse { .. });
            view["transport"] = if sse { "sse" } else { "http" }.into();
            view["url"] = redact_url(url).into();
            view["headers"] = headers.keys().cloned().collect();
        }
    }
    view
}
