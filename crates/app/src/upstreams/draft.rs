//! An upstream that is about to be added to vouch.toml, and its TOML table.

use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, Value, value};

use link::NetworkAccess;

use crate::config::UpstreamPolicy;
use crate::trust::{FolderPower, split_table};

/// Programs that download packages and run them. They need a cache folder and network access.
const LAUNCHERS: [&str; 11] =
    ["npx", "npm", "pnpm", "yarn", "bunx", "uvx", "uv", "pipx", "deno", "docker", "podman"];

/// An upstream that is not in vouch.toml yet.
#[derive(Clone, Debug, PartialEq)]
pub struct UpstreamDraft {
    pub name: String,
    pub connection: DraftConnection,
    pub policy: Option<UpstreamPolicy>,
    pub tools: Vec<String>,
    pub connect_timeout_ms: Option<i64>,
    pub enabled: bool,
}

/// The connection of a drafted upstream.
#[derive(Clone, Debug, PartialEq)]
pub enum DraftConnection {
    Stdio {
        command: String,
        args: Vec<String>,
        /// Variables as written in the file, with references.
        env: Vec<(String, String)>,
        cwd: Option<String>,
        sandbox: Option<DraftSandbox>,
    },
    Url {
        url: String,
        sse: bool,
        headers: Vec<(String, String)>,
    },
}

/// The sandbox of a drafted upstream.
#[derive(Clone, Debug, PartialEq)]
pub enum DraftSandbox {
    Off,
    Grants(DraftGrants),
}

/// The grants of a drafted sandbox. What is empty or missing has its default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DraftGrants {
    /// True for the level `landlock`.
    pub is_landlock: bool,
    pub read: Vec<String>,
    pub write: Vec<String>,
    pub network: NetworkAccess,
    /// A size such as `512MB`.
    pub memory: Option<String>,
    pub processes: Option<u32>,
    pub open_files: Option<u32>,
    pub cpu_seconds: Option<u64>,
}

/// Returns the launcher that a command runs, if it is a known one.
pub fn detect_launcher(command: &str) -> Option<&str> {
    let name = command.rsplit('/').next().unwrap_or(command);
    LAUNCHERS.contains(&name).then_some(name)
}

/// Adds the variables that a program cannot run without, unless they are given.
///
/// `PATH` is added for a command without a path, and `HOME` for a launcher. They are written to the file, where the
/// operator can see and remove them.
pub fn add_required_variables(command: &str, env: &mut Vec<(String, String)>) {
    let mut need = Vec::new();
    if !command.contains('/') {
        need.push("PATH");
    }
    if detect_launcher(command).is_some() {
        need.push("HOME");
    }
    for name in need.into_iter().rev() {
        if !env.iter().any(|(known, _)| known == name) {
            env.insert(0, (name.to_owned(), format!("${{{name}}}")));
        }
    }
}

/// Returns the launcher of a draft and a note on the sandbox settings it needs; `None` for other programs.
pub fn launcher_note(draft: &UpstreamDraft, home: Option<&str>) -> Option<(String, String)> {
    let DraftConnection::Stdio { command, sandbox: None, .. } = &draft.connection else {
        return None;
    };
    let launcher = detect_launcher(command)?;
    let note = format!(
        "`{}` runs {launcher} in a sandbox that can read the project, but not write files or use the network, so it \
         cannot download packages. To allow that, set in its table: {}",
        draft.name,
        suggest_sandbox(Some(launcher), home)
    );
    Some((launcher.to_owned(), note))
}

/// Returns the `sandbox` setting that allows a launcher to work.
pub fn suggest_sandbox(launcher: Option<&str>, home: Option<&str>) -> String {
    let home = home.unwrap_or("/home/you");
    let cache = match launcher {
        None => {
            return "sandbox = { read = […], write = […], network = [\"host:443\"] }".to_owned();
        }
        Some("docker" | "podman") => {
            return "sandbox = \"off\" (the container is itself a sandbox)".to_owned();
        }
        Some("npx" | "npm") => format!("{home}/.npm"),
        Some("uvx" | "uv") => format!("{home}/.cache/uv"),
        Some(_) => format!("{home}/.cache"),
    };
    let network = match launcher.and_then(download_hosts) {
        Some(hosts) => format!("{hosts:?}"),
        None => "true".to_owned(),
    };
    format!(
        "sandbox = {{ read = [\".\", \"{cache}\"], write = [\"{cache}\"], network = {network} }}"
    )
}

