//! Imports server entries of client files as upstreams.
//!
//! Each client has its own placeholder syntax, and people store keys in these files. Placeholders become references of
//! vouch.toml. A literal secret becomes a reference to a variable, and a note asks the user to set it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::draft::{DraftConnection, UpstreamDraft, add_required_variables};
use crate::clients::servers::{ClientServerEntry, ClientTextPart, split_parts};
use crate::config::{ServerUrl, UpstreamName, VariableName};

/// An imported part, or the reason for skipping the entry.
pub type ImportResult<T> = std::result::Result<T, String>;

/// Schemes of `Authorization`, which are not secret.
const SCHEMES: [&str; 4] = ["Bearer ", "Basic ", "Token ", "token "];

/// Converts entries of client files into upstream drafts.
pub struct ServerImporter {
    /// Upstream names in use.
    taken: BTreeSet<String>,
    /// Drafts imported so far, because several clients may list the same server.
    imported: Vec<UpstreamDraft>,
    /// URL of this server.
    own_url: String,
    home: Option<String>,
    /// Secrets that were not copied, by the variable that replaces them.
    variables: BTreeMap<String, String>,
}

impl ServerImporter {
    /// Creates an importer. `taken` holds the names in use, `own` is the URL of this server.
    pub fn new(taken: BTreeSet<String>, own: String, home: Option<&str>) -> Self {
        let home = home.map(str::to_owned);
        Self { taken, imported: Vec::new(), own_url: own, home, variables: BTreeMap::new() }
    }

    /// Returns the draft of an entry with notes for the user, or the reason for skipping it.
    ///
    /// A draft that `fits` rejects is skipped, so that one entry does not prevent the import of others.
    pub fn import_entry(
        &mut self,
        server: &ClientServerEntry,
        fits: impl Fn(&UpstreamDraft) -> ImportResult<()>,
    ) -> ImportResult<(UpstreamDraft, Vec<String>)> {
        let name = to_upstream_name(&server.name).ok_or("the name has no letter or digit")?;
        let mut notes = Vec::new();
        if name != server.name {
            notes.push(format!("renamed from `{}`", contract::text::one_line(&server.name)));
        }
        let entry = server.entry.as_object().ok_or("the entry is not an object")?;
        let draft = self.build_draft(&name, entry, server, &mut notes)?;
        if self.imported.contains(&draft) {
            return Err("identical to an imported server".to_owned());
        }
        if self.taken.contains(&name) {
            return Err(format!("upstream `{name}` already exists and is kept"));
        }
        fits(&draft)?;
        self.taken.insert(name);
        self.imported.push(draft.clone());
        Ok((draft, notes))
    }

    fn build_draft(
        &mut self,
        name: &str,
        entry: &Map<String, Value>,
        server: &ClientServerEntry,
        notes: &mut Vec<String>,
    ) -> ImportResult<UpstreamDraft> {
        let text = |key: &str| entry.get(key).and_then(Value::as_str);
        let way = match (text("command"), text("url")) {
            (Some(command), _) => self.import_stdio(name, command, entry, server, notes)?,
            (None, Some(url)) => self.import_url(name, url, entry, server, notes)?,
            (None, None) => return Err("the entry has neither `command` nor `url`".to_owned()),
        };
        let number = |key: &str| entry.get(key).and_then(Value::as_f64);
        let seconds = number("startup_timeout_sec").map(|limit| limit * 1000.0);
        let limit = seconds.or_else(|| number("startup_timeout_ms")).filter(|limit| *limit >= 1.0);
        if entry.get("disabled_tools").is_some_and(|tools| *tools != Value::Array(Vec::new())) {
            notes.push(
                "its list of disabled tools is not imported; set `tools` in vouch.toml".into(),
            );
        }
        let is = |key: &str, truth: bool| entry.get(key).and_then(Value::as_bool) == Some(truth);
        Ok(UpstreamDraft {
            name: name.to_owned(),
            connection: way,
            policy: None,
            tools: array_texts(entry.get("enabled_tools")),
            #[expect(clippy::cast_possible_truncation, reason = "larger limits are meaningless")]
            connect_timeout_ms: limit.map(|limit| limit as i64),
            enabled: !is("disabled", true) && !is("enabled", false),
        })
    }

