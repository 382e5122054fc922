//! Every configuration key. A test keeps this table, the layers and the template consistent.

/// Keys by table, or by list of tables; `*` stands for a name that the operator chooses.
pub(super) const TABLES: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "packs",
            "server",
            "http",
            "limits",
            "memory",
            "context",
            "policy",
            "secrets",
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
            "audit",
        ],
    ),
    (
        "server",
        &["host", "port", "token_file", "allowed_hosts", "allowed_origins", "max_body_bytes"],
    ),
    (
        "http",
        &[
            "tls_cert",
            "tls_key",
            "max_connections",
            "header_timeout_ms",
            "body_timeout_ms",
            "idle_timeout_ms",
            "write_timeout_ms",
            "max_streams",
        ],
    ),
    (
        "limits",
        &[
            "sessions",
            "sessions_per_client",
            "session_idle_timeout_ms",
            "streams_per_session",
            "queued_messages",
            "memory",
        ],
    ),
    ("memory", &["folder"]),
    ("context", &["exclude", "watch", "threads", "embeddings"]),
    (
        "context.embeddings",
        &["provider", "base_url", "model", "dimensions", "api_key_env", "timeout_ms"],
    ),
    ("policy", &["approve"]),
    ("secrets", &["deny", "allow", "output"]),
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
            "required",
            "enabled",
        ],
    ),
    ("upstream.env", &["*"]),
    ("upstream.headers", &["*"]),
    (
        "upstream.sandbox",
        &["level", "read", "write", "network", "memory", "processes", "open_files", "cpu_seconds"],
    ),
    ("rule", &["name", "effect", "on", "tools", "when"]),
    ("clients", &["*"]),
    ("clients.*", &["tools", "resources", "approve"]),
    ("audit", &["key_file", "max_file_bytes", "max_file_days", "keep_files", "keep_days", "seal"]),
    ("audit.seal", &["to", "every_minutes", "every_bytes", "logs", "key_file"]),
    ("ask", &["forbid", "provider", "base_url", "model", "api_key_env"]),
];

/// Returns the keys of the table at a path, if it is a known table.
pub(super) fn find_keys(path: &[String]) -> Option<&'static [&'static str]> {
    TABLES.iter().find(|(table, _)| matches_path(table, path)).map(|(_, keys)| *keys)
}

fn matches_path(table: &str, path: &[String]) -> bool {
    let parts: Vec<_> = table.split('.').filter(|part| !part.is_empty()).collect();
    parts.len() == path.len()
        && parts.iter().zip(path).all(|(part, name)| *part == "*" || part == name)
}