/// Returns the hosts that a launcher downloads packages from by default, if they are few.
pub(crate) fn download_hosts(launcher: &str) -> Option<&'static [&'static str]> {
    match launcher {
        "npx" | "npm" | "pnpm" | "bunx" => Some(&["registry.npmjs.org:443"]),
        "yarn" => Some(&["registry.yarnpkg.com:443"]),
        "uvx" | "uv" | "pipx" => Some(&["pypi.org:443", "files.pythonhosted.org:443"]),
        _ => None,
    }
}

impl UpstreamDraft {
    /// Returns what the upstream would be allowed to do, as `vouch trust` shows it.
    pub fn describe_powers(&self) -> Vec<FolderPower> {
        let table = toml::from_str(&self.to_toml()).unwrap_or_default();
        split_table(&table).powers
    }

    /// Returns the TOML text of the upstream's table.
    pub fn to_toml(&self) -> String {
        let mut tables = ArrayOfTables::new();
        tables.push(self.to_table());
        let mut document = DocumentMut::new();
        document.insert("upstream", Item::ArrayOfTables(tables));
        document.to_string()
    }

    /// Returns the upstream's table.
    pub fn to_table(&self) -> Table {
        let mut table = Table::new();
        table.insert("name", value(self.name.as_str()));
        match &self.connection {
            DraftConnection::Stdio { command, args, env, cwd, sandbox } => {
                table.insert("command", value(command.as_str()));
                if !args.is_empty() {
                    table.insert("args", value(to_array(args)));
                }
                if !env.is_empty() {
                    table.insert("env", value(to_inline_table(env)));
                }
                if let Some(cwd) = cwd {
                    table.insert("cwd", value(cwd.as_str()));
                }
                if let Some(sandbox) = sandbox {
                    table.insert("sandbox", value(sandbox.to_value()));
                }
            }
            DraftConnection::Url { url, sse, headers } => {
                table.insert("url", value(url.as_str()));
                if *sse {
                    table.insert("transport", value("sse"));
                }
                if !headers.is_empty() {
                    table.insert("headers", value(to_inline_table(headers)));
                }
            }
        }
        let policy = match self.policy {
            Some(UpstreamPolicy::Strict) => Some("strict"),
            Some(UpstreamPolicy::Observe) => Some("observe"),
            Some(UpstreamPolicy::Default) | None => None,
        };
        if let Some(policy) = policy {
            table.insert("policy", value(policy));
        }
        if !self.tools.is_empty() {
            table.insert("tools", value(to_array(&self.tools)));
        }
        if let Some(limit) = self.connect_timeout_ms {
            table.insert("connect_timeout_ms", value(limit));
        }
        if !self.enabled {
            table.insert("enabled", value(false));
        }
        table
    }
}

impl DraftSandbox {
    fn to_value(&self) -> Value {
        match self {
            Self::Off => Value::from("off"),
            Self::Grants(grants) => Value::InlineTable(grants.to_table()),
        }
    }
}

impl DraftGrants {
    /// Returns the table. An omitted key has the same default as an omitted sandbox.
    fn to_table(&self) -> InlineTable {
        let mut table = InlineTable::new();
        if self.is_landlock {
            table.insert("level", Value::from("landlock"));
        }
        if !self.read.is_empty() {
            table.insert("read", Value::Array(to_array(&self.read)));
        }
        if !self.write.is_empty() {
            table.insert("write", Value::Array(to_array(&self.write)));
        }
        match &self.network {
            NetworkAccess::None => {}
            NetworkAccess::All => drop(table.insert("network", Value::from(true))),
            NetworkAccess::Hosts(hosts) => {
                let hosts: Vec<_> = hosts.iter().map(ToString::to_string).collect();
                table.insert("network", Value::Array(to_array(&hosts)));
            }
        }
        if let Some(memory) = &self.memory {
            table.insert("memory", Value::from(memory.as_str()));
        }
        let limits = [
            ("processes", self.processes.map(i64::from)),
            ("open_files", self.open_files.map(i64::from)),
            ("cpu_seconds", self.cpu_seconds.and_then(|seconds| seconds.try_into().ok())),
        ];
        for (key, limit) in limits {
            if let Some(limit) = limit {
                table.insert(key, Value::from(limit));
            }
        }
        table
    }
}

fn to_array(texts: &[String]) -> Array {
    texts.iter().map(String::as_str).collect()
}

fn to_inline_table(entries: &[(String, String)]) -> InlineTable {
    let mut table = InlineTable::new();
    for (name, text) in entries {
        table.insert(name, Value::from(text.as_str()));
    }
    table
}
