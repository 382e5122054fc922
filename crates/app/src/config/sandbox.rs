//! The `sandbox` key of an `[[upstream]]` table: level, grants and limits of a child process.

use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use link::{AllowedHost, GrantError, NetworkAccess, ProtectedPaths, ResourceLimits};
use serde::Deserialize;

use super::ConfigError;
use super::location::SourceEntry;

const EXPECTED: &str = "expected \"off\", \"landlock\", \"full\" or a table such as { read = [\".\"], network = false }";
const EXPECTED_NETWORK: &str =
    "expected true, false or a list of hosts with ports such as [\"api.github.com:443\"]";
/// Least memory that a server may be limited to. Common runtimes do not start with less.
const MIN_MEMORY: u64 = 64 << 20;

/// Raw value of the key.
#[derive(Clone, Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "expected \"off\", \"landlock\", \"full\" or a table of read, write and network"
)]
pub(super) enum SandboxLayer {
    Word(String),
    Grants(Box<GrantsLayer>),
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct GrantsLayer {
    level: Option<String>,
    read: Option<Vec<PathBuf>>,
    write: Option<Vec<PathBuf>>,
    network: Option<NetworkLayer>,
    memory: Option<String>,
    processes: Option<NonZeroU32>,
    open_files: Option<NonZeroU32>,
    cpu_seconds: Option<NonZeroU64>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "expected true, false or a list of hosts with ports such as [\"api.github.com:443\"]"
)]
enum NetworkLayer {
    All(bool),
    Hosts(Vec<String>),
}

/// The sandbox of a child process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SandboxConfig {
    /// No sandbox, by explicit configuration.
    Off,
    /// Landlock only, by explicit configuration.
    Landlock(SandboxGrants),
    /// Namespaces, a system call filter, Landlock and resource limits.
    Full(SandboxGrants),
}

/// The access granted to a sandboxed child. Paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxGrants {
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
    pub network: NetworkAccess,
    /// Not enforced by the level `landlock`.
    pub limits: ResourceLimits,
}

impl SandboxConfig {
    /// Returns the grants, unless the sandbox is off.
    pub fn grants(&self) -> Option<&SandboxGrants> {
        match self {
            Self::Off => None,
            Self::Landlock(grants) | Self::Full(grants) => Some(grants),
        }
    }

    /// Returns the name of the level in the configuration.
    pub fn level_name(&self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Landlock(_) => "landlock",
            Self::Full(_) => "full",
        }
    }
}

/// Validates the key of one upstream.
pub(super) fn build_sandbox(
    layer: Option<SandboxLayer>,
    entry: SourceEntry<'_>,
    protected: &ProtectedPaths,
) -> Result<SandboxConfig, ConfigError> {
    let mut grants = match layer {
        None => GrantsLayer::default(),
        Some(SandboxLayer::Grants(grants)) => *grants,
        Some(SandboxLayer::Word(word)) if word == "off" => return Ok(SandboxConfig::Off),
        Some(SandboxLayer::Word(word)) => {
            GrantsLayer { level: Some(word), ..GrantsLayer::default() }
        }
    };
    let level = grants.level.take();
    let is_full = match level.as_deref() {
        None | Some("full") => true,
        Some("landlock") => false,
        Some(_) => return Err(entry.invalid_value(&["sandbox"], EXPECTED)),
    };
    if !is_full {
        grants.refuse_limits(entry)?;
    }
    let grants = grants.into_grants(entry, protected)?;
    match (is_full, &grants.network) {
        (false, NetworkAccess::Hosts(_)) => {
            let message = "a list of hosts requires the level `full`";
            Err(entry.invalid_value(&["sandbox", "network"], message))
        }
        (false, _) => Ok(SandboxConfig::Landlock(grants)),
        (true, _) => Ok(SandboxConfig::Full(grants)),
    }
}

impl GrantsLayer {
    /// Refuses the limits, which the level `landlock` would ignore.
    fn refuse_limits(&self, entry: SourceEntry<'_>) -> Result<(), ConfigError> {
        let given = [
            ("memory", self.memory.is_some()),
            ("processes", self.processes.is_some()),
            ("open_files", self.open_files.is_some()),
            ("cpu_seconds", self.cpu_seconds.is_some()),
        ];
        match given.into_iter().find(|(_, is_given)| *is_given) {
            Some((key, _)) => {
                Err(entry.invalid_value(&["sandbox", key], "requires the level `full`"))
            }
            None => Ok(()),
        }
    }

    fn into_grants(
        self,
        entry: SourceEntry<'_>,
        protected: &ProtectedPaths,
    ) -> Result<SandboxGrants, ConfigError> {
        let root = entry.context.root;
        let below =
            |key,
             paths: Vec<PathBuf>,
             check: fn(&ProtectedPaths, &Path) -> Result<(), GrantError>| {
                let below = |path: &PathBuf| match check(protected, &root.join(path)) {
                    Err(why) => {
                        let message = format!("cannot grant `{}`: {why}", path.display());
                        Err(entry.invalid_value(&["sandbox", key], message))
                    }
                    Ok(()) => Ok(root.join(path)),
                };
                paths.iter().map(below).collect::<Result<Vec<_>, _>>()
            };
        let limits = self
            .build_limits()
            .map_err(|message| entry.invalid_value(&["sandbox", "memory"], message))?;
        let network = self.network.map_or(Ok(NetworkAccess::None), NetworkLayer::into_access);
        Ok(SandboxGrants {
            read: match self.read {
                Some(paths) => below("read", paths, ProtectedPaths::check_read)?,
                None => vec![root.to_owned()],
            },
            write: below("write", self.write.unwrap_or_default(), ProtectedPaths::check_write)?,
            network: network
                .map_err(|message| entry.invalid_value(&["sandbox", "network"], message))?,
            limits,
        })
    }

    fn build_limits(&self) -> Result<ResourceLimits, String> {
        let default = ResourceLimits::default();
        Ok(ResourceLimits {
            memory: match &self.memory {
                Some(text) => Some(parse_memory(text)?),
                None => default.memory,
            },
            processes: self.processes.map(NonZeroU32::get).or(default.processes),
            open_files: self.open_files.map(NonZeroU32::get).or(default.open_files),
            cpu_seconds: self.cpu_seconds.map(NonZeroU64::get).or(default.cpu_seconds),
        })
    }
}

impl NetworkLayer {
    fn into_access(self) -> Result<NetworkAccess, String> {
        match self {
            Self::All(true) => Ok(NetworkAccess::All),
            Self::All(false) => Ok(NetworkAccess::None),
            Self::Hosts(hosts) if hosts.is_empty() => Err(EXPECTED_NETWORK.to_owned()),
            Self::Hosts(hosts) => {
                let hosts = hosts.iter().map(|host| AllowedHost::from_str(host));
                Ok(NetworkAccess::Hosts(hosts.collect::<Result<_, _>>()?))
            }
        }
    }
}

/// Parses a size such as `512MB` or `2GB`.
pub fn parse_memory(text: &str) -> Result<u64, String> {
    let units = [("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)];
    let parsed = units.into_iter().find_map(|(unit, factor)| {
        let number: u64 = text.strip_suffix(unit)?.trim_end().parse().ok()?;
        number.checked_mul(factor)
    });
    parsed.filter(|bytes| *bytes >= MIN_MEMORY).ok_or_else(|| {
        format!("expected a size of at least {}MB such as \"512MB\" or \"2GB\"", MIN_MEMORY >> 20)
    })
}
