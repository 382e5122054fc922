//! `vouch upstream list`: prints the configured upstream servers, without secrets.

use std::path::Path;

use app::config::{SandboxConfig, Settings, UpstreamConfig, UpstreamConnection};
use app::upstreams::{display_location, redact_args, redact_url};
use contract::text::one_line;
use serde_json::{Value, json};

use crate::commands::{CommandContext, JsonOutputArgs};
use crate::exit::ExitStatus;
use crate::report::Result;
use crate::ui::TextTable;

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

fn format_sandbox(upstream: &UpstreamConfig, root: &Path) -> String {
    let grants = match &upstream.connection {
        UpstreamConnection::Stdio { sandbox: SandboxConfig::Off, .. } => return "off".to_owned(),
        UpstreamConnection::Stdio { sandbox: SandboxConfig::Landlock(grants), .. } => grants,
        _ => return "-".to_owned(),
    };
    let shown = |paths: &[std::path::PathBuf]| {
        paths.iter().map(|path| relative_path(path, root)).collect::<Vec<_>>().join(" ")
    };
    let mut parts = Vec::new();
    if !grants.read.is_empty() {
        parts.push(format!("read {}", shown(&grants.read)));
    }
    if !grants.write.is_empty() {
        parts.push(format!("write {}", shown(&grants.write)));
    }
    if grants.network {
        parts.push("network".to_owned());
    }
    one_line(&parts.join(", "))
}

fn relative_path(path: &Path, root: &Path) -> String {
    match path.strip_prefix(root) {
        Ok(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
        Ok(inside) => inside.display().to_string(),
        Err(_) => path.display().to_string(),
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
            view["sandbox"] = match sandbox {
                SandboxConfig::Off => "off".into(),
                SandboxConfig::Landlock(grants) => {
                    let shown = |paths: &[std::path::PathBuf]| {
                        paths.iter().map(|path| relative_path(path, root)).collect::<Vec<_>>()
                    };
                    json!({"read": shown(&grants.read), "write": shown(&grants.write), "network": grants.network})
                }
            };
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
