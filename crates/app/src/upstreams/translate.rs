//! A client's entry for a server, as an upstream of ours.
//!
//! Clients have words of their own for variables and folders, and people keep keys in these files. References become
//! ours; a literal that is a secret becomes a reference to a variable that the person is told to set.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::draft::{Draft, Way, surroundings};
use crate::clients::servers::{Listed, Piece, pieces};
use crate::config::{Address, UpstreamName, Variable};

/// A translation, or the reason why it failed.
pub type Answer<T> = std::result::Result<T, String>;

/// Schemes of `Authorization`, which are no secret.
const SCHEMES: [&str; 4] = ["Bearer ", "Basic ", "Token ", "token "];

/// Translates the entries of client files into drafts.
pub struct Translate {
    /// Names that are in use.
    taken: BTreeSet<String>,
    /// Entries from this run, by what they are; the same server is in several clients' files.
    done: Vec<Draft>,
    /// Our own address.
    own: String,
    home: Option<String>,
    /// Secrets that were not copied, by the variable that stands for them.
    variables: BTreeMap<String, String>,
}

impl Translate {
    /// Creates a translator. `taken` holds names in use, `own` is the URL of this server.
    pub fn new(taken: BTreeSet<String>, own: String, home: Option<&str>) -> Self {
        let home = home.map(str::to_owned);
        Self { taken, done: Vec::new(), own, home, variables: BTreeMap::new() }
    }

    /// The upstream and what to tell about it, or why it is left out. What does not fit our file is: one entry must not
    /// keep the others out.
    pub fn one(
        &mut self,
        server: &Listed,
        fits: impl Fn(&Draft) -> Answer<()>,
    ) -> Answer<(Draft, Vec<String>)> {
        let name = valid_name(&server.name).ok_or("its name has no letter or digit")?;
        let mut notes = Vec::new();
        if name != server.name {
            notes.push(format!("in the file it is `{}`", contract::text::one_line(&server.name)));
        }
        let entry = server.entry.as_object().ok_or("it is not an object")?;
        let draft = self.draft(&name, entry, server, &mut notes)?;
        if self.done.contains(&draft) {
            return Err("the same as one that is imported already".to_owned());
        }
        if self.taken.contains(&name) {
            return Err(format!("there is an upstream `{name}` already, and it stays as it is"));
        }
        fits(&draft)?;
        self.taken.insert(name);
        self.done.push(draft.clone());
        Ok((draft, notes))
    }

    fn draft(
        &mut self,
        name: &str,
        entry: &Map<String, Value>,
        server: &Listed,
        notes: &mut Vec<String>,
    ) -> Answer<Draft> {
        let text = |key: &str| entry.get(key).and_then(Value::as_str);
        let way = match (text("command"), text("url")) {
            (Some(command), _) => self.stdio(name, command, entry, server, notes)?,
            (None, Some(url)) => self.url(name, url, entry, server, notes)?,
            (None, None) => return Err("it has neither a command nor a url".to_owned()),
        };
        let number = |key: &str| entry.get(key).and_then(Value::as_f64);
        let seconds = number("startup_timeout_sec").map(|limit| limit * 1000.0);
        let limit = seconds.or_else(|| number("startup_timeout_ms")).filter(|limit| *limit >= 1.0);
        if entry.get("disabled_tools").is_some_and(|tools| *tools != Value::Array(Vec::new())) {
            notes.push(
                "its list of disabled tools is not taken over; see `tools` in vouch.toml".into(),
            );
        }
        let is = |key: &str, truth: bool| entry.get(key).and_then(Value::as_bool) == Some(truth);
        Ok(Draft {
            name: name.to_owned(),
            way,
            policy: None,
            tools: texts(entry.get("enabled_tools")),
            #[expect(clippy::cast_possible_truncation, reason = "a limit that long is none")]
            connect_timeout_ms: limit.map(|limit| limit as i64),
            enabled: !is("disabled", true) && !is("enabled", false),
        })
    }