    fn import_stdio(
        &mut self,
        name: &str,
        command: &str,
        entry: &Map<String, Value>,
        server: &ClientServerEntry,
        notes: &mut Vec<String>,
    ) -> ImportResult<DraftConnection> {
        let command = self.expand_plain("the command", command, server)?;
        let args = array_texts(entry.get("args"));
        let args = args.iter().map(|arg| self.expand_plain("an argument", arg, server));
        let args = args.collect::<ImportResult<Vec<_>>>()?;
        let program = command.rsplit('/').next().unwrap_or(&command);
        if program == "vouch" && args.iter().any(|arg| arg == "serve" || arg == "gateway") {
            return Err("this is vouch itself".to_owned());
        }
        // `--token x` is recognized only as a whole.
        if let Some(rule) = secrets::find_secret(&args.join(" ")) {
            return Err(format!(
                "an argument looks like {}, which must not be in vouch.toml; pass it in `env` if the server supports that",
                rule.description
            ));
        }
        let mut env = Vec::new();
        for (key, value) in object_entries(entry.get("env")) {
            if key.parse::<VariableName>().is_err() {
                return Err("invalid variable name in `env`".to_owned());
            }
            let value = self.resolve_reference(name, key, &scalar_text(value), server, notes);
            env.push((key.clone(), value));
        }
        // Codex passes these on from its own environment.
        for key in array_texts(entry.get("env_vars")) {
            if key.parse::<VariableName>().is_err() {
                return Err("invalid variable name in `env_vars`".to_owned());
            }
            env.push((key.clone(), format!("${{{key}}}")));
        }
        if entry.contains_key("envFile") {
            notes.push("its `envFile` is not imported; set the variables in `env`".to_owned());
        }
        add_required_variables(&command, &mut env);
        let cwd = entry.get("cwd").and_then(Value::as_str);
        let cwd = cwd.map(|cwd| self.expand_plain("the cwd", cwd, server)).transpose()?;
        let cwd = cwd.filter(|cwd| !matches!(cwd.as_str(), "" | "."));
        Ok(DraftConnection::Stdio { command, args, env, cwd, sandbox: None })
    }

    fn import_url(
        &mut self,
        name: &str,
        url: &str,
        entry: &Map<String, Value>,
        server: &ClientServerEntry,
        notes: &mut Vec<String>,
    ) -> ImportResult<DraftConnection> {
        let url = self.expand_plain("the url", url, server)?;
        url.parse::<ServerUrl>()
            .map_err(|_| "invalid url: expected http:// or https://".to_owned())?;
        if url == self.own_url {
            return Err("this is vouch itself".to_owned());
        }
        let login = url.split('/').nth(2).is_some_and(|host| host.contains('@'));
        let asked = url.split_once('?').is_some_and(|(_, query)| {
            query.split('&').any(|part| is_secret_name(part.split('=').next().unwrap_or_default()))
        });
        if login || asked || secrets::find_secret(&url).is_some() {
            return Err(
                "the url contains a key, which must not be in vouch.toml; use a header".to_owned()
            );
        }
        let mut headers = Vec::new();
        for table in ["headers", "http_headers"] {
            for (key, value) in object_entries(entry.get(table)) {
                let value = self.resolve_reference(name, key, &scalar_text(value), server, notes);
                headers.push((key.clone(), value));
            }
        }
        for (key, value) in object_entries(entry.get("env_http_headers")) {
            headers.push((key.clone(), format!("${{{}}}", scalar_text(value))));
        }
        if let Some(variable) = entry.get("bearer_token_env_var").and_then(Value::as_str) {
            if variable.parse::<VariableName>().is_err() {
                return Err("invalid variable name in `bearer_token_env_var`".to_owned());
            }
            headers.push(("Authorization".to_owned(), format!("Bearer ${{{variable}}}")));
        }
        let sse = entry.get("type").and_then(Value::as_str) == Some("sse");
        Ok(DraftConnection::Url { url, sse, headers })
    }

    /// Expands a text that cannot contain references. `what` names it in the error.
    fn expand_plain(
        &self,
        what: &str,
        text: &str,
        server: &ClientServerEntry,
    ) -> ImportResult<String> {
        let mut out = String::new();
        for piece in split_parts(text, server.expands) {
            match piece {
                ClientTextPart::Text(text) => out.push_str(text),
                ClientTextPart::Root => out.push('.'),
                ClientTextPart::Home => out.push_str(self.home.as_deref().unwrap_or("~")),
                ClientTextPart::Variable { written, .. }
                | ClientTextPart::Input { written, .. }
                | ClientTextPart::Other(written) => {
                    return Err(format!(
                        "{what} refers to `{}`, but only `env` and `headers` can contain references; add it by hand",
                        contract::text::one_line(written)
                    ));
                }
            }
        }
        Ok(out)
    }

