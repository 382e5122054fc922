//! Test support: a project in a temporary folder, commands run in it, and their output in a stable form.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

pub(crate) const VOUCH: &str = env!("CARGO_BIN_EXE_vouch");

/// Timeout of all waits, far longer than any step takes.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// A temporary project folder, home folder and state folder.
pub(crate) struct Project {
    folder: TempDir,
    pub(crate) root: PathBuf,
    pub(crate) home: PathBuf,
    /// Value of XDG_STATE_HOME.
    pub(crate) state_home: PathBuf,
    is_trusted: bool,
}

impl Project {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let [root, home, state_home] = ["project", "home", "state"].map(|name| base.join(name));
        std::fs::create_dir(&root).unwrap();
        std::fs::create_dir(&home).unwrap();
        Self { folder, root, home, state_home, is_trusted: true }
    }

    /// Returns another project of the same user. This one must live longer.
    pub(crate) fn another(&self) -> Self {
        let (home, state_home) = (self.home.clone(), self.state_home.clone());
        Self { home, state_home, ..Self::new() }
    }

    /// Returns the project with commands that trust it only if the user's records say so.
    pub(crate) fn untrusted(self) -> Self {
        Self { is_trusted: false, ..self }
    }

    /// Returns the path of the project's state directory, which may not exist yet.
    pub(crate) fn state(&self) -> PathBuf {
        let project = store::ProjectIdentity::read(&self.root).unwrap();
        self.state_home.join("vouch").join(project.directory_name())
    }

    /// Returns the folder of the project's audit keys, which may not exist yet.
    pub(crate) fn audit_keys(&self) -> PathBuf {
        let project = store::ProjectIdentity::read(&self.root).unwrap();
        self.home.join(".local/share/vouch/audit-keys").join(project.directory_name())
    }

    pub(crate) fn write_state(&self, path: &str, text: &str) {
        store::StateDir::open(self.state()).unwrap();
        std::fs::write(self.state().join(path), text).unwrap();
    }

    pub(crate) fn read_state(&self, path: &str) -> String {
        std::fs::read_to_string(self.state().join(path)).unwrap()
    }

    /// Writes a file and returns the project.
    pub(crate) fn with(self, path: &str, text: &str) -> Self {
        self.write(path, text);
        self
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.root.join(path)).unwrap()
    }

    /// Returns a `vouch` command in this project with a fixed environment.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(VOUCH);
        command
            .args(args)
            .current_dir(&self.root)
            .env_clear()
            .env("HOME", &self.home)
            .env("XDG_STATE_HOME", &self.state_home)
            .env("USER", "ada")
            // Trust is tested in `trust.rs` and `hostile_clone.rs`.
            .env("VOUCH_TRUST", if self.is_trusted { "1" } else { "0" })
            .env("PATH", "/usr/bin:/bin")
            .stdin(Stdio::null());
        command
    }

    /// Returns the principal of the user who runs the test.
    pub(crate) fn local_principal() -> String {
        let output = Command::new("id").arg("-un").output().unwrap();
        match output.status.success() {
            true => format!("cli:{}", String::from_utf8(output.stdout).unwrap().trim()),
            false => format!("cli:uid-{}", rustix::process::getuid().as_raw()),
        }
    }

    /// Returns a `vouch` command that trusts the project only if the user's records say so.
    pub(crate) fn plain_command(&self, args: &[&str]) -> Command {
        let mut command = self.command(args);
        command.env_remove("VOUCH_TRUST");
        command
    }

    /// Runs a command that trusts the project only if the user's records say so, and returns its output as text.
    pub(crate) fn run_plain(&self, args: &[&str]) -> String {
        self.format_output(&self.plain_command(args).output().unwrap())
    }

    /// Writes an executable script.
    pub(crate) fn write_script(&self, path: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt;
        self.write(path, &format!("#!/bin/sh\n{script}\n"));
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.root.join(path), mode).unwrap();
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs a command and returns its exit code and output as text.
    pub(crate) fn run_text(&self, args: &[&str]) -> String {
        self.format_output(&self.run(args))
    }

    /// Runs several commands and returns each with its output.
    pub(crate) fn transcript(&self, commands: &[&[&str]]) -> String {
        let show = |args: &&[&str]| format!("$ vouch {}\n{}", args.join(" "), self.run_text(args));
        commands.iter().map(show).collect::<Vec<_>>().join("\n")
    }

    pub(crate) fn run_json(&self, args: &[&str]) -> Value {
        let output = self.run(args);
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{}", self.format_output(&output)))
    }

    pub(crate) fn format_output(&self, output: &Output) -> String {
        let text = format!(
            "exit: {}\n--- out\n{}--- err\n{}",
            output.status.code().map_or("signal".into(), |code| code.to_string()),
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        self.redact_paths(&text)
    }

    /// Replaces the temporary paths in a text.
    pub(crate) fn redact_paths(&self, text: &str) -> String {
        text.replace(&self.state().display().to_string(), "[STATE]")
            .replace(&self.root.display().to_string(), "[ROOT]")
            .replace(&self.home.display().to_string(), "[HOME]")
            .replace(&self.folder.path().display().to_string(), "[TMP]")
            .replace(VOUCH, "[VOUCH]")
            .replace(&Path::new(VOUCH).with_file_name("").display().to_string(), "[BIN]/")
            .replace(&Path::new(VOUCH).parent().unwrap().display().to_string(), "[BIN]")
    }

    /// Adds a `vouch.toml` whose only upstream, `adv`, is the test kit's adversary with these arguments. The adversary may
    /// write the folder `adv`, which holds its state.
    pub(crate) fn with_adversary(self, args: &[&str], more: &str) -> Self {
        let command = adversary();
        std::fs::create_dir(self.root.join("adv")).unwrap();
        self.with(
            "vouch.toml",
            &format!(
                "[[upstream]]\nname = \"adv\"\ncommand = {command:?}\nargs = {args:?}\n\
                 sandbox = {{ read = [\".\"], write = [\"adv\"] }}\n{more}"
            ),
        )
    }

    pub(crate) fn start_server(&self, args: &[&str]) -> Server {
        let mut all = vec!["serve", "--port", "0"];
        all.extend(args);
        let mut server = Server::start(self.command(&all));
        // The banner shows only a new token.
        if !args.iter().any(|arg| ["--no-token", "--token-file"].contains(arg)) {
            server.token = self.token();
        }
        server
    }

    /// Starts a gateway over HTTP and waits until it serves these tools.
    pub(crate) fn start_gateway(&self, args: &[&str], tools: &[&str]) -> Server {
        let mut server = Server::start(self.command(&[&["gateway", "--port", "0"], args].concat()));
        if !args.contains(&"--no-token") {
            server.token = self.token();
        }
        tools.iter().for_each(|tool| server.wait_for_tool(tool));
        server
    }

    /// Writes a file that only its owner can access.
    pub(crate) fn write_private(&self, path: &str, text: &str) {
        self.write(path, text);
        self.set_mode(path, 0o600);
    }

    pub(crate) fn with_private(self, path: &str, text: &str) -> Self {
        self.write_private(path, text);
        self
    }

    pub(crate) fn set_mode(&self, path: impl AsRef<Path>, mode: u32) {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(self.root.join(path), mode).unwrap();
    }

    /// Returns the token of the project.
    pub(crate) fn token(&self) -> String {
        String::from_utf8(self.run(&["token"]).stdout).unwrap().trim().to_owned()
    }
}

