//! Every environment variable that `vouch` reads, declared once, and the only place that reads them.

use std::collections::BTreeMap;

use secrecy::SecretString;

use crate::config::ConfigError;

/// A variable by its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Var {
    Root,
    Config,
    Host,
    Port,
    Token,
    TokenFile,
    Log,
    RustLog,
    OtlpEndpoint,
    Solc,
    Embeddings,
    EmbeddingsUrl,
    EmbeddingsModel,
    LlmBaseUrl,
    LlmModel,
    LlmApiKey,
    User,
    Home,
    CacheHome,
    CodexHome,
    Path,
    Term,
    Ci,
}

impl Var {
    /// Those that configure `vouch`, in the order of the help text.
    pub const OURS: [Self; 16] = [
        Self::Root,
        Self::Config,
        Self::Host,
        Self::Port,
        Self::Token,
        Self::TokenFile,
        Self::Embeddings,
        Self::EmbeddingsUrl,
        Self::EmbeddingsModel,
        Self::LlmBaseUrl,
        Self::LlmModel,
        Self::LlmApiKey,
        Self::Solc,
        Self::Log,
        Self::RustLog,
        Self::OtlpEndpoint,
    ];
    /// Those that only tell where things are.
    const AROUND: [Self; 7] = [
        Self::User,
        Self::Home,
        Self::CacheHome,
        Self::CodexHome,
        Self::Path,
        Self::Term,
        Self::Ci,
    ];

    /// Returns the variable's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Root => "VOUCH_ROOT",
            Self::Config => "VOUCH_CONFIG",
            Self::Host => "VOUCH_HOST",
            Self::Port => "VOUCH_PORT",
            Self::Token => "VOUCH_TOKEN",
            Self::TokenFile => "VOUCH_TOKEN_FILE",
            Self::Log => "VOUCH_LOG",
            Self::RustLog => "RUST_LOG",
            Self::OtlpEndpoint => "OTEL_EXPORTER_OTLP_ENDPOINT",
            Self::Embeddings => "VOUCH_EMBEDDINGS",
            Self::EmbeddingsUrl => "VOUCH_EMBEDDINGS_URL",
            Self::EmbeddingsModel => "VOUCH_EMBEDDINGS_MODEL",
            Self::LlmBaseUrl => "LLM_BASE_URL",
            Self::LlmModel => "LLM_MODEL",
            Self::LlmApiKey => "LLM_API_KEY",
            Self::Solc => "SOLC",
            Self::User => "USER",
            Self::Home => "HOME",
            Self::CacheHome => "XDG_CACHE_HOME",
            Self::CodexHome => "CODEX_HOME",
            Self::Path => "PATH",
            Self::Term => "TERM",
            Self::Ci => "CI",
        }
    }

    /// Returns the help text of the variable.
    pub fn about(self) -> &'static str {
        match self {
            Self::Root => "as --root",
            Self::Config => "as --config",
            Self::Host => "as `serve --host`",
            Self::Port => "as `serve --port`",
            Self::Token => "the bearer token itself",
            Self::TokenFile => "as `serve --token-file`",
            Self::Log => "what to log, such as `info` or `runtime=debug`",
            Self::RustLog => "the same, where VOUCH_LOG is not set",
            Self::OtlpEndpoint => "where to send traces, such as http://127.0.0.1:4318",
            Self::Embeddings => "what makes vectors: `embedded`, `endpoint` or `off`",
            Self::EmbeddingsUrl => "the endpoint, such as http://127.0.0.1:11434/v1",
            Self::EmbeddingsModel => "the endpoint's model",
            Self::LlmBaseUrl => "the model that plans an ask, such as http://127.0.0.1:11434/v1",
            Self::LlmModel => "its name there",
            Self::LlmApiKey => "its key",
            Self::Solc => "as `fuzz --solc`",
            Self::User => "who decides on approvals",
            Self::Home => "where clients keep their configuration",
            Self::CacheHome => "where compilers are kept, if not in ~/.cache",
            Self::CodexHome => "where Codex keeps its configuration, if not in ~/.codex",
            Self::Path => "where `vouch` and compilers are looked for",
            Self::Term => "what the terminal can do",
            Self::Ci => "set where nobody watches",
        }
    }
}

/// The variables as they were at the start. An empty one counts as not set.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    values: BTreeMap<Var, String>,
    /// Names that begin as ours do and mean nothing.
    pub unknown: Vec<String>,
}

impl Environment {
    /// Reads the variables of this process.
    pub fn read() -> Result<Self, ConfigError> {
        let mut environment = Self::default();
        for var in Var::OURS.into_iter().chain(Var::AROUND) {
            match std::env::var_os(var.name()).map(std::ffi::OsString::into_string) {
                Some(Ok(value)) if !value.is_empty() => {
                    environment.values.insert(var, value);
                }
                Some(Err(_)) => {
                    return Err(ConfigError::variable(var, "it is not UTF-8 text".to_owned()));
                }
                _ => {}
            }
        }
        let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        let known = |name: &str| Var::OURS.iter().any(|var| var.name() == name);
        environment.unknown =
            names.filter(|name| name.starts_with("VOUCH_") && !known(name)).collect();
        environment.unknown.sort();
        Ok(environment)
    }

    /// A variable that the configuration names. It holds a secret, so it is read only when it is needed.
    pub fn secret(&self, name: &str) -> Option<SecretString> {
        let value = std::env::var(name).ok().filter(|value| !value.is_empty())?;
        Some(SecretString::from(value))
    }

    /// Returns the value of a variable, if it is set.
    pub fn get(&self, var: Var) -> Option<&str> {
        self.values.get(&var).map(String::as_str)
    }
}
