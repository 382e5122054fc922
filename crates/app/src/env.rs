//! Every environment variable that `vouch` reads. No other module reads the environment.

use std::collections::BTreeMap;

use secrecy::SecretString;

use crate::config::ConfigError;

/// An environment variable that `vouch` reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EnvVar {
    Root,
    Config,
    Trust,
    Host,
    Port,
    Token,
    TokenFile,
    AuditKeyFile,
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
    DataHome,
    StateHome,
    CodexHome,
    FoundryProfile,
    FoundryEthRpcUrl,
    FoundryForkBlockNumber,
    EchidnaRpcUrl,
    EchidnaRpcBlock,
    Path,
    Term,
    Ci,
}

impl EnvVar {
    /// The variables that configure `vouch`, in the order of the help text.
    pub const CONFIGURATION: [Self; 18] = [
        Self::Root,
        Self::Config,
        Self::Trust,
        Self::Host,
        Self::Port,
        Self::Token,
        Self::TokenFile,
        Self::AuditKeyFile,
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
    /// The variables of the system that `vouch` only consults.
    const SYSTEM: [Self; 14] = [
        Self::User,
        Self::Home,
        Self::CacheHome,
        Self::DataHome,
        Self::StateHome,
        Self::CodexHome,
        Self::FoundryProfile,
        Self::FoundryEthRpcUrl,
        Self::FoundryForkBlockNumber,
        Self::EchidnaRpcUrl,
        Self::EchidnaRpcBlock,
        Self::Path,
        Self::Term,
        Self::Ci,
    ];

    /// Returns the variable's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Root => "VOUCH_ROOT",
            Self::Config => "VOUCH_CONFIG",
            Self::Trust => "VOUCH_TRUST",
            Self::Host => "VOUCH_HOST",
            Self::Port => "VOUCH_PORT",
            Self::Token => "VOUCH_TOKEN",
            Self::TokenFile => "VOUCH_TOKEN_FILE",
            Self::AuditKeyFile => "VOUCH_AUDIT_KEY_FILE",
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
            Self::DataHome => "XDG_DATA_HOME",
            Self::StateHome => "XDG_STATE_HOME",
            Self::CodexHome => "CODEX_HOME",
            Self::FoundryProfile => "FOUNDRY_PROFILE",
            Self::FoundryEthRpcUrl => "FOUNDRY_ETH_RPC_URL",
            Self::FoundryForkBlockNumber => "FOUNDRY_FORK_BLOCK_NUMBER",
            Self::EchidnaRpcUrl => "ECHIDNA_RPC_URL",
            Self::EchidnaRpcBlock => "ECHIDNA_RPC_BLOCK",
            Self::Path => "PATH",
            Self::Term => "TERM",
            Self::Ci => "CI",
        }
    }

    /// Returns the help text of the variable.
    pub fn help_text(self) -> &'static str {
        match self {
            Self::Root => "Same as `--root`",
            Self::Config => "Same as `--config`",
            Self::Trust => "Same as `--trust`, if it is `1`",
            Self::Host => "Same as `serve --host`",
            Self::Port => "Same as `serve --port`",
            Self::Token => "Bearer token",
            Self::TokenFile => "Same as `serve --token-file`",
            Self::AuditKeyFile => "Same as `key_file` in [audit]",
            Self::Log => "Log filter, such as `info` or `runtime=debug`",
            Self::RustLog => "Log filter if VOUCH_LOG is not set",
            Self::OtlpEndpoint => "OpenTelemetry collector, such as http://127.0.0.1:4318",
            Self::Embeddings => "Embedding provider: `embedded`, `endpoint` or `off`",
            Self::EmbeddingsUrl => "Embedding endpoint, such as http://127.0.0.1:11434/v1",
            Self::EmbeddingsModel => "Model at the embedding endpoint",
            Self::LlmBaseUrl => "Language model for `ask`, such as http://127.0.0.1:11434/v1",
            Self::LlmModel => "Name of the language model",
            Self::LlmApiKey => "API key of the language model",
            Self::Solc => "Same as `fuzz --solc`",
            Self::User => "Name recorded with added discoveries",
            Self::Home => "Home folder, with the configuration of clients",
            Self::CacheHome => "Cache folder for compilers [default: ~/.cache]",
            Self::DataHome => "Folder of trust records and audit keys [default: ~/.local/share]",
            Self::StateHome => "Folder for the state of projects [default: ~/.local/state]",
            Self::CodexHome => "Configuration folder of Codex [default: ~/.codex]",
            Self::FoundryProfile => "Same as `fuzz --profile`",
            Self::FoundryEthRpcUrl => "Same as `eth_rpc_url` in foundry.toml",
            Self::FoundryForkBlockNumber => "Same as `fork_block_number` in foundry.toml",
            Self::EchidnaRpcUrl => "Same as `rpcUrl` in echidna.yaml",
            Self::EchidnaRpcBlock => "Same as `rpcBlock` in echidna.yaml",
            Self::Path => "Search path for `vouch` and compilers",
            Self::Term => "Terminal type",
            Self::Ci => "Set in continuous integration",
        }
    }
}

