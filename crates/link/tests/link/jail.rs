//! Helpers for tests of servers in namespaces: a folder with grants and listeners outside, and probes inside.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use link::{Connection, MaskedNames, NamespacePolicy, SandboxPolicy, StdioProgram};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{call_text, options, program};

/// The user that a server runs as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Account {
    Current,
    /// User 65534. Requires that the test runs as root.
    Ordinary,
}

impl Account {
    /// Returns the accounts that can be tested. An ordinary user is the second account itself; what is left out then is
    /// root.
    pub(crate) fn all() -> Vec<Self> {
        if rustix::process::geteuid().is_root() {
            return vec![Self::Current, Self::Ordinary];
        }
        let test = std::thread::current().name().unwrap_or("a test in namespaces").to_owned();
        test_rights::record_skip(&test, "servers of root, because the test does not run as root");
        vec![Self::Current]
    }
}

/// A folder with files that are granted and others that are not, readable by every user, and listeners outside.
pub(crate) struct Jail {
    pub(crate) root: TempDir,
    pub(crate) account: Account,
    pub(crate) tcp: std::net::TcpListener,
    /// Listens on 127.0.0.2.
    pub(crate) tcp_other: std::net::TcpListener,
    /// Listens on ::1.
    pub(crate) tcp6: std::net::TcpListener,
    pub(crate) udp: Arc<std::net::UdpSocket>,
    pub(crate) abstract_name: String,
    _listeners: (UnixListener, UnixListener, UnixListener, UnixDatagram),
}

impl Jail {
    pub(crate) fn new(account: Account) -> Self {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().canonicalize().unwrap();
        for (name, mode) in [("open", 0o755), ("out", 0o777), ("closed", 0o777)] {
            std::fs::create_dir(path.join(name)).unwrap();
            std::fs::write(path.join(name).join("file"), "12345").unwrap();
            set_mode(&path.join(name), mode);
            set_mode(&path.join(name).join("file"), mode & 0o666);
        }
        let mode = rustix::fs::Mode::from_raw_mode(0o666);
        rustix::fs::mkfifoat(rustix::fs::CWD, path.join("closed/pipe"), mode).unwrap();
        set_mode(&path, 0o755);
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/link");
        std::fs::create_dir(path.join("code")).unwrap();
        for name in ["server.py", "probes.py"] {
            std::fs::copy(sources.join(name), path.join("code").join(name)).unwrap();
        }
        // Another test may start a process while this one has the file open for writing, which would inherit the
        // descriptor and make the program "busy". So another process copies it.
        let mut copy = std::process::Command::new("cp");
        copy.arg(env!("CARGO_BIN_EXE_supervisor")).arg(path.join("supervisor"));
        assert!(copy.status().unwrap().success());
        let abstract_name = format!("vouch-{}", path.file_name().unwrap().display());
        let address = SocketAddr::from_abstract_name(&abstract_name).unwrap();
        let listeners = (
            UnixListener::bind(path.join("closed/docker.sock")).unwrap(),
            UnixListener::bind(path.join("out/agent.sock")).unwrap(),
            UnixListener::bind_addr(&address).unwrap(),
            UnixDatagram::bind(path.join("out/log.sock")).unwrap(),
        );
        for name in ["closed/docker.sock", "out/agent.sock", "out/log.sock"] {
            set_mode(&path.join(name), 0o777);
        }
        let udp = Arc::new(std::net::UdpSocket::bind("127.0.0.1:0").unwrap());
        std::thread::spawn({
            let udp = udp.clone();
            move || {
                while let Ok((_, from)) = udp.recv_from(&mut [0; 9]) {
                    let _ = udp.send_to(b"x", from);
                }
            }
        });
        Self {
            root,
            account,
            tcp: std::net::TcpListener::bind("127.0.0.1:0").unwrap(),
            tcp_other: std::net::TcpListener::bind("127.0.0.2:0").unwrap(),
            tcp6: std::net::TcpListener::bind("[::1]:0").unwrap(),
            udp,
            abstract_name,
            _listeners: listeners,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn tcp_port(&self) -> u16 {
        self.tcp.local_addr().unwrap().port()
    }

    pub(crate) fn other_port(&self) -> u16 {
        self.tcp_other.local_addr().unwrap().port()
    }

    pub(crate) fn tcp6_port(&self) -> u16 {
        self.tcp6.local_addr().unwrap().port()
    }

    pub(crate) fn udp_port(&self) -> u16 {
        self.udp.local_addr().unwrap().port()
    }

    /// Returns a policy that grants `open` and the server's code for reading and `out` for writing.
    pub(crate) fn policy(&self) -> NamespacePolicy {
        NamespacePolicy {
            read: vec![self.path("open"), self.path("code")],
            write: vec![self.path("out")],
            masked: MaskedNames {
                patterns: [".env*", "secrets", "*.key", ".git/config"].map(str::to_owned).to_vec(),
                ..MaskedNames::default()
            },
            ..NamespacePolicy::default()
        }
    }

    /// Returns the scripted server with this policy.
    pub(crate) fn program(&self, sandbox: SandboxPolicy) -> StdioProgram {
        let mut program = program("handshake");
        program.args = vec![self.path("code/server.py").display().to_string()];
        program.folder = "/".into();
        program.sandbox = sandbox;
        program.supervisor = self.supervisor(&[]);
        program
    }

    pub(crate) fn supervisor(&self, arguments: &[&str]) -> Vec<std::ffi::OsString> {
        let user: &[&str] = match self.account {
            Account::Current => &[],
            Account::Ordinary => &["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"],
        };
        let supervisor = self.path("supervisor").display().to_string();
        let words =
            user.iter().copied().chain([supervisor.as_str()]).chain(arguments.iter().copied());
        words.map(Into::into).collect()
    }

    pub(crate) fn start(&self, policy: NamespacePolicy) -> Arc<Connection> {
        Connection::new(options(self.program(SandboxPolicy::Namespaces(Box::new(policy)))))
    }

    /// Returns text with the folder's path replaced.
    pub(crate) fn redact(&self, text: &str) -> String {
        text.replace(&*self.path("").to_string_lossy(), "ROOT/")
            .replace(&*self.root.path().canonicalize().unwrap().to_string_lossy(), "ROOT")
    }
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Runs one probe and returns its outcome.
pub(crate) async fn probe(connection: &Connection, name: &str, with: Value) -> String {
    call_text(connection, "probe", json!({ "name": name, "with": with })).await
}
