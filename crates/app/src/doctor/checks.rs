//! The checks of the project, in dependency order.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::config::{self, ConfigLayer, EmbeddingSettings, Settings, TokenSource, suggest_name};
use crate::context::AppContext;
use crate::env::EnvVar;
use crate::failure::Failure;
use crate::project;
use crate::state_migration::has_legacy_state;
use crate::trust::{FolderTrust, TrustState, format_powers, summarize_powers};
use contract::text::{error_chain, one_line};
use lint::{Severity, lint_all};
use store::{ProjectToken, SqliteStore, StateDir};

use super::{DoctorCheck, context, probe, upstreams};

/// Maximum powers listed.
const MAX_POWERS: usize = 40;

/// Runs all checks and returns their results. If the configuration does not load, that is the only result.
pub async fn run_checks(app: &AppContext) -> Vec<DoctorCheck> {
    let settings =
        match config::load_settings(&app.location, &app.environment, ConfigLayer::default()) {
            Ok(settings) => settings,
            Err(error) => {
                let fix = error.hint();
                return vec![DoctorCheck::fail("config", error_chain(&error), fix)];
            }
        };
    let mut checks = vec![check_config(&settings), check_trust(&settings.trust)];
    let unknown =
        app.environment.unknown.iter().filter(|name| !is_referenced_variable(&settings, name));
    checks.extend(unknown.map(|name| warn_unknown_variable(name)));
    checks.push(check_root(&settings, app.environment.get(EnvVar::Home)));
    checks.push(check_tools(&settings));
    checks.push(check_memory(&settings));
    checks.push(check_state(&settings));
    checks.extend(check_legacy_state(&settings));
    checks.push(check_audit_log(&settings));
    checks.extend(context::check_context(&settings).await);
    checks.extend(upstreams::check_upstreams(&settings, &app.environment));
    checks.push(check_token(&settings));
    checks.push(check_port(settings.server.address).await);
    checks
}

fn check_config(settings: &Settings) -> DoctorCheck {
    match settings.config_file() {
        Some(path) => DoctorCheck::ok("config", show_path(path)),
        None => DoctorCheck::ok(
            "config",
            "no vouch.toml; using defaults (create one with `vouch init`)",
        ),
    }
}

/// Reports the trust in the folder, and what it would do.
fn check_trust(trust: &FolderTrust) -> DoctorCheck {
    let summary = summarize_powers(&trust.powers);
    let mut message = match trust.state {
        TrustState::Harmless => {
            return DoctorCheck::ok("trust", "not needed: the folder asks for nothing");
        }
        TrustState::Trusted => format!("trusted with {summary}"),
        TrustState::TrustedForRun => format!("trusted for this run with {summary}"),
        TrustState::Untrusted => format!("not trusted; it would be allowed: {summary}"),
        TrustState::Changed => format!("changed since it was trusted; it asks for {summary}"),
    };
    if !trust.powers.is_empty() {
        message.push_str(&format!("\n{}", format_powers(&trust.powers, MAX_POWERS)));
    }
    if let Some(change) = &trust.change {
        message.push_str(&format!("\nsince then:\n{}", change.to_string().trim_end()));
    }
    message.extend(trust.obstacle.as_ref().map(|why| format!("\n{why}")));
    match trust.is_granted() {
        true => DoctorCheck::ok("trust", message),
        false => DoctorCheck::warn("trust", message, "review it with `vouch trust`"),
    }
}

/// Returns true if the configuration refers to this environment variable.
fn is_referenced_variable(settings: &Settings, name: &str) -> bool {
    settings.upstreams.iter().any(|upstream| upstream.variable_names().contains(name))
        || matches!(&settings.context.embeddings, EmbeddingSettings::Endpoint(it) if it.api_key_env == name)
}

fn warn_unknown_variable(name: &str) -> DoctorCheck {
    let fix = suggest_name(name, &EnvVar::CONFIGURATION.map(EnvVar::name), "variables");
    DoctorCheck::warn("env", format!("unknown environment variable {name}"), fix)
}

fn check_root(settings: &Settings, home: Option<&str>) -> DoctorCheck {
    let root = &settings.root;
    let shown = show_path(root);
    let wide = root.parent().is_none() || home.is_some_and(|home| Path::new(home) == root);
    if wide {
        let fix = "serve one project: run `vouch --root <DIR> serve`";
        return DoctorCheck::warn("root", format!("{shown} is not a project folder"), fix);
    }
    DoctorCheck::ok("root", shown)
}

fn check_tools(settings: &Settings) -> DoctorCheck {
    let catalog = match project::build_catalog(settings) {
        Ok(catalog) => catalog,
        Err(failure) => {
            return DoctorCheck::fail("tools", failure.to_one_line(), failure.first_hint());
        }
    };
    let definitions: Vec<_> = catalog.contracts().map(contract::Contract::to_definition).collect();
    let findings = lint_all(&definitions);
    let bad: Vec<_> =
        findings.iter().filter(|finding| finding.rule.severity == Severity::Error).collect();
    match bad.first() {
        Some(finding) => {
            let fix = format!("run `vouch explain {}`", finding.rule.id);
            DoctorCheck::fail(
                "tools",
                format!("{} contract rule violations, first: {finding}", bad.len()),
                fix,
            )
        }
        None if definitions.is_empty() => DoctorCheck::warn(
            "tools",
            "no tools are enabled",
            "enable packs and tools in vouch.toml",
        ),
        None => {
            let names: Vec<_> = catalog.names().collect();
            DoctorCheck::ok("tools", names.join(", "))
        }
    }
}

