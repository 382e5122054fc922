//! What is wrong with the configuration, said with file, line and key.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::env::Var;

/// Where in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    pub file: PathBuf,
    pub line: usize,
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

/// A mistake in the configuration, with its location.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("the current folder cannot be found")]
    NoCurrentFolder(#[source] io::Error),
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("the root {} is not a folder that can be opened", path.display())]
    Root { path: PathBuf, source: io::Error },
    #[error("{spot}: not valid TOML: {message}")]
    Syntax { spot: Spot, message: String },
    #[error("{spot}: unknown key `{key}`{}", in_table(table))]
    UnknownKey { spot: Spot, key: String, table: String, suggestion: String },
    #[error("{spot}: bad value for `{key}`: {message}")]
    Value { spot: Spot, key: String, message: String },
    #[error("{spot}: there is no tool `{tool}`")]
    UnknownTool { spot: Spot, tool: String, suggestion: String },
    #[error("{}`provider = \"endpoint\"` in [context.embeddings] needs `{key}`", at(spot))]
    IncompleteEndpoint { spot: Option<Spot>, key: &'static str },
    #[error("{spot}: this rule cannot be used")]
    Rule { spot: Spot, source: Box<rules::RuleError> },
    #[error("{}[ask] needs `{key}`", at(spot))]
    IncompleteAsk { spot: Option<Spot>, key: &'static str },
    #[error("bad value in the environment variable {name}: {message}")]
    Variable { name: &'static str, message: String },
    #[error("both VOUCH_TOKEN and VOUCH_TOKEN_FILE are set")]
    TwoTokens,
    #[error("the token file `{}` lies in the project, where tools can read it", path.display())]
    TokenFile { path: PathBuf },
    #[error("the folder in [state] is the root itself, where tools can read it")]
    StateIsRoot,
}

fn at(spot: &Option<Spot>) -> String {
    spot.as_ref().map(|spot| format!("{spot}: ")).unwrap_or_default()
}

fn in_table(table: &str) -> String {
    if table.is_empty() { String::new() } else { format!(" in [{table}]") }
}

impl ConfigError {
    /// Returns the error for a variable with an invalid value.
    pub fn variable(var: Var, message: String) -> Self {
        Self::Variable { name: var.name(), message }
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::UnknownKey { suggestion, .. } | Self::UnknownTool { suggestion, .. } => {
                suggestion.clone()
            }
            Self::Syntax { .. } | Self::Value { .. } => {
                "`vouch init --print` shows every key with its default".to_owned()
            }
            Self::IncompleteEndpoint { key: "base_url", .. } => {
                "for Ollama on this machine: base_url = \"http://127.0.0.1:11434/v1\"".to_owned()
            }
            Self::IncompleteEndpoint { .. } => {
                "the server's name of it, such as model = \"text-embedding-3-small\"".to_owned()
            }
            Self::Rule { .. } => {
                "a rule sees tool, arguments, caller, annotations, and result where on = \"result\""
                    .to_owned()
            }
            Self::IncompleteAsk { key: "base_url", .. } => {
                "set LLM_BASE_URL, such as http://127.0.0.1:11434/v1, or base_url".to_owned()
            }
            Self::IncompleteAsk { .. } => {
                "set LLM_MODEL to the server's name of it, or model".to_owned()
            }
            Self::Variable { name, .. } => format!("correct it, or drop it: unset {name}"),
            Self::TwoTokens => "keep one of them: unset VOUCH_TOKEN".to_owned(),
            Self::TokenFile { .. } => {
                "move it to .vouch/tokens, which no tool and no server in its sandbox can read, or out of the project"
                    .to_owned()
            }
            Self::StateIsRoot => "name a folder of its own; the default is `.vouch`".to_owned(),
            Self::Read { .. } => {
                "name another file with --config, or write one: vouch init".to_owned()
            }
            Self::Root { .. } | Self::NoCurrentFolder(_) => {
                "name a folder that exists: vouch --root <DIR> …".to_owned()
            }
        }
    }
}

/// For a name that is none of the known ones: the nearest of them, or all.
pub fn suggest(name: &str, known: &[&str], what: &str) -> String {
    match nearest(name, known.iter().copied()) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!("the {what} are: {}", known.join(", ")),
    }
}

/// The known name that a typing mistake is closest to, if it is close at all.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let name = name.to_lowercase();
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&name, &candidate.to_lowercase()), candidate))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate.to_owned())
}
