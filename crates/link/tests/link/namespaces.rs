//! Servers in namespaces: what they reach, as root and as an ordinary user.

use std::fmt::Write;

use link::{Connection, NetworkAccess, SandboxPolicy};
use serde_json::{Value, json};

use crate::jail::{Account, Jail, probe};
use crate::support::{call_text, options};

/// The probes of the matrix, and their arguments.
fn matrix_probes(jail: &Jail) -> Vec<(&'static str, &'static str, Value)> {
    let path = |name: &str| json!([jail.path(name)]);
    let (tcp, udp) = (json!([jail.tcp_port()]), json!([jail.udp_port()]));
    let none = || json!([]);
    let mut probes = vec![
        ("read", "a read grant", path("open/file")),
        ("read", "a write grant", path("out/file")),
        ("read", "another folder", path("closed/file")),
        ("read", "/etc/passwd", json!(["/etc/passwd"])),
        ("read", "/etc/shadow", json!(["/etc/shadow"])),
        ("list", "the folder above the grants", path("")),
        ("list", "/home", json!(["/home"])),
        ("list", "/run", json!(["/run"])),
        ("stat", "another folder", path("closed/file")),
        ("write", "a read grant", path("open/new")),
        ("write", "a write grant", path("out/new")),
        ("write", "another folder", path("closed/new")),
        ("write", "/tmp", json!(["/tmp/new"])),
        ("write", "/dev/shm", json!(["/dev/shm/new"])),
        ("write", "/", json!(["/new"])),
        ("write", "/usr", json!(["/usr/new"])),
        ("overwrite", "a read grant", path("open/file")),
        ("chmod", "a read grant", path("open/file")),
        ("chmod", "another folder", path("closed")),
        ("chmod", "a system file", json!(["/usr/bin/env"])),
        ("chown", "a read grant", path("open/file")),
        ("utime", "a read grant", path("open/file")),
        ("unlink", "a read grant", path("open/file")),
        ("rename", "a read grant", path("open/file")),
        ("hard link", "a read grant", json!([jail.path("open/file"), jail.path("out/hard")])),
        (
            "symbolic link",
            "to another folder",
            json!([jail.path("closed/file"), jail.path("out/soft")]),
        ),
        ("device", "in a write grant", path("out/null")),
        ("device", "in /tmp", json!(["/tmp/null"])),
        ("leave set-user-ID", "in a write grant", path("out/suid")),
        ("create set-user-ID", "in a write grant", path("out/suid2")),
        ("write proc", "/proc/sys", json!(["/proc/sys/kernel/panic_on_oops"])),
        ("lease", "a read grant", path("open/file")),
        ("tcp", "listener outside", tcp.clone()),
        ("tcp to", "the unspecified address", json!(["0.0.0.0", jail.tcp_port()])),
        ("tcp to", "another loopback address", json!(["127.0.0.2", jail.other_port()])),
        ("tcp to", "the IPv6 loopback address", json!(["::1", jail.tcp6_port()])),
        ("tcp to", "the unspecified IPv6 address", json!(["::", jail.tcp6_port()])),
        ("mapped", "listener outside", tcp.clone()),
        ("mptcp", "listener outside", tcp.clone()),
        ("fast open", "listener outside", tcp),
        ("udp", "socket outside", udp),
        ("own loopback", "", none()),
        ("unix", "socket in another folder", path("closed/docker.sock")),
        ("unix", "socket in a write grant", path("out/agent.sock")),
        ("abstract", "socket outside", json!([jail.abstract_name])),
        ("datagram pair", "to a socket in a write grant", path("out/log.sock")),
        ("stream pair", "to a socket in a write grant", path("out/agent.sock")),
        ("own pair", "", none()),
    ];
    let calls = [
        "vsock",
        "packet",
        "raw",
        "sctp",
        "bluetooth",
        "alg",
        "netlink audit",
        "netlink uevent",
        "netlink netfilter",
        "ptrace",
        "process_vm_readv",
        "pidfd_getfd",
        "unshare",
        "clone namespace",
        "clone3",
        "setns",
        "mount",
        "chroot",
        "io_uring",
        "bpf",
        "keyctl",
        "userfaultfd",
        "perf_event_open",
        "open_by_handle_at",
        "kexec_load",
        "init_module",
        "future call",
        "x32 call",
        "32-bit call",
        "processes",
        "kill init",
        "descriptors",
        "privileges",
        "core limit",
    ];
    probes.extend(calls.map(|call| (call, "", none())));
    probes.extend([
        ("signal", "the owner", json!([std::process::id()])),
        (
            "read",
            "command line of the owner",
            json!([format!("/proc/{}/cmdline", std::process::id())]),
        ),
        ("init secrets", "environ", json!(["environ"])),
        ("init secrets", "mem", json!(["mem"])),
        ("init secrets", "fd", json!(["fd/0"])),
        ("init secrets", "root", json!(["root/etc/passwd"])),
    ]);
    probes
}