    fn stdio(
        &mut self,
        name: &str,
        command: &str,
        entry: &Map<String, Value>,
        server: &Listed,
        notes: &mut Vec<String>,
    ) -> Answer<Way> {
        let command = self.plain("its command", command, server)?;
        let args = texts(entry.get("args"));
        let args = args.iter().map(|arg| self.plain("an argument", arg, server));
        let args = args.collect::<Answer<Vec<_>>>()?;
        let program = command.rsplit('/').next().unwrap_or(&command);
        if program == "vouch" && args.iter().any(|arg| arg == "serve" || arg == "gateway") {
            return Err("it is vouch itself".to_owned());
        }
        // `--token x` is recognised only as a whole.
        if let Some(rule) = secrets::find(&args.join(" ")) {
            return Err(format!(
                "an argument looks like {}, and vouch.toml must not hold it; pass it by env, if the server reads one",
                rule.what
            ));
        }
        let mut env = Vec::new();
        for (key, value) in object(entry.get("env")) {
            if key.parse::<Variable>().is_err() {
                return Err("its env has a name that no variable has".to_owned());
            }
            let value = self.reference(name, key, &scalar(value), server, notes);
            env.push((key.clone(), value));
        }
        // Codex: passed on from its own environment.
        for key in texts(entry.get("env_vars")) {
            if key.parse::<Variable>().is_err() {
                return Err("its env_vars has a name that no variable has".to_owned());
            }
            env.push((key.clone(), format!("${{{key}}}")));
        }
        if entry.contains_key("envFile") {
            notes.push("its envFile is not read; name the variables in env".to_owned());
        }
        surroundings(&command, &mut env);
        let cwd = entry.get("cwd").and_then(Value::as_str);
        let cwd = cwd.map(|cwd| self.plain("its cwd", cwd, server)).transpose()?;
        let cwd = cwd.filter(|cwd| !matches!(cwd.as_str(), "" | "."));
        Ok(Way::Stdio { command, args, env, cwd, sandbox: None })
    }

    fn url(
        &mut self,
        name: &str,
        url: &str,
        entry: &Map<String, Value>,
        server: &Listed,
        notes: &mut Vec<String>,
    ) -> Answer<Way> {
        let url = self.plain("its url", url, server)?;
        url.parse::<Address>()
            .map_err(|_| "its url is no http:// or https:// address".to_owned())?;
        if url == self.own {
            return Err("it is vouch itself".to_owned());
        }
        let login = url.split('/').nth(2).is_some_and(|host| host.contains('@'));
        let asked = url.split_once('?').is_some_and(|(_, query)| {
            query.split('&').any(|part| is_secret_name(part.split('=').next().unwrap_or_default()))
        });
        if login || asked || secrets::find(&url).is_some() {
            return Err("its url holds a key, and vouch.toml must not; use a header".to_owned());
        }
        let mut headers = Vec::new();
        for table in ["headers", "http_headers"] {
            for (key, value) in object(entry.get(table)) {
                let value = self.reference(name, key, &scalar(value), server, notes);
                headers.push((key.clone(), value));
            }
        }
        for (key, value) in object(entry.get("env_http_headers")) {
            headers.push((key.clone(), format!("${{{}}}", scalar(value))));
        }
        if let Some(variable) = entry.get("bearer_token_env_var").and_then(Value::as_str) {
            if variable.parse::<Variable>().is_err() {
                return Err("its bearer_token_env_var is no name of a variable".to_owned());
            }
            headers.push(("Authorization".to_owned(), format!("Bearer ${{{variable}}}")));
        }
        let sse = entry.get("type").and_then(Value::as_str) == Some("sse");
        Ok(Way::Url { url, sse, headers })
    }

