//! Endpoints and forks in `foundry.toml`: `eth_rpc_url`, `fork_block_number` and `[rpc_endpoints]`.
//!
//! They make forge open connections and read variables, so the caller decides whether they apply. Nothing is resolved here.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::RpcEndpoint;
use super::foundry::FoundryConfigError;

/// Profile that the others are based on.
const DEFAULT_PROFILE: &str = "default";

/// Endpoints and forks of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundryRpcSettings {
    /// `eth_rpc_url`: endpoint of the chain that all tests fork.
    pub eth_rpc_url: Option<RpcEndpoint>,
    pub fork_block_number: Option<u64>,
    /// `[rpc_endpoints]`: URLs by name. They may refer to environment variables, as in `${NAME}`.
    pub endpoints: BTreeMap<String, RpcEndpoint>,
}

impl FoundryRpcSettings {
    /// Reads a `foundry.toml`, with the settings of a profile over those of the default one.
    pub fn read(text: &str, profile: &str) -> Result<Self, FoundryConfigError> {
        let document: Table = text.parse().map_err(|error: toml::de::Error| {
            FoundryConfigError::Syntax(error.message().to_owned())
        })?;
        let mut settings = Self::default();
        settings.add_endpoints(&document);
        let profiles = document.get("profile").and_then(Value::as_table);
        let mut names = vec![DEFAULT_PROFILE];
        if profile != DEFAULT_PROFILE {
            names.push(profile);
        }
        for name in names {
            if let Some(table) = profiles.and_then(|all| all.get(name)).and_then(Value::as_table) {
                settings.add_profile(table)?;
            }
        }
        Ok(settings)
    }

    fn add_profile(&mut self, profile: &Table) -> Result<(), FoundryConfigError> {
        self.add_endpoints(profile);
        if let Some(url) = profile.get("eth_rpc_url").and_then(Value::as_str) {
            self.eth_rpc_url = Some(RpcEndpoint(url.to_owned()));
        }
        if let Some(value) = profile.get("fork_block_number") {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let number = super::number::parse_number(&text).and_then(|it| u64::try_from(it).ok());
            let number = number.ok_or_else(|| FoundryConfigError::InvalidValue {
                key: "fork_block_number".to_owned(),
                expected: "a block number",
                found: text.chars().take(40).collect(),
            })?;
            self.fork_block_number = Some(number);
        }
        Ok(())
    }

    /// Adds `[rpc_endpoints]`: texts, or tables with an `endpoint`.
    fn add_endpoints(&mut self, table: &Table) {
        let endpoints = table.get("rpc_endpoints").and_then(Value::as_table);
        for (name, value) in endpoints.into_iter().flatten() {
            let inner = value.get("endpoint").or_else(|| value.get("url"));
            if let Some(url) = value.as_str().or_else(|| inner.and_then(Value::as_str)) {
                self.endpoints.insert(name.clone(), RpcEndpoint(url.to_owned()));
            }
        }
    }
}

/// Replaces `${NAME}` by the value of a variable.
///
/// Returns the name of the first variable without a value as an error.
pub fn interpolate_variables(
    text: &str,
    mut find: impl FnMut(&str) -> Option<String>,
) -> Result<String, String> {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let Some((name, after)) = after.split_once('}') else {
            out.push_str("${");
            rest = after;
            continue;
        };
        out.push_str(&find(name.trim()).ok_or_else(|| name.trim().to_owned())?);
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

/// Returns the variables that the URLs of a `foundry.toml` refer to, in any profile; sorted.
pub fn list_variables(text: &str) -> Vec<String> {
    let Ok(document) = text.parse::<Table>() else { return Vec::new() };
    let profiles = document.get("profile").and_then(Value::as_table);
    let profiles = profiles.into_iter().flat_map(Table::keys);
    let mut names = std::collections::BTreeSet::new();
    for profile in profiles.map(String::as_str).chain([DEFAULT_PROFILE]) {
        let Ok(settings) = FoundryRpcSettings::read(text, profile) else { continue };
        for RpcEndpoint(url) in settings.endpoints.values().chain(&settings.eth_rpc_url) {
            let noted = interpolate_variables(url, |name| {
                names.insert(name.to_owned());
                Some(String::new())
            });
            debug_assert!(noted.is_ok(), "every variable has a value here");
        }
    }
    names.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_endpoints_and_fork_of_the_profile() {
        let text = "
            [profile.default]
            eth_rpc_url = 'http://127.0.0.1:1'
            fork_block_number = 10
            [profile.ci]
            fork_block_number = '1_000'
            [profile.other]
            fork_block_number = 3
            [rpc_endpoints]
            mainnet = '${MAINNET}'
            base = { endpoint = 'https://base.example', retries = 3 }
            broken = 7";
        let settings = FoundryRpcSettings::read(text, "ci").unwrap();
        let endpoint = |text: &str| RpcEndpoint(text.to_owned());
        let expected = FoundryRpcSettings {
            eth_rpc_url: Some(endpoint("http://127.0.0.1:1")),
            fork_block_number: Some(1_000),
            endpoints: BTreeMap::from([
                ("mainnet".to_owned(), endpoint("${MAINNET}")),
                ("base".to_owned(), endpoint("https://base.example")),
            ]),
        };
        assert_eq!(settings, expected);
        let wrong = "[profile.default]\nfork_block_number = 'soon'";
        let error = FoundryRpcSettings::read(wrong, "default").unwrap_err();
        let shown = "invalid value for `fork_block_number`: expected a block number, not soon";
        assert_eq!(error.to_string(), shown);
        assert!(!format!("{settings:?}").contains("example"), "a URL may contain a key");
    }

    #[test]
    fn replaces_variables() {
        let check = |text: &str| {
            interpolate_variables(text, |name| (name == "KEY").then(|| "v".to_owned()))
        };
        assert_eq!(check("https://a/${KEY}/${ KEY }").as_deref(), Ok("https://a/v/v"));
        assert_eq!(check("plain").as_deref(), Ok("plain"));
        assert_eq!(check("${open").as_deref(), Ok("${open"));
        assert_eq!(check("${KEY}${OTHER}"), Err("OTHER".to_owned()));
        let text = "[rpc_endpoints]\na = '${B}${A}'\n[profile.ci]\neth_rpc_url = '${C}'";
        assert_eq!(list_variables(text), ["A", "B", "C"]);
    }
}