/// Returns the path of the test kit's adversary, which is built with the workspace.
pub(crate) fn adversary() -> String {
    let path = match std::env::var_os("ADVERSARY_BIN") {
        Some(path) => PathBuf::from(path),
        None => Path::new(VOUCH).with_file_name("adversary"),
    };
    assert!(
        path.is_file(),
        "{} is missing: run `cargo build -p testkit --no-default-features --bin adversary`",
        path.display()
    );
    path.display().to_string()
}

/// Runs `check` with filters that redact times, ports, digests and sizes in snapshots.
pub(crate) fn with_filters(check: impl FnOnce()) {
    let filters = [
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "[TIME]"),
        (r"127\.0\.0\.1:\d{2,5}", "127.0.0.1:[PORT]"),
        (r"port = \d{2,5}", "port = [PORT]"),
        (r"sha256:[0-9a-f]{64}", "[SHA256]"),
        (r"hmac:[0-9a-f]{16}:[0-9a-f]{64}", "[HMAC]"),
        (r"\bkey [0-9a-f]{16}\b", "key [KEY]"),
        (r"follows [0-9a-f]{16}\b", "follows [KEY]"),
        (r"audit-keys/project-[0-9a-f]{32}", "audit-keys/project-[ID]"),
        (r"vouch_[0-9a-f]{64}", "[TOKEN]"),
        (r"vc1:[0-9a-f]{64}", "[DIGEST]"),
        (r"\b\d+(\.\d+)? (µs|ms|s)\b", "[DURATION]"),
        (r"\b\d+\.\d (kB|MB)\b", "[SIZE]"),
        (r"(?m) +$", ""),
    ];
    insta::with_settings!({filters => filters}, { check() });
}

