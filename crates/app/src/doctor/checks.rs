//! The checks, in the order of what depends on what.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::config::{self, Embeddings, Layer, Settings, TokenSource, suggest};
use crate::context::AppContext;
use crate::env::Var;
use crate::project;
use lint::{Severity, lint_all};
use store::{SqliteStore, StateDir};

use super::{Check, context, probe, upstreams};

/// Runs all checks. A configuration that does not load ends the list.
pub async fn run_checks(app: &AppContext) -> Vec<Check> {
    let settings = match config::load(&app.place, &app.environment, Layer::default()) {
        Ok(settings) => settings,
        Err(error) => {
            let fix = error.hint();
            return vec![Check::fail("config", chain(&error), fix)];
        }
    };
    let mut checks = vec![config(&settings)];
    let unknown = app.environment.unknown.iter().filter(|name| !holds_key(&settings, name));
    checks.extend(unknown.map(|name| variable(name)));
    checks.push(root(&settings, app.environment.get(Var::Home)));
    checks.push(tools(&settings));
    checks.push(memory(&settings));
    checks.push(state(&settings));
    checks.push(record(&settings));
    checks.extend(context::all(&settings).await);
    checks.extend(upstreams::all(&settings, &app.environment));
    checks.push(token(&settings));
    checks.push(port(settings.server.address).await);
    checks
}

fn config(settings: &Settings) -> Check {
    match settings.config_file() {
        Some(path) => Check::ok("config", path.display().to_string()),
        None => Check::ok("config", "no vouch.toml, so the defaults hold (write one: vouch init)"),
    }
}

/// Whether the configuration says that a key is in there.
fn holds_key(settings: &Settings, name: &str) -> bool {
    settings.upstreams.iter().any(|upstream| upstream.variables().contains(name))
        || matches!(&settings.context.embeddings, Embeddings::Endpoint(it) if it.api_key_env == name)
}

fn variable(name: &str) -> Check {
    let fix = suggest(name, &Var::OURS.map(Var::name), "variables");
    Check::warn("env", format!("the variable {name} means nothing"), fix)
}

fn root(settings: &Settings, home: Option<&str>) -> Check {
    let root = &settings.root;
    let shown = root.display().to_string();
    let wide = root.parent().is_none() || home.is_some_and(|home| Path::new(home) == root);
    if wide {
        let fix = "serve a project: vouch --root <DIR> serve";
        return Check::warn("root", format!("{shown} holds far more than one project"), fix);
    }
    Check::ok("root", shown)
}

fn tools(settings: &Settings) -> Check {
    let catalog = match project::catalog(settings) {
        Ok(catalog) => catalog,
        Err(failure) => {
            return Check::fail("tools", failure.one_line(), failure.first_hint());
        }
    };
    let definitions: Vec<_> = catalog.contracts().map(contract::Contract::definition).collect();
    let findings = lint_all(&definitions);
    let bad: Vec<_> =
        findings.iter().filter(|finding| finding.rule.severity == Severity::Error).collect();
    match bad.first() {
        Some(finding) => {
            let fix = format!("vouch explain {}", finding.rule.id);
            Check::fail(
                "tools",
                format!("{} contract rules broken, first {finding}", bad.len()),
                fix,
            )
        }
        None if definitions.is_empty() => {
            Check::warn("tools", "no tool is offered", "enable packs and tools in vouch.toml")
        }
        None => {
            let names: Vec<_> = catalog.names().collect();
            Check::ok("tools", names.join(", "))
        }
    }
}

fn memory(settings: &Settings) -> Check {
    let folder = settings.root.join(&settings.memory_folder);
    let shown = &settings.memory_folder;
    match std::fs::metadata(&folder) {
        Ok(metadata) if !metadata.is_dir() => Check::fail(
            "memory",
            format!("{shown} is not a folder"),
            "move it away, or set [memory] folder",
        ),
        Ok(metadata) if metadata.permissions().readonly() => Check::fail(
            "memory",
            format!("{shown} cannot be written"),
            format!("chmod u+w {}", folder.display()),
        ),
        Ok(_) => Check::ok("memory", shown),
        Err(_) => Check::ok("memory", format!("{shown} is made with the first entry")),
    }
}

