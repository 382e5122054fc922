//! Every key there is. A test holds this table, the layers and the commented file together.

/// The keys of a table, or of each table in a list; `*` stands for a name that the operator chooses.
pub(super) const TABLES: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "packs",
            "server",
            "memory",
            "context",
            "policy",
            "tools",
            "state",
            "telemetry",
            "fuzz",
            "campaign",
            "gateway",
            "upstream",
            "rule",
            "clients",
            "ask",
        ],
    ),
    (
        "server",
        &["host", "port", "token_file", "allowed_hosts", "allowed_origins", "max_body_bytes"],
    ),
    ("memory", &["folder"]),
    ("context", &["exclude", "watch", "threads", "embeddings"]),
    (
        "context.embeddings",
        &["provider", "base_url", "model", "dimensions", "api_key_env", "timeout_ms"],
    ),
    ("policy", &["approve"]),
    ("tools", &["*"]),
    ("tools.*", &["enabled", "approve", "rate_per_minute", "timeout_ms", "max_output_bytes"]),
    ("state", &["folder"]),
    ("telemetry", &["otlp_endpoint"]),
    ("fuzz", super::fuzz::KEYS),
    ("campaign", &["target", "contract", "corpus_dir"]),
    ("gateway", &["separator", "contracts", "lock"]),
    (
        "upstream",
        &[
            "name",
            "command",
            "args",
            "env",
            "cwd",
            "sandbox",
            "url",
            "transport",
            "headers",
            "policy",
            "allow_changes",
            "tools",
            "connect_timeout_ms",
            "enabled",
        ],
    ),
    ("upstream.env", &["*"]),
    ("upstream.headers", &["*"]),
    ("upstream.sandbox", &["read", "write", "network"]),
    ("rule", &["name", "effect", "on", "tools", "when"]),
    ("clients", &["*"]),
    ("clients.*", &["tools"]),
    ("ask", &["forbid", "provider", "base_url", "model", "api_key_env"]),
];

/// The keys of a table by its path, if it is one of ours.
pub(super) fn of(path: &[String]) -> Option<&'static [&'static str]> {
    TABLES.iter().find(|(table, _)| is(table, path)).map(|(_, keys)| *keys)
}

fn is(table: &str, path: &[String]) -> bool {
    let parts: Vec<_> = table.split('.').filter(|part| !part.is_empty()).collect();
    parts.len() == path.len()
        && parts.iter().zip(path).all(|(part, name)| *part == "*" || part == name)
}