/// A snapshot of the environment at startup. An empty variable counts as unset.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    values: BTreeMap<EnvVar, String>,
    /// Unknown variables that begin with `VOUCH_`.
    pub unknown: Vec<String>,
}

impl Environment {
    /// Reads the variables of this process.
    pub fn read() -> Result<Self, ConfigError> {
        let mut environment = Self::default();
        for var in EnvVar::CONFIGURATION.into_iter().chain(EnvVar::SYSTEM) {
            match std::env::var_os(var.name()).map(std::ffi::OsString::into_string) {
                Some(Ok(value)) if !value.is_empty() => {
                    environment.values.insert(var, value);
                }
                Some(Err(_)) => {
                    return Err(ConfigError::invalid_variable(var, "not valid UTF-8".to_owned()));
                }
                _ => {}
            }
        }
        let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        let known = |name: &str| EnvVar::CONFIGURATION.iter().any(|var| var.name() == name);
        environment.unknown =
            names.filter(|name| name.starts_with("VOUCH_") && !known(name)).collect();
        environment.unknown.sort();
        Ok(environment)
    }

    /// Creates an environment with these variables, for tests.
    #[cfg(test)]
    pub(crate) fn from_values(values: &[(EnvVar, &std::path::Path)]) -> Self {
        let text = |path: &std::path::Path| path.to_str().expect("a UTF-8 path").to_owned();
        let values = values.iter().map(|(var, value)| (*var, text(value))).collect();
        Self { values, unknown: Vec::new() }
    }

    /// Returns the value of a variable named in the configuration. It is a secret, so it is read only when needed.
    pub fn read_secret(&self, name: &str) -> Option<SecretString> {
        let value = std::env::var(name).ok().filter(|value| !value.is_empty())?;
        Some(SecretString::from(value))
    }

    /// Returns `$XDG_DATA_HOME`, by default `~/.local/share`. The XDG specification ignores relative paths.
    pub(crate) fn data_folder(&self) -> Option<std::path::PathBuf> {
        let absolute =
            |var| self.get(var).map(std::path::PathBuf::from).filter(|it| it.is_absolute());
        let home = || absolute(EnvVar::Home).map(|home| home.join(".local/share"));
        absolute(EnvVar::DataHome).or_else(home)
    }

    /// Returns the variables of this process that are not ours: ours may contain secrets.
    pub(crate) fn read_other_variables() -> BTreeMap<String, String> {
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        variables.filter(|(name, _)| !name.starts_with("VOUCH_")).collect()
    }

    /// Returns the value of a variable, if it is set.
    pub fn get(&self, var: EnvVar) -> Option<&str> {
        self.values.get(&var).map(String::as_str)
    }
}