async fn run_matrix(jail: &Jail, connection: &Connection) -> Vec<String> {
    let mut outcomes = Vec::new();
    for (name, object, with) in matrix_probes(jail) {
        let outcome = probe(connection, name, with).await;
        // The size of a system file differs between machines.
        let outcome = if object == "/etc/passwd" { "read".to_owned() } else { outcome };
        outcomes.push(outcome);
    }
    outcomes
}

/// The sandbox matrix, for each network access. Both accounts must have the same outcomes.
#[tokio::test]
async fn reaches_only_what_is_granted() {
    let mut tables = Vec::new();
    for account in Account::all() {
        let mut columns = Vec::new();
        let mut names = Vec::new();
        for network in [NetworkAccess::None, NetworkAccess::Hosts(vec![]), NetworkAccess::All] {
            let jail = Jail::new(account);
            names = matrix_probes(&jail)
                .iter()
                .map(|(name, object, _)| format!("{name} {object}"))
                .collect();
            let mut policy = jail.policy();
            policy.network = network;
            columns.push(run_matrix(&jail, &jail.start(policy)).await);
        }
        let mut table =
            format!("{:50} {:32} {}\n", "", "network = false or hosts", "network = true");
        for (row, name) in names.iter().enumerate() {
            assert_eq!(columns[0][row], columns[1][row], "{name}");
            writeln!(table, "{name:50} {:32} {}", columns[0][row], columns[2][row]).unwrap();
        }
        tables.push(table);
    }
    insta::assert_snapshot!(tables[0]);
    if let [root, ordinary] = &tables[..] {
        assert_eq!(root, ordinary);
    }
}

/// A mount that is read-only does not keep a server from writing to named pipes in it; Landlock does. Not below `/tmp`, where
/// the server may write.
#[tokio::test]
async fn named_pipe_in_a_read_grant_cannot_be_written() {
    let jail = Jail::new(Account::Current);
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let pipe = folder.path().canonicalize().unwrap().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::from_raw_mode(0o666)).unwrap();
    let mut policy = jail.policy();
    policy.read.push(folder.path().to_owned());
    let connection = jail.start(policy);
    assert_eq!(probe(&connection, "open pipe", json!([pipe])).await, "refused: EACCES");
    let outside = jail.path("closed/pipe");
    assert_eq!(probe(&connection, "open pipe", json!([outside])).await, "refused: ENOENT");
}

/// A folder that cannot be listed may still be searched: its names cannot be masked one by one.
#[tokio::test]
async fn folder_that_cannot_be_listed_shows_no_secret() {
    use std::os::unix::fs::PermissionsExt;
    for account in Account::all() {
        let jail = Jail::new(account);
        let folder = jail.path("open/dark");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join(".env"), "12345").unwrap();
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o711)).unwrap();
        let connection = jail.start(jail.policy());
        let outcome = probe(&connection, "read", json!([folder.join(".env")])).await;
        assert!(["0 bytes", "refused: ENOENT"].contains(&outcome.as_str()), "{outcome}");
        // What is granted must be searched for secrets, so a grant like this is refused.
        let mut policy = jail.policy();
        policy.read = vec![folder];
        let started = jail.start(policy).connect().await;
        let is_root = account == Account::Current && rustix::process::geteuid().is_root();
        assert_eq!(started.is_ok(), is_root, "{account:?}");
    }
}