    /// Returns a value of `env` or `headers` as written in vouch.toml.
    fn resolve_reference(
        &mut self,
        upstream: &str,
        key: &str,
        text: &str,
        server: &ClientServerEntry,
        notes: &mut Vec<String>,
    ) -> String {
        let pieces: Vec<_> = split_parts(text, server.expands).collect();
        let literal = |piece: &ClientTextPart<'_>| matches!(piece, ClientTextPart::Text(text) if !SCHEMES.contains(text));
        if pieces.iter().any(literal)
            && (is_secret_name(key) || secrets::find_secret(&format!("{key}={text}")).is_some())
        {
            return self.replace_secret(upstream, key, text, notes);
        }
        let mut out = String::new();
        for piece in pieces {
            match piece {
                ClientTextPart::Text(text) | ClientTextPart::Other(text) => {
                    out.push_str(&text.replace('$', "$$"))
                }
                ClientTextPart::Root => out.push('.'),
                ClientTextPart::Home => {
                    out.push_str(&self.home.as_deref().unwrap_or("~").replace('$', "$$"));
                }
                ClientTextPart::Variable { name, default, .. } => {
                    out.push_str(&format!("${{{name}}}"));
                    if default.is_some() {
                        notes.push(format!(
                            "set {name} before it is started: {key} has no default in vouch.toml"
                        ));
                    }
                }
                ClientTextPart::Input { id, .. } => {
                    let name = to_variable_name(id);
                    let asked = server
                        .inputs
                        .get(id)
                        .map(|what| format!(" ({})", contract::text::one_line(what)));
                    notes.push(format!(
                        "set {name} before it is started{}: the client prompts for it, vouch does not",
                        asked.unwrap_or_default()
                    ));
                    out.push_str(&format!("${{{name}}}"));
                }
            }
        }
        out
    }

    /// Returns a reference that replaces a literal secret.
    fn replace_secret(
        &mut self,
        upstream: &str,
        key: &str,
        literal: &str,
        notes: &mut Vec<String>,
    ) -> String {
        let authorization = key.eq_ignore_ascii_case("authorization");
        let scheme = SCHEMES.iter().find(|scheme| authorization && literal.starts_with(**scheme));
        let scheme = scheme.copied().unwrap_or_default();
        let secret = &literal[scheme.len()..];
        let long = match authorization {
            true => to_variable_name(&format!("{upstream}_token")),
            false => to_variable_name(&format!("{upstream}_{key}")),
        };
        // The server's own name for the variable, unless another server uses it for another secret.
        let short = to_variable_name(key);
        let free = self.variables.get(&short).is_none_or(|known| known == secret);
        let name = if !authorization && key == short && free { short } else { long };
        self.variables.insert(name.clone(), secret.to_owned());
        notes.push(format!(
            "set {name} before it is started: {key} looks like a secret, so its value was not copied"
        ));
        format!("{scheme}${{{name}}}")
    }
}

/// Converts a text to a valid name of an environment variable.
pub fn to_variable_name(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    let name: String = text.chars().map(plain).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name }
}

/// Returns true if the words of a name suggest a secret: `DB_PASS` and `X-Auth`, but not `PATH` or `AUTHOR`.
fn is_secret_name(name: &str) -> bool {
    const WORDS: [&str; 5] = ["PWD", "AUTH", "AUTHORIZATION", "PAT", "PASSPHRASE"];
    const PARTS: [&str; 7] =
        ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "COOKIE"];
    let name = name.to_ascii_uppercase();
    // People write `PGPASS` and `DBPASS` as one word.
    let is_secret = |word: &str| WORDS.contains(&word) || word.ends_with("PASS");
    PARTS.iter().any(|part| name.contains(part)) || name.split(['_', '-']).any(is_secret)
}

fn to_upstream_name(name: &str) -> Option<String> {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let mut valid: String = name.chars().map(plain).take(32).collect();
    while valid.contains("--") {
        valid = valid.replace("--", "-");
    }
    let valid = valid.trim_matches('-');
    valid.parse::<UpstreamName>().ok().map(|UpstreamName(name)| name)
}

fn object_entries(value: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    value.and_then(Value::as_object).into_iter().flatten()
}

fn array_texts(value: Option<&Value>) -> Vec<String> {
    value.and_then(Value::as_array).into_iter().flatten().map(scalar_text).collect()
}

/// Returns a scalar as text. Clients accept numbers and booleans in place of strings.
fn scalar_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
