//! `vouch upstream list`: what the file says, without any secret.

use std::path::Path;

use app::config::{Connection, Sandbox, Settings, Upstream};
use app::upstreams::{place, shown_args, shown_url};
use contract::text::one_line;
use serde_json::{Value, json};

use crate::commands::{Context, Format};
use crate::exit::Exit;
use crate::report::Result;
use crate::ui::Table;

pub(super) fn run(ctx: &Context, format: &Format) -> Result<Exit> {
    let settings = ctx.app.settings()?;
    if format.json {
        let all: Vec<_> = settings.upstreams.iter().map(|one| view(one, &settings)).collect();
        ctx.ui.json(&json!({ "upstreams": all }))?;
        return Ok(Exit::Success);
    }
    if settings.upstreams.is_empty() {
        ctx.ui.note("There are no other servers. Add one: vouch upstream add --help");
        return Ok(Exit::Success);
    }
    let mut table = Table::new(["NAME", "POLICY", "SANDBOX", "ENABLED", "WHERE"]);
    for upstream in &settings.upstreams {
        let policy = serde_json::to_value(upstream.policy).unwrap_or_default();
        table.row([
            upstream.name.clone(),
            policy.as_str().unwrap_or_default().to_owned(),
            sandbox(upstream, &settings.root),
            if upstream.enabled { "yes" } else { "no" }.to_owned(),
            one_line(&place(upstream)),
        ]);
    }
    table.print(&mut ctx.ui.out())?;
    Ok(Exit::Success)
}

fn sandbox(upstream: &Upstream, root: &Path) -> String {
    let grants = match &upstream.connection {
        Connection::Stdio { sandbox: Sandbox::Off, .. } => return "off".to_owned(),
        Connection::Stdio { sandbox: Sandbox::Landlock(grants), .. } => grants,
        _ => return "-".to_owned(),
    };
    let shown = |paths: &[std::path::PathBuf]| {
        paths.iter().map(|path| relative(path, root)).collect::<Vec<_>>().join(" ")
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

fn relative(path: &Path, root: &Path) -> String {
    match path.strip_prefix(root) {
        Ok(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
        Ok(inside) => inside.display().to_string(),
        Err(_) => path.display().to_string(),
    }
}

fn view(upstream: &Upstream, settings: &Settings) -> Value {
    let root = &settings.root;
    let mut view = json!({
        "name": upstream.name,
        "enabled": upstream.enabled,
        "policy": upstream.policy,
        "allow_changes": upstream.allow_changes,
        "tools": upstream.tools.as_ref().map(|globs| globs.texts()),
        "connect_timeout_ms": u64::try_from(upstream.connect_timeout.as_millis()).unwrap_or(u64::MAX),
        "variables": upstream.variables(),
    });
    match &upstream.connection {
        Connection::Stdio { command, args, env, cwd, sandbox } => {
            view["transport"] = "stdio".into();
            view["command"] = command.as_str().into();
            view["args"] = shown_args(args).collect();
            view["cwd"] = relative(cwd, root).into();
            view["env"] = env.keys().cloned().collect();
            view["sandbox"] = match sandbox {
                Sandbox::Off => "off".into(),
                Sandbox::Landlock(grants) => {
                    let shown = |paths: &[std::path::PathBuf]| {
                        paths.iter().map(|path| relative(path, root)).collect::<Vec<_>>()
                    };
                    json!({"read": shown(&grants.read), "write": shown(&grants.write), "network": grants.network})
                }
            };
        }
        Connection::Http { url, headers } | Connection::Sse { url, headers } => {
            let sse = matches!(upstream.connection, Connection::Sse { .. });
            view["transport"] = if sse { "sse" } else { "http" }.into();
            view["url"] = shown_url(url).into();
            view["headers"] = headers.keys().cloned().collect();
        }
    }
    view
}