/// Shows that the probes work where nothing prevents them.
#[tokio::test]
async fn probes_succeed_without_a_sandbox() {
    let jail = Jail::new(Account::Current);
    let connection = Connection::new(options(jail.program(SandboxPolicy::Off)));
    for (name, with, expected) in [
        ("read", json!([jail.path("closed/file")]), "5 bytes"),
        ("write", json!([jail.path("closed/new")]), "created"),
        ("open pipe", json!([jail.path("closed/pipe")]), "refused: ENXIO"),
        ("lease", json!([jail.path("closed/file")]), "done"),
        ("tcp", json!([jail.tcp_port()]), "connected"),
        ("tcp to", json!(["0.0.0.0", jail.tcp_port()]), "connected"),
        ("tcp to", json!(["127.0.0.2", jail.other_port()]), "connected"),
        ("tcp to", json!(["::1", jail.tcp6_port()]), "connected"),
        ("mapped", json!([jail.tcp_port()]), "connected"),
        ("fast open", json!([jail.tcp_port()]), "sent"),
        ("udp", json!([jail.udp_port()]), "answered"),
        ("unix", json!([jail.path("closed/docker.sock")]), "connected"),
        ("abstract", json!([jail.abstract_name]), "connected"),
        ("datagram pair", json!([jail.path("out/log.sock")]), "sent"),
        ("signal", json!([std::process::id()]), "done"),
        ("leave set-user-ID", json!([jail.path("out/suid")]), "0o104755"),
    ] {
        assert_eq!(probe(&connection, name, with).await, expected, "{name}");
    }
}

#[tokio::test]
async fn server_has_the_identity_of_its_user() {
    for account in Account::all() {
        let jail = Jail::new(account);
        let connection = jail.start(jail.policy());
        let (user, group) = match account {
            Account::Current => {
                (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw())
            }
            Account::Ordinary => (65534, 65534),
        };
        let expected = format!("{user}:{group} pid other");
        assert_eq!(probe(&connection, "identity", json!([])).await, expected);
        // A network namespace has no other interface, so no packet leaves it.
        assert_eq!(probe(&connection, "interfaces", json!([])).await, "lo");
        assert_eq!(probe(&connection, "udp to network", json!([])).await, "refused: ENETUNREACH");
    }
}

#[tokio::test]
async fn inherited_descriptors_are_closed() {
    let jail = Jail::new(Account::Current);
    let file = jail.path("closed/file");
    for sandbox in [
        SandboxPolicy::Off,
        SandboxPolicy::Landlock {
            read: vec![jail.path("code")],
            write: vec![],
            hidden: vec![],
            network: false,
        },
        SandboxPolicy::Namespaces(Box::new(jail.policy())),
    ] {
        let mut program = jail.program(sandbox);
        let script = format!("exec 7<{0} 9>>{0}; exec \"$0\"", file.display());
        let mut supervisor: Vec<_> = ["sh", "-c", &script].map(Into::into).to_vec();
        supervisor.extend(program.supervisor);
        program.supervisor = supervisor;
        let connection = Connection::new(options(program));
        assert_eq!(probe(&connection, "descriptors", json!([])).await, "0 1 2");
    }
}

