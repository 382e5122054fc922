//! An upstream before it is in the file, and the table that it becomes there.

use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, Value, value};

use crate::config::UpstreamPolicy;

/// Programs that fetch what they run. They need a home for it, and the network to fetch it.
const LAUNCHERS: [&str; 11] =
    ["npx", "npm", "pnpm", "yarn", "bunx", "uvx", "uv", "pipx", "deno", "docker", "podman"];

/// An upstream that is not in vouch.toml yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    pub name: String,
    pub way: Way,
    pub policy: Option<UpstreamPolicy>,
    pub tools: Vec<String>,
    pub connect_timeout_ms: Option<i64>,
    pub enabled: bool,
}

/// How a drafted upstream is reached.
#[derive(Clone, Debug, PartialEq)]
pub enum Way {
    Stdio {
        command: String,
        args: Vec<String>,
        /// As they are written in the file, with references.
        env: Vec<(String, String)>,
        cwd: Option<String>,
        sandbox: Option<Sandbox>,
    },
    Url {
        url: String,
        sse: bool,
        headers: Vec<(String, String)>,
    },
}

/// The sandbox of a drafted upstream.
#[derive(Clone, Debug, PartialEq)]
pub enum Sandbox {
    Off,
    Grants { read: Vec<String>, write: Vec<String>, network: bool },
}

/// The launcher that a command is, if it is one.
pub fn launcher(command: &str) -> Option<&str> {
    let name = command.rsplit('/').next().unwrap_or(command);
    LAUNCHERS.contains(&name).then_some(name)
}

/// What a program cannot do without, where nobody has named it: where programs are, if it is looked for there, and for
/// those that fetch others their home. In the file, so that it can be seen and taken away.
pub fn surroundings(command: &str, env: &mut Vec<(String, String)>) {
    let mut need = Vec::new();
    if !command.contains('/') {
        need.push("PATH");
    }
    if launcher(command).is_some() {
        need.push("HOME");
    }
    for name in need.into_iter().rev() {
        if !env.iter().any(|(known, _)| known == name) {
            env.insert(0, (name.to_owned(), format!("${{{name}}}")));
        }
    }
}

/// The launcher, and what to tell about it: what it fetches has to be kept somewhere.
pub fn launcher_note(draft: &Draft, home: Option<&str>) -> Option<(String, String)> {
    let Way::Stdio { command, sandbox: None, .. } = &draft.way else { return None };
    let launcher = launcher(command)?;
    let note = format!(
        "`{}` runs {launcher} under Landlock, where it may read the project, write nothing and use no network; what it \
         fetches it cannot keep. To let it, set in its table: {}",
        draft.name,
        remedy(Some(launcher), home)
    );
    Some((launcher.to_owned(), note))
}

/// What a table may say so that its program can work.
pub fn remedy(launcher: Option<&str>, home: Option<&str>) -> String {
    let home = home.unwrap_or("/home/you");
    let cache = match launcher {
        None => return "sandbox = { read = […], write = […], network = true }".to_owned(),
        Some("docker" | "podman") => {
            return "sandbox = \"off\", because a container is one of its own".to_owned();
        }
        Some("npx" | "npm") => format!("{home}/.npm"),
        Some("uvx" | "uv") => format!("{home}/.cache/uv"),
        Some(_) => format!("{home}/.cache"),
    };
    format!("sandbox = {{ read = [\".\", \"{cache}\"], write = [\"{cache}\"], network = true }}")
}

impl Draft {
    /// The text of its table.
    pub fn text(&self) -> String {
        let mut tables = ArrayOfTables::new();
        tables.push(self.table());
        let mut document = DocumentMut::new();
        document.insert("upstream", Item::ArrayOfTables(tables));
        document.to_string()
    }

    /// Returns the upstream's table.
    pub fn table(&self) -> Table {
        let mut table = Table::new();
        table.insert("name", value(self.name.as_str()));
        match &self.way {
            Way::Stdio { command, args, env, cwd, sandbox } => {
                table.insert("command", value(command.as_str()));
                if !args.is_empty() {
                    table.insert("args", value(array(args)));
                }
                if !env.is_empty() {
                    table.insert("env", value(pairs(env)));
                }
                if let Some(cwd) = cwd {
                    table.insert("cwd", value(cwd.as_str()));
                }
                if let Some(sandbox) = sandbox {
                    table.insert("sandbox", value(sandbox.value()));
                }
            }
            Way::Url { url, sse, headers } => {
                table.insert("url", value(url.as_str()));
                if *sse {
                    table.insert("transport", value("sse"));
                }
                if !headers.is_empty() {
                    table.insert("headers", value(pairs(headers)));
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
            table.insert("tools", value(array(&self.tools)));
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

impl Sandbox {
    fn value(&self) -> Value {
        match self {
            Self::Off => Value::from("off"),
            Self::Grants { read, write, network } => {
                let mut table = InlineTable::new();
                // What is not there means the same as without a sandbox.
                if !read.is_empty() {
                    table.insert("read", Value::Array(array(read)));
                }
                if !write.is_empty() {
                    table.insert("write", Value::Array(array(write)));
                }
                if *network {
                    table.insert("network", Value::from(true));
                }
                Value::InlineTable(table)
            }
        }
    }
}

fn array(texts: &[String]) -> Array {
    texts.iter().map(String::as_str).collect()
}

fn pairs(entries: &[(String, String)]) -> InlineTable {
    let mut table = InlineTable::new();
    for (name, text) in entries {
        table.insert(name, Value::from(text.as_str()));
    }
    table
}