/// A running `vouch serve`, killed when dropped.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) banner: String,
    /// Token that calls send. Without one, the token that the banner shows, if it is new.
    pub(crate) token: String,
    stderr: BufReader<ChildStderr>,
}

impl Server {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut banner = String::new();
        while !banner.contains("Press Ctrl-C to stop.") {
            assert_ne!(stderr.read_line(&mut banner).unwrap(), 0, "it ended early:\n{banner}");
        }
        let url = banner.split("://").nth(1).unwrap();
        let address = url.split('/').next().unwrap().parse().unwrap();
        let token = banner.split_whitespace().find(|word| word.starts_with("vouch_"));
        let token = token.unwrap_or_default().to_owned();
        Self { child, address, banner, token, stderr }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        send_signal(&self.child, signal);
    }

    /// Waits for the server to exit. Returns the status and the rest of standard error after the banner.
    pub(crate) fn wait(mut self) -> (ExitStatus, String) {
        let status = wait_for_exit(&mut self.child);
        let mut rest = String::new();
        self.stderr.read_to_string(&mut rest).unwrap();
        (status, rest)
    }

    /// Waits until the server lists a tool. A gateway waits a few seconds for its upstreams, which may take longer on a busy
    /// machine.
    pub(crate) fn wait_for_tool(&self, tool: &str) {
        wait_until(&format!("`{tool}` is listed"), || {
            let (_, list) = crate::operating::get(self.address, "/v1/tools", &self.token);
            let list: Value = serde_json::from_str(&list).unwrap();
            list["tools"].as_array().unwrap().iter().any(|one| one["name"] == tool)
        });
    }

    /// Calls a tool over REST. Returns the HTTP status and the body.
    pub(crate) fn call(&self, tool: &str, arguments: &Value) -> (u16, Value) {
        let body = arguments.to_string();
        let mut stream = TcpStream::connect(self.address).unwrap();
        let length = body.len();
        write!(
            stream,
            "POST /v1/tools/{tool} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Authorization: Bearer {}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}",
            self.token
        )
        .unwrap();
        read_response(stream)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads an HTTP response that ends with the connection. Returns its status and JSON body.
pub(crate) fn read_response(mut stream: TcpStream) -> (u16, Value) {
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let status = text.split(' ').nth(1).unwrap().parse().unwrap();
    let (_, body) = text.split_once("\r\n\r\n").unwrap();
    (status, serde_json::from_str(body).unwrap_or_else(|_| panic!("{text}")))
}

pub(crate) fn send_signal(child: &Child, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, signal).unwrap();
}

pub(crate) fn wait_for_exit(child: &mut Child) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        assert!(start.elapsed() < LIMIT, "the process does not exit");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until a condition holds. Panics after [`LIMIT`].
pub(crate) fn wait_until(condition: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < LIMIT, "timed out waiting until {condition}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Returns the files below a folder, as sorted relative paths.
pub(crate) fn list_files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { open.push(path) } else { found.push(path) }
        }
    }
    let mut names: Vec<_> =
        found.iter().map(|path| path.strip_prefix(folder).unwrap().display().to_string()).collect();
    names.sort();
    names
}