#[tokio::test]
async fn empties_hidden_paths_and_secret_names() {
    for account in Account::all() {
        let jail = Jail::new(account);
        for file in [
            "out/.env",
            "out/sub/.ENV.local",
            "out/secrets/token",
            "open/.git/config",
            "open/.git/HEAD",
            "open/tls.key",
            "open/state/db",
            "open/listed.key",
            "open/secrets/a",
            "open/secrets/public/b",
            "out/plain",
        ] {
            let path = jail.path(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "12345").unwrap();
        }
        std::os::unix::fs::symlink("plain", jail.path("out/.env.link")).unwrap();
        std::process::Command::new("chmod")
            .args(["-R", "a+rwX"])
            .arg(jail.path("out"))
            .status()
            .unwrap();
        let mut policy = jail.policy();
        policy.hidden = vec![jail.path("open/state"), jail.path("open/none")];
        policy.read.extend([jail.path("open/listed.key"), jail.path("open/secrets/public")]);
        let connection = jail.start(policy);
        let mut outcomes = Vec::new();
        for (name, file) in [
            ("list", "out"),
            ("read", "out/.env"),
            ("read", "out/sub/.ENV.local"),
            ("list", "out/secrets"),
            ("read", "out/secrets/token"),
            ("read", "out/.env.link"),
            ("read", "out/plain"),
            ("read", "open/.git/config"),
            ("read", "open/.git/HEAD"),
            ("read", "open/tls.key"),
            ("read", "open/listed.key"),
            ("list", "open/state"),
            ("read", "open/secrets/a"),
            ("read", "open/secrets/public/b"),
            ("overwrite", "out/.env"),
            ("chmod", "out/.env"),
            ("unlink", "out/.env"),
            ("rename", "out/.env"),
            ("rename", "out/secrets"),
            ("write", "out/secrets/new"),
            // The mask moves with the folder.
            ("rename", "out/sub"),
            ("read", "out/sub.moved/.ENV.local"),
        ] {
            let outcome = probe(&connection, name, json!([jail.path(file)])).await;
            outcomes.push(format!("{name} {file}: {outcome}"));
        }
        let linked = json!([jail.path("out/.env"), jail.path("out/copy")]);
        outcomes
            .push(format!("hard link out/.env: {}", probe(&connection, "hard link", linked).await));
        insta::assert_snapshot!("empties_hidden_paths_and_secret_names", outcomes.join("\n"));
    }
}

#[tokio::test]
async fn empties_copies_and_disguised_names_of_secrets() {
    let jail = Jail::new(Account::Current);
    let masked = [
        "#tls.key#",
        ".#tls.key",
        ".tls.key.swp",
        "Copy of tls.key",
        "tls copy.key",
        "tls (1).key",
        "tls.key.~1~",
        "tls.key-20240115",
        "tls.key.old.gz",
        "tls.\u{200b}key",
        "tls.\u{212a}ey",
        "\u{feff}.env",
        ".env ",
        "tls.key.",
        "\u{17f}ecrets",
        "secrets\u{ad}",
        "#.env.prod#",
    ];
    let shown = ["keys.txt", "my.keynote", "#notes#", "environment"];
    for name in masked.iter().chain(&shown) {
        std::fs::write(jail.path("open").join(name), "12345").unwrap();
    }
    let connection = jail.start(jail.policy());
    for (names, size) in [(&masked[..], "0 bytes"), (&shown[..], "5 bytes")] {
        for name in names {
            let path = jail.path("open").join(name);
            assert_eq!(probe(&connection, "read", json!([path])).await, size, "{name:?}");
        }
    }
}

#[tokio::test]
async fn refuses_grants_that_defeat_the_sandbox() {
    let jail = Jail::new(Account::Current);
    let mut errors = Vec::new();
    for (read, write, hidden) in [
        ("/", None, None),
        ("/proc", None, None),
        ("/proc/self", None, None),
        ("/dev", None, None),
        ("none", None, None),
        ("open", Some("none"), None),
        ("open", Some("out"), Some("out/sub")),
        ("open", Some("out/sub"), Some("out")),
    ] {
        std::fs::create_dir_all(jail.path("out/sub")).unwrap();
        let mut policy = jail.policy();
        policy.read = vec![jail.path(read)];
        policy.write = write.map(|write| jail.path(write)).into_iter().collect();
        policy.hidden = hidden.map(|hidden| jail.path(hidden)).into_iter().collect();
        errors.push(jail.redact(&jail.start(policy).connect().await.unwrap_err().to_string()));
    }
    insta::assert_snapshot!(errors.join("\n"));
}