fn state(settings: &Settings) -> Check {
    let folder = &settings.state_folder;
    let shown = folder.display();
    let Ok(metadata) = std::fs::metadata(folder) else {
        let parent = folder.parent().and_then(|parent| std::fs::metadata(parent).ok());
        return match parent {
            Some(parent) if parent.is_dir() && !parent.permissions().readonly() => {
                Check::ok("state", format!("{shown} is made with the first call"))
            }
            _ => {
                let message =
                    format!("{shown} cannot be made: the folder above it is missing or read-only");
                Check::fail("state", message, "create that folder, or set [state] folder")
            }
        };
    };
    if folder.join("vouch.db").exists()
        && let Err(error) = StateDir::open(folder).and_then(|state| SqliteStore::open(&state))
    {
        let fix = error.hint().unwrap_or("move it away and start again");
        return Check::fail("state", chain(&error), fix);
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        let fix = format!("chmod 700 {shown}");
        return Check::warn(
            "state",
            format!("{shown} is open to other users of this machine"),
            fix,
        );
    }
    Check::ok("state", shown.to_string())
}

fn record(settings: &Settings) -> Check {
    let log = project::audit_log(settings);
    match store::audit::verify(&log) {
        Ok(report) if report.ok && report.lines == 0 => {
            Check::ok("audit", "no call was recorded yet")
        }
        Ok(report) if report.ok => {
            Check::ok("audit", format!("{} lines, as they were written", report.lines))
        }
        Ok(report) => {
            let count = report.problems.len() as u64 + report.unlisted;
            let fix = "see which lines: vouch audit verify";
            Check::fail("audit", format!("{} was changed ({count} findings)", log.display()), fix)
        }
        Err(error) => {
            Check::fail("audit", chain(&error), error.hint().unwrap_or("make it readable"))
        }
    }
}

fn token(settings: &Settings) -> Check {
    let address = settings.server.address;
    let source = settings.server.token.as_ref();
    if source.is_none() {
        return if address.ip().is_loopback() {
            Check::ok("token", "none needed: only this machine can connect")
        } else {
            let message = format!("{address} is beyond loopback, and there a token is required");
            Check::fail("token", message, project::NEW_TOKEN)
        };
    }
    if let Err(failure) = project::tokens(source) {
        return Check::fail("token", failure.one_line(), failure.first_hint());
    }
    match source {
        Some(TokenSource::File(path)) => {
            let mode = std::fs::metadata(path).map(|metadata| metadata.permissions().mode());
            let shown = path.display();
            match mode {
                Ok(mode) if mode & 0o077 != 0 => {
                    let message = format!("{shown} can be read by other users of this machine");
                    Check::warn("token", message, format!("chmod 600 {shown}"))
                }
                _ => Check::ok("token", shown.to_string()),
            }
        }
        _ => Check::ok("token", "from VOUCH_TOKEN"),
    }
}

async fn port(address: SocketAddr) -> Check {
    match tokio::net::TcpListener::bind(address).await {
        Ok(_) => Check::ok("port", format!("{address} is free")),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
            match probe::vouch_at(address).await {
                Some(version) => {
                    Check::ok("port", format!("vouch {version} is serving on {address}"))
                }
                None => {
                    let message = format!("something else listens on {address}");
                    Check::warn("port", message, "take a free one: vouch serve --port 0")
                }
            }
        }
        Err(error) => Check::fail(
            "port",
            format!("cannot listen on {address}: {error}"),
            "choose another: vouch serve --port 0",
        ),
    }
}

/// An error and its causes on one line.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