fn check_memory(settings: &Settings) -> DoctorCheck {
    let folder = settings.root.join(&settings.memory_folder);
    let shown = &settings.memory_folder;
    match std::fs::metadata(&folder) {
        Ok(metadata) if !metadata.is_dir() => DoctorCheck::fail(
            "memory",
            format!("{shown} is not a folder"),
            "move it, or set `folder` in [memory]",
        ),
        Ok(metadata) if metadata.permissions().readonly() => DoctorCheck::fail(
            "memory",
            format!("{shown} is not writable"),
            format!("run `chmod u+w {}`", show_path(&folder)),
        ),
        Ok(_) => DoctorCheck::ok("memory", shown),
        Err(_) => {
            DoctorCheck::ok("memory", format!("{shown} will be created with the first entry"))
        }
    }
}

fn check_state(settings: &Settings) -> DoctorCheck {
    let folder = &settings.state_folder;
    let shown = show_path(folder);
    let Ok(metadata) = std::fs::metadata(folder) else {
        // The missing folders are created with the first call.
        let above = folder.ancestors().find_map(|above| std::fs::metadata(above).ok());
        return match above {
            Some(above) if above.is_dir() && !above.permissions().readonly() => {
                DoctorCheck::ok("state", format!("{shown} will be created with the first call"))
            }
            _ => DoctorCheck::fail(
                "state",
                format!("cannot create {shown}: the folder above it is read-only"),
                "make it writable, or set `folder` in [state]",
            ),
        };
    };
    // Opening writes nothing to a folder that this project already uses.
    if folder.join("vouch.db").exists()
        && let Err(error) = StateDir::open_for_project(folder, &settings.project)
            .and_then(|state| SqliteStore::open(&state))
    {
        let fix = error.hint().unwrap_or("move the state folder away and start again");
        return DoctorCheck::fail("state", error_chain(&error), fix);
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        let fix = format!("run `chmod 700 {shown}`");
        return DoctorCheck::warn("state", format!("{shown} is accessible to other users"), fix);
    }
    DoctorCheck::ok("state", shown.to_string())
}

/// Warns about the state of an earlier version in the project, which is not read.
fn check_legacy_state(settings: &Settings) -> Option<DoctorCheck> {
    has_legacy_state(&settings.root, &settings.state_folder).then(|| {
        DoctorCheck::warn(
            "state",
            ".vouch of an earlier version is not used",
            "run `vouch trust` to take over its discoveries, samples and logs, or delete it",
        )
    })
}

fn check_audit_log(settings: &Settings) -> DoctorCheck {
    let log = project::audit_log_path(settings);
    match store::audit::verify_log(&log, project::audit_key_location(settings)) {
        Ok(report) if report.ok && report.lines == 0 => {
            DoctorCheck::ok("audit", "no calls recorded yet")
        }
        Ok(report) if report.ok => {
            DoctorCheck::ok("audit", format!("{} lines, unmodified", report.lines))
        }
        Ok(report) => {
            let count = report.problems.len() as u64 + report.unlisted;
            let fix = "run `vouch audit verify` to list them";
            DoctorCheck::fail(
                "audit",
                format!("{} was modified ({count} problems)", show_path(&log)),
                fix,
            )
        }
        Err(error) => DoctorCheck::fail(
            "audit",
            error_chain(&error),
            error.hint().unwrap_or("make the audit log readable"),
        ),
    }
}

fn check_token(settings: &Settings) -> DoctorCheck {
    let fail =
        |failure: Failure| DoctorCheck::fail("token", failure.to_one_line(), failure.first_hint());
    match &settings.server.token {
        None => DoctorCheck::ok("token", "not required"),
        Some(TokenSource::Project) => match ProjectToken::find(&settings.state_folder) {
            Ok(Some(_)) => {
                let path = ProjectToken::path_in(&settings.state_folder);
                DoctorCheck::ok("token", show_path(&path))
            }
            Ok(None) => DoctorCheck::ok("token", "created when `vouch serve` first needs it"),
            Err(error) => fail(project::token_failure(error)),
        },
        Some(source) => match (project::read_tokens(source), source) {
            (Err(failure), _) => fail(failure),
            (Ok(_), TokenSource::File(path)) => DoctorCheck::ok("token", show_path(path)),
            (Ok(_), _) => DoctorCheck::ok("token", "from VOUCH_TOKEN"),
        },
    }
}

async fn check_port(address: SocketAddr) -> DoctorCheck {
    match tokio::net::TcpListener::bind(address).await {
        Ok(_) => DoctorCheck::ok("port", format!("{address} is free")),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
            match probe::probe_vouch(address).await {
                Some(version) => {
                    DoctorCheck::ok("port", format!("vouch {version} is serving on {address}"))
                }
                None => {
                    let message = format!("another program listens on {address}");
                    DoctorCheck::warn(
                        "port",
                        message,
                        "use a free port: run `vouch serve --port 0`",
                    )
                }
            }
        }
        Err(error) => DoctorCheck::fail(
            "port",
            format!("failed to listen on {address}: {error}"),
            "choose another port: run `vouch serve --port 0`",
        ),
    }
}

/// Returns a path for a report. Another person may have chosen the name of a folder.
fn show_path(path: &Path) -> String {
    one_line(&path.to_string_lossy())
}
