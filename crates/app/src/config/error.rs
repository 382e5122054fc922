//! Configuration errors, with file, line and key.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::env::EnvVar;

/// A line of a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigLocation {
    pub file: PathBuf,
    pub line: usize,
}

impl fmt::Display for ConfigLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

/// An error in the configuration, with its location.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("failed to find the current folder")]
    NoCurrentFolder(#[source] io::Error),
    #[error("failed to read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} belongs to another user (uid {uid})", path.display())]
    ForeignOwner { path: PathBuf, uid: u32 },
    #[error("failed to open root folder {}", path.display())]
    Root { path: PathBuf, source: io::Error },
    #[error("{spot}: invalid TOML: {message}")]
    Syntax { spot: ConfigLocation, message: String },
    #[error("{spot}: unknown key `{key}`{}", table_suffix(table))]
    UnknownKey { spot: ConfigLocation, key: String, table: String, suggestion: String },
    #[error("{spot}: invalid value for `{key}`: {message}")]
    Value { spot: ConfigLocation, key: String, message: String },
    #[error("{spot}: unknown tool `{tool}`")]
    UnknownTool { spot: ConfigLocation, tool: String, suggestion: String },
    #[error(
        "{}`provider = \"endpoint\"` in [context.embeddings] requires `{key}`",
        location_prefix(spot)
    )]
    IncompleteEndpoint { spot: Option<ConfigLocation>, key: &'static str },
    #[error("{spot}: invalid rule")]
    Rule { spot: ConfigLocation, source: Box<rules::RuleError> },
    #[error("{}[ask] requires `{key}`", location_prefix(spot))]
    IncompleteAsk { spot: Option<ConfigLocation>, key: &'static str },
    #[error("invalid value in environment variable {name}: {message}")]
    Variable { name: &'static str, message: String },
    #[error("VOUCH_TOKEN and VOUCH_TOKEN_FILE are mutually exclusive")]
    TwoTokens,
    #[error("token file `{}` is in the project, where tools can read it", path.display())]
    TokenFile { path: PathBuf },
    #[error("private key `{}` is in the project, where tools can read it", path.display())]
    TlsKey { path: PathBuf },
    #[error("{spot}: invalid value for `state.folder`: it is inside the project")]
    StateInProject { spot: ConfigLocation },
    #[error(
        "failed to find the user's state folder: neither XDG_STATE_HOME nor HOME is set to an absolute path"
    )]
    NoStateFolder,
}

fn location_prefix(spot: &Option<ConfigLocation>) -> String {
    spot.as_ref().map(|spot| format!("{spot}: ")).unwrap_or_default()
}

fn table_suffix(table: &str) -> String {
    if table.is_empty() { String::new() } else { format!(" in [{table}]") }
}

impl ConfigError {
    /// Returns the error for a variable with an invalid value.
    pub fn invalid_variable(var: EnvVar, message: String) -> Self {
        Self::Variable { name: var.name(), message }
    }

    /// Returns a suggestion how to correct the error.
    pub fn hint(&self) -> String {
        match self {
            Self::UnknownKey { suggestion, .. } | Self::UnknownTool { suggestion, .. } => {
                suggestion.clone()
            }
            Self::Syntax { .. } | Self::Value { .. } => {
                "run `vouch init --print` to see every key with its default".to_owned()
            }
            Self::IncompleteEndpoint { key: "base_url", .. } => {
                "set `base_url`, such as \"http://127.0.0.1:11434/v1\" for a local Ollama".to_owned()
            }
            Self::IncompleteEndpoint { .. } => {
                "set `model`, such as \"text-embedding-3-small\"".to_owned()
            }
            Self::Rule { .. } => {
                "use tool, arguments, caller and annotations, and result if on = \"result\""
                    .to_owned()
            }
            Self::IncompleteAsk { key: "base_url", .. } => {
                "set LLM_BASE_URL or `base_url`, such as http://127.0.0.1:11434/v1".to_owned()
            }
            Self::IncompleteAsk { .. } => {
                "set LLM_MODEL or `model` to the name of the model".to_owned()
            }
            Self::Variable { name, .. } => format!("correct it, or run `unset {name}`"),
            Self::TwoTokens => "run `unset VOUCH_TOKEN` to use the file".to_owned(),
            Self::TokenFile { .. } | Self::TlsKey { .. } => {
                "move it out of the project, such as into the state folder that `vouch doctor` shows"
                    .to_owned()
            }
            Self::StateInProject { .. } => {
                "remove the key to use the user's state folder, or name a folder outside the project"
                    .to_owned()
            }
            Self::NoStateFolder => {
                "set XDG_STATE_HOME, or `folder` in [state] to a folder outside the project".to_owned()
            }
            Self::Read { .. } => {
                "choose another file with `--config`, or run `vouch init`".to_owned()
            }
            Self::ForeignOwner { .. } => {
                "make it yours with `chown`; if you trust it, pass `--trust` to use it in this run".to_owned()
            }
            Self::Root { .. } | Self::NoCurrentFolder(_) => {
                "pass an existing folder: `vouch --root <DIR> …`".to_owned()
            }
        }
    }
}

/// Returns a hint for an unknown name: the nearest known one, or a list of all. `what` is their plural.
pub fn suggest_name(name: &str, known: &[&str], what: &str) -> String {
    match nearest_name(name, known.iter().copied()) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!("known {what}: {}", known.join(", ")),
    }
}

/// Returns the known name that is most similar, if it is similar enough for a typing mistake.
pub fn nearest_name<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let name = name.to_lowercase();
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&name, &candidate.to_lowercase()), candidate))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate.to_owned())
}