/// Each part of the sandbox, unavailable in the kernel. The server must not start, and the message must name the part.
#[tokio::test]
async fn missing_part_prevents_the_start() {
    let parts = [
        "user",
        "no-user",
        "process",
        "no-process",
        "mount-namespace",
        "ipc",
        "no-ipc",
        "network",
        "loopback",
        "no-loopback",
        "open-filesystem",
        "configure-filesystem",
        "filesystem",
        "no-filesystem",
        "mount",
        "clone-mount",
        "beneath",
        "pivot",
        "unmount",
        "remount",
        "landlock",
        "landlock-rule",
        "landlock-start",
        "capabilities",
        "no-capabilities",
        "bounding-set",
        "ambient-set",
        "secure-bits",
        "seccomp",
        "subreaper",
        "death-signal",
        "pidfd",
    ];
    for account in Account::all() {
        let jail = Jail::new(account);
        let mut errors = Vec::new();
        for part in parts {
            let mut policy = jail.policy();
            // The server would leave a trace if it ran.
            let trace = jail.path("out/trace");
            policy.limits.cpu_seconds = Some(60);
            let mut program = jail.program(SandboxPolicy::Namespaces(Box::new(policy)));
            program.command = "sh".to_owned();
            program.args = vec!["-c".to_owned(), format!("touch {}", trace.display())];
            program.supervisor = jail.supervisor(&["--deny", part]);
            let error = Connection::new(options(program)).connect().await.unwrap_err();
            assert!(!trace.exists(), "{part}");
            errors.push(format!("{part}: {error}"));
        }
        insta::assert_snapshot!("missing_part_prevents_the_start", errors.join("\n"));
    }
}

/// Writes an executable copy of the server among files that are not part of it.
fn install_server(jail: &Jail, folder: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    let folder = jail.path(folder);
    std::fs::create_dir_all(folder.join("bin")).unwrap();
    let code = std::fs::read_to_string(jail.path("code/server.py")).unwrap();
    let program = folder.join("bin/server");
    std::fs::write(&program, format!("#!/usr/bin/env python3\n{code}")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    for name in ["bin/id_rsa", "bin/other", "notes"] {
        std::fs::write(folder.join(name), "12345").unwrap();
    }
    program.display().to_string()
}

#[tokio::test]
async fn files_beside_the_program_are_not_granted() {
    for account in Account::all() {
        let jail = Jail::new(account);
        let command = install_server(&jail, "tools");
        for sandbox in [
            SandboxPolicy::Landlock { read: vec![], write: vec![], hidden: vec![], network: false },
            SandboxPolicy::Namespaces(Box::default()),
        ] {
            let mut program = jail.program(sandbox);
            (program.command, program.args) = (command.clone(), vec![]);
            let connection = Connection::new(options(program));
            for name in ["tools/bin/id_rsa", "tools/bin/other", "tools/notes", "open/file"] {
                let outcome =
                    call_text(&connection, "read", json!({ "path": jail.path(name) })).await;
                assert!(outcome.starts_with("refused: "), "{name}: {outcome}");
            }
            let own = call_text(&connection, "read", json!({ "path": command })).await;
            assert!(own.starts_with("done: "), "{own}");
        }
    }
}

/// A server that exits at once: the error names the paths to grant.
#[tokio::test]
async fn error_names_paths_that_a_server_may_lack() {
    let jail = Jail::new(Account::Current);
    std::fs::write(jail.path("closed/main.py"), "import helper").unwrap();
    std::fs::write(jail.path("closed/helper.py"), "").unwrap();
    let connect = async |args: &[String]| {
        let mut program = jail.program(SandboxPolicy::Namespaces(Box::default()));
        program.args = args.to_vec();
        jail.redact(&Connection::new(options(program)).connect().await.unwrap_err().to_string())
    };
    let path = |name: &str| jail.path(name).display().to_string();
    let error = connect(&[path("closed/main.py")]).await;
    assert!(
        error.contains("its sandbox does not show \"ROOT/closed\": add what it needs to `read`"),
        "{error}"
    );
    let config = format!("--config={}", path("open/file"));
    let error = connect(&["-c".to_owned(), "import none".to_owned(), config]).await;
    assert!(error.contains("does not show \"ROOT/open/file\""), "{error}");
    assert!(error.contains("No module named"), "{error}");
}
