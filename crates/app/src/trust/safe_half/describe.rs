//! Describes configuration keys as powers.
//!
//! Nothing is hidden, not even what looks like a secret: a folder could otherwise hide a program's argument by putting a
//! key beside it. The text is shown to the user of the folder only.

use toml::{Table, Value};

use crate::config::SecretReference;
use crate::trust::power::{FolderPower, PowerKind};

/// Returns the powers of one `[[upstream]]` table.
pub(super) fn describe_upstream(table: &Table) -> Vec<FolderPower> {
    let name = table.get("name").and_then(Value::as_str).unwrap_or("unnamed");
    let state = match table.get("enabled").and_then(Value::as_bool) {
        Some(false) => " (disabled)",
        _ => "",
    };
    let mut powers = Vec::new();
    for (key, value) in table {
        let mut push = |kind, text: String| powers.push(FolderPower::new(kind, text));
        match (key.as_str(), value) {
            ("name" | "args" | "enabled", _) => {}
            ("command", command) => push(
                PowerKind::Program,
                format!("`{}` as upstream `{name}`{state}", format_command(command, table)),
            ),
            ("url", url) => {
                push(PowerKind::Endpoint, format!("{} as upstream `{name}`{state}", plain(url)));
            }
            ("sandbox", sandbox) => {
                push(PowerKind::Sandbox, format!("of `{name}`: {}", plain(sandbox)));
            }
            ("env" | "headers", Value::Table(values)) => {
                let pairs = values.iter();
                powers.extend(pairs.flat_map(|(key, value)| describe_pair(name, key, value)));
            }
            ("policy" | "allow_changes" | "missing_output_schema", value) => {
                push(PowerKind::Contract, format!("{key} of `{name}`: {}", plain(value)));
            }
            (key, value) => {
                push(PowerKind::Setting, format!("{key} of `{name}`: {}", plain(value)));
            }
        }
    }
    powers
}

fn format_command(command: &Value, table: &Table) -> String {
    let args = table.get("args").and_then(Value::as_array);
    let words = std::iter::once(command).chain(args.into_iter().flatten());
    words.map(quote_word).collect::<Vec<_>>().join(" ")
}

/// Returns a word of a command; quoted unless it is plain, so that one argument cannot look like two.
fn quote_word(word: &Value) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@,+%".contains(c);
    match word.as_str() {
        Some(text) if !text.is_empty() && text.chars().all(plain) => text.to_owned(),
        Some(text) => format!("{text:?}"),
        None => word.to_string(),
    }
}

/// Returns the powers of one variable or header of an upstream.
fn describe_pair(upstream: &str, key: &str, value: &Value) -> Vec<FolderPower> {
    let text = plain(value);
    let Ok(reference) = text.parse::<SecretReference>() else {
        return vec![FolderPower::new(PowerKind::Setting, format!("{key} of `{upstream}`"))];
    };
    let variables = reference.variable_names().map(|name| {
        FolderPower::new(PowerKind::Variable, format!("{name} for `{upstream}` (as {key})"))
    });
    let files = reference.file_paths().map(|path| {
        let text = format!("{} for `{upstream}` (as {key})", path.display());
        FolderPower::new(PowerKind::File, text)
    });
    let mut powers: Vec<_> = variables.chain(files).collect();
    if powers.is_empty() {
        let text = format!("{key}={text} for `{upstream}`");
        powers.push(FolderPower::new(PowerKind::Setting, text));
    }
    powers
}

/// Returns the power of any other key.
pub(super) fn describe_setting(path: &[&str], value: &Value) -> FolderPower {
    let kind = match path {
        ["policy", "approve"] | ["tools" | "clients", _, "approve"] => PowerKind::Approval,
        ["tools", _, "rate_per_minute" | "timeout_ms" | "max_output_bytes"] => PowerKind::Limit,
        ["http" | "limits", key] if !key.starts_with("tls_") => PowerKind::Limit,
        ["context", "embeddings", "base_url" | "provider"]
        | ["ask", "base_url" | "provider"]
        | ["telemetry", _]
        | ["audit", "seal", "to"]
        | ["store", "url"] => PowerKind::Endpoint,
        ["context", "embeddings", "api_key_env"] | ["ask", "api_key_env"] => PowerKind::Variable,
        ["server", "host" | "allowed_hosts" | "allowed_origins"] => PowerKind::Listen,
        ["server", "token_file"]
        | ["audit", "key_file"]
        | ["audit", "seal", "key_file" | "logs"]
        | ["http", "tls_cert" | "tls_key"]
        | ["state" | "memory", "folder"]
        | ["gateway", "contracts" | "lock"]
        | ["fuzz", "corpus_dir" | "coverage_dir"]
        | ["campaign", "corpus_dir"] => PowerKind::File,
        ["packs"] | ["campaign", _] | ["fuzz", _] => PowerKind::Compiler,
        _ => PowerKind::Setting,
    };
    FolderPower::new(kind, format!("{} = {value}", path.join(".")))
}

/// Returns a text as it is, and any other value as TOML.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