    /// A text that cannot hold references.
    fn plain(&self, what: &str, text: &str, server: &Listed) -> Answer<String> {
        let mut out = String::new();
        for piece in pieces(text, server.expands) {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Root => out.push('.'),
                Piece::Home => out.push_str(self.home.as_deref().unwrap_or("~")),
                Piece::Variable { written, .. }
                | Piece::Input { written, .. }
                | Piece::Other(written) => {
                    return Err(format!(
                        "{what} refers to `{}`, and only env and headers can hold references; add it by hand",
                        contract::text::one_line(written)
                    ));
                }
            }
        }
        Ok(out)
    }

    /// A value of env or headers, as it is written in our file.
    fn reference(
        &mut self,
        upstream: &str,
        key: &str,
        text: &str,
        server: &Listed,
        notes: &mut Vec<String>,
    ) -> String {
        let pieces: Vec<_> = pieces(text, server.expands).collect();
        let literal =
            |piece: &Piece<'_>| matches!(piece, Piece::Text(text) if !SCHEMES.contains(text));
        if pieces.iter().any(literal)
            && (is_secret_name(key) || secrets::find(&format!("{key}={text}")).is_some())
        {
            return self.hidden(upstream, key, text, notes);
        }
        let mut out = String::new();
        for piece in pieces {
            match piece {
                Piece::Text(text) | Piece::Other(text) => out.push_str(&text.replace('$', "$$")),
                Piece::Root => out.push('.'),
                Piece::Home => {
                    out.push_str(&self.home.as_deref().unwrap_or("~").replace('$', "$$"));
                }
                Piece::Variable { name, default, .. } => {
                    out.push_str(&format!("${{{name}}}"));
                    if default.is_some() {
                        notes.push(format!(
                            "set {name} before it is started: {key} has no default here"
                        ));
                    }
                }
                Piece::Input { id, .. } => {
                    let name = variable_name(id);
                    let asked = server
                        .inputs
                        .get(id)
                        .map(|what| format!(" ({})", contract::text::one_line(what)));
                    notes.push(format!(
                        "set {name} before it is started{}: the client asks for it, we do not",
                        asked.unwrap_or_default()
                    ));
                    out.push_str(&format!("${{{name}}}"));
                }
            }
        }
        out
    }

    /// A reference in place of a secret.
    fn hidden(
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
            true => variable_name(&format!("{upstream}_token")),
            false => variable_name(&format!("{upstream}_{key}")),
        };
        // The name by which the server knows it, unless another server knows another secret by it.
        let short = variable_name(key);
        let free = self.variables.get(&short).is_none_or(|known| known == secret);
        let name = if !authorization && key == short && free { short } else { long };
        self.variables.insert(name.clone(), secret.to_owned());
        notes.push(format!(
            "set {name} before it is started: {key} looks like a secret, so its value was not copied"
        ));
        format!("{scheme}${{{name}}}")
    }
}

/// A name that an environment variable can have.
pub fn variable_name(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    let name: String = text.chars().map(plain).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name }
}

/// By its words: `DB_PASS` and `X-Auth` are, `PATH` and `AUTHOR` are not.
fn is_secret_name(name: &str) -> bool {
    const WORDS: [&str; 5] = ["PWD", "AUTH", "AUTHORIZATION", "PAT", "PASSPHRASE"];
    const PARTS: [&str; 7] =
        ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "COOKIE"];
    let name = name.to_ascii_uppercase();
    // People write `PGPASS` and `DBPASS` as one word.
    let is_secret = |word: &str| WORDS.contains(&word) || word.ends_with("PASS");
    PARTS.iter().any(|part| name.contains(part)) || name.split(['_', '-']).any(is_secret)
}

fn valid_name(name: &str) -> Option<String> {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let mut valid: String = name.chars().map(plain).take(32).collect();
    while valid.contains("--") {
        valid = valid.replace("--", "-");
    }
    let valid = valid.trim_matches('-');
    valid.parse::<UpstreamName>().ok().map(|UpstreamName(name)| name)
}

fn object(value: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    value.and_then(Value::as_object).into_iter().flatten()
}

fn texts(value: Option<&Value>) -> Vec<String> {
    value.and_then(Value::as_array).into_iter().flatten().map(scalar).collect()
}

/// Clients take numbers and truths where a text is meant.
fn scalar(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
