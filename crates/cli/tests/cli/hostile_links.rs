//! Links that leave the project: what a user names is not read through them, and nothing is written through them.

use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};

use crate::support::{Project, list_files};

/// A file outside of the project that reports every opening.
struct Canary(OwnedFd);

impl Canary {
    fn new(path: &Path, text: &str) -> Self {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        let watch = inotify::init(CreateFlags::NONBLOCK).unwrap();
        inotify::add_watch(&watch, path, WatchFlags::OPEN | WatchFlags::ACCESS).unwrap();
        Self(watch)
    }

    /// A folder outside of the project that reports when it is listed.
    fn of_folder(path: &Path) -> Self {
        let watch = inotify::init(CreateFlags::NONBLOCK).unwrap();
        inotify::add_watch(&watch, path, WatchFlags::OPEN | WatchFlags::ACCESS).unwrap();
        Self(watch)
    }

    fn is_opened(&self) -> bool {
        let mut buffer = [0; 512];
        rustix::io::read(&self.0, &mut buffer).is_ok_and(|count| count > 0)
    }
}

/// A project with a compiler of the user that prints its input, so that a source that was read shows in the output.
fn project_with_compiler() -> Project {
    let project = Project::new().untrusted();
    project.write_script("../bin/solc", "cat >&2; exit 1");
    project
}

fn fuzz(project: &Project, folder: &Path, args: &[&str]) -> String {
    let mut command = project.plain_command(&[&["fuzz"], args].concat());
    let bin = project.root.with_file_name("bin");
    command.env("PATH", format!("{}:/usr/bin:/bin", bin.display())).current_dir(folder);
    project.format_output(&command.output().unwrap())
}

/// The user fuzzes a file of a clone that is a link to a file of the user.
#[test]
fn linked_fuzz_target_is_not_read_outside_the_clone() {
    let json = "{\"contracts\": \"canary-content\"}";
    let cases: &[(&str, &str, &str, &[&str])] = &[
        ("A.sol", "../private/file.sol", "A.sol", &[]),
        ("A.sol", "../private/key", "A.sol", &[]),
        ("out.json", "../private/file.json", "out.json", &[]),
        ("src", "../private", "src/file.sol", &[]),
        ("src", "../private", "src/../src/file.sol", &[".git/HEAD"]),
        ("src/deep", "../../private", "src/deep/file.sol", &["foundry.toml"]),
        ("lib", "../private/project", "lib", &["package.json"]),
        ("A.sol", "B.sol", "A.sol", &["../private/second", "vouch.toml"]),
        ("combined_solc.json", "../private/file.json", ".", &[]),
        ("out/build-info/a.json", "../../../private/file.json", ".", &["foundry.toml"]),
        ("artifacts/build-info/a.json", "../../../private/file.json", ".", &["hardhat.config.js"]),
        ("out", "../private/built", ".", &["foundry.toml"]),
    ];
    for (link, target, named, files) in cases {
        for elsewhere in [false, true] {
            if elsewhere && *link == "src" && files.is_empty() {
                // No file says that the folder is a project, so its link could be one of the user.
                continue;
            }
            let project = project_with_compiler();
            for file in *files {
                project.write(file, "");
            }
            let outside = project.root.with_file_name("private");
            let canaries = [
                ("file.sol", "contract canary-content"),
                ("key", "canary-content"),
                ("file.json", json),
                ("project/foundry.toml", "canary-content"),
                ("built/build-info/a.json", json),
            ]
            .map(|(name, text)| Canary::new(&outside.join(name), text));
            let link = project.root.join(link);
            std::fs::create_dir_all(link.parent().unwrap()).unwrap();
            symlink(target, &link).unwrap();
            if *target == "B.sol" {
                symlink("../private/file.sol", project.root.join("B.sol")).unwrap();
            }
            let whole = project.root.join(named).display().to_string();
            let output = match elsewhere {
                false => fuzz(&project, &project.root, &[named]),
                // The folder above counts as the current project and contains both.
                true => fuzz(&project, project.root.parent().unwrap(), &[&whole]),
            };
            let what = format!("{named}, elsewhere {elsewhere}: {output}");
            assert!(!output.starts_with("exit: 0"), "{what}");
            assert!(!output.contains("canary-content"), "{what}");
            assert!(!canaries.iter().any(Canary::is_opened), "opened: {what}");
            // A build behind a link does not count, and the folder has no sources.
            let reasons = ["link that leaves", "outside of the project", "no contract found in `"];
            assert!(reasons.iter().any(|reason| output.contains(reason)), "{what}");
        }
    }
}

/// What the link leads to can be named, and links of the user and inside of the project are followed.
#[test]
fn other_linked_fuzz_targets_are_read() {
    let project =
        project_with_compiler().with("src/A.sol", "contract read-me").with("foundry.toml", "");
    symlink("src/A.sol", project.root.join("B.sol")).unwrap();
    symlink("project", project.root.with_file_name("mine")).unwrap();
    let mine = project.root.with_file_name("mine").join("src/A.sol").display().to_string();
    for named in ["src/A.sol", "B.sol", "./src/../B.sol", &mine] {
        let output = fuzz(&project, &project.root, &[named]);
        assert!(output.contains("read-me"), "{named}: {output}");
    }
    let output = fuzz(&project, &project.home, &[&mine]);
    assert!(output.contains("read-me"), "{output}");
    let outside = project.root.with_file_name("outside.sol");
    std::fs::write(&outside, "contract read-me").unwrap();
    symlink(&outside, project.root.join("C.sol")).unwrap();
    let output = fuzz(&project, &project.root, &["C.sol"]);
    assert!(output.contains("pass the path that it leads to: [TMP]/outside.sol"), "{output}");
    let output = fuzz(&project, &project.root, &[&outside.display().to_string()]);
    assert!(output.contains("read-me"), "{output}");
}

/// The clone links the folder that the user chooses for results, or something in it.
#[test]
fn campaign_writes_nothing_through_links() {
    for (link, target) in [
        ("corpus", "../victim"),
        ("corpus", "../missing"),
        ("corpus/coverage", "../../victim"),
        ("corpus/reproducers", "../../victim"),
        ("corpus/.lock", "../../created"),
        ("corpus/mcp-commands.jsonl", "../../victim/file"),
        ("corpus/coverage/1.txt", "../../../victim/file"),
        ("results/corpus", "../../victim"),
    ] {
        for flag in ["--corpus-dir", "--coverage-dir"] {
            let project = Project::new().untrusted().with("../victim/file", "precious");
            let link_path = project.root.join(link);
            std::fs::create_dir_all(link_path.parent().unwrap()).unwrap();
            symlink(target, &link_path).unwrap();
            let folder = if link.starts_with("results") { "results/corpus" } else { "corpus" };
            let output = project.run_plain(&["fuzz", "--demo", "--test-limit", "50", flag, folder]);
            let what = format!("{link} -> {target} {flag}: {output}");
            assert!(output.starts_with("exit: 2"), "{what}");
            assert!(output.contains("is a link that leaves the project"), "{what}");
            let base = project.root.parent().unwrap();
            assert_eq!(list_files(&base.join("victim")), ["file"], "{what}");
            assert_eq!(std::fs::read_to_string(base.join("victim/file")).unwrap(), "precious");
            assert!(!base.join("missing").exists() && !base.join("created").exists(), "{what}");
        }
    }
    // A link inside of the project is part of its layout.
    let project = Project::new().untrusted().with("data/file", "");
    symlink("data", project.root.join("corpus")).unwrap();
    let args = ["fuzz", "--demo", "--test-limit", "50", "--corpus-dir", "corpus"];
    let output = project.run_plain(&args);
    assert!(!output.contains("link that leaves"), "{output}");
    assert!(list_files(&project.root.join("data")).len() > 1, "{output}");
}

/// The user names a report in a folder of a clone, which links it, or the folder.
#[test]
fn report_is_not_written_through_links() {
    let args = |path: &'static str| {
        ["fuzz", "--demo", "--seed", "1", "--test-limit", "50", "--junit", path]
    };
    for (link, target, path) in [
        ("report.xml", "../victim/file", "report.xml"),
        ("report.xml", "../victim/new", "report.xml"),
        ("ci", "../victim", "ci/report.xml"),
        ("ci", "../victim", "ci/file"),
        ("ci/deep", "../../victim", "ci/deep/report.xml"),
    ] {
        let project = Project::new().untrusted().with("../victim/file", "precious");
        let link_path = project.root.join(link);
        std::fs::create_dir_all(link_path.parent().unwrap()).unwrap();
        symlink(target, &link_path).unwrap();
        let output = project.run_plain(&args(path));
        let what = format!("{link} -> {target}: {output}");
        assert!(output.starts_with("exit: 2"), "{what}");
        assert!(output.contains("is a link that leaves the project"), "{what}");
        let victim = project.root.with_file_name("victim");
        assert_eq!(list_files(&victim), ["file"], "{what}");
        assert_eq!(std::fs::read_to_string(victim.join("file")).unwrap(), "precious");
    }
    // Links inside of the project, and places of the user outside, are followed.
    let project = Project::new().untrusted().with("data/old.xml", "old");
    symlink("data", project.root.join("ci")).unwrap();
    symlink("data/old.xml", project.root.join("linked.xml")).unwrap();
    let outside = project.root.with_file_name("outside");
    std::fs::create_dir(&outside).unwrap();
    symlink("real.xml", outside.join("linked.xml")).unwrap();
    std::fs::write(outside.join("real.xml"), "old").unwrap();
    for (path, written) in [
        ("ci/new.xml", "data/new.xml"),
        ("linked.xml", "data/old.xml"),
        ("../outside/linked.xml", "../outside/real.xml"),
    ] {
        let output = project.run_plain(&args(path));
        assert!(project.read(written).starts_with("<?xml"), "{path}: {output}");
    }
    assert!(project.root.join("linked.xml").is_symlink());
    // A pipe of the user stays one.
    let pipe = outside.join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = std::thread::spawn(move || std::fs::read_to_string(pipe).unwrap());
    let output = project.run_plain(&args("../outside/pipe"));
    assert!(reader.join().unwrap().starts_with("<?xml"), "{output}");
}

/// Commands that write overlays, pins and the configuration of a trusted project.
#[test]
fn overlays_and_pins_are_not_written_through_links() {
    let call = "no_output_schema {\"text\": \"x\"}";
    let learn: &[&str] = &["learn", "adv", "--call", call, "--write"];
    let learn_forced: &[&str] = &["learn", "adv", "--call", call, "--write", "--force"];
    let check: &[&str] = &["check", "adv", "--fix-overlay", "contracts"];
    for (link, target, args) in [
        ("contracts", "../victim", learn),
        ("contracts", "../missing", learn),
        ("contracts/adv", "../../victim", learn),
        ("contracts/adv/no_output_schema.json", "../../../victim/file", learn_forced),
        ("contracts", "../victim", check),
        ("contracts/adv", "../../victim", check),
        ("vouch.lock", "../victim/file", &["accept"]),
        ("vouch.lock", "../missing", &["accept"]),
        ("pins", "../victim", &["accept"]),
        ("vouch.toml", "../victim/vouch.toml", &["upstream", "add", "x", "--", "true"]),
    ] {
        for trust in ["recorded", "run"] {
            let project = Project::new().untrusted().with("../victim/file", "{}");
            let more = if link == "pins" { "[gateway]\nlock = \"pins/vouch.lock\"\n" } else { "" };
            let project = project.with_adversary(&["--only", "good,no_output_schema"], more);
            let output = project.run_plain(&["trust", "--yes"]);
            assert!(output.starts_with("exit: 0"), "{output}");
            let place = project.root.join(link);
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            let victims = project.root.with_file_name("victim");
            if link == "vouch.toml" {
                std::fs::rename(&place, victims.join("vouch.toml")).unwrap();
            }
            symlink(target, &place).unwrap();
            let before = list_files(&victims);
            let flags: &[&str] = if trust == "run" { &["--trust"] } else { &[] };
            let output = project.run_plain(&[flags, args].concat());
            let what = format!("{link} -> {target} {args:?} {trust}: {output}");
            assert!(!output.starts_with("exit: 0"), "{what}");
            assert_eq!(list_files(&victims), before, "{what}");
            assert_eq!(std::fs::read_to_string(victims.join("file")).unwrap(), "{}", "{what}");
            assert!(!project.root.with_file_name("missing").exists(), "{what}");
            assert!(place.is_symlink(), "{what}");
        }
    }
}

/// A search path with relative folders lets a project replace programs that a started program starts itself.
#[test]
fn started_programs_inherit_no_relative_search_path() {
    for path in [":", ".:", "sub:", ":.:sub:"] {
        let project = Project::new().with("A.sol", "contract A {}").with("foundry.toml", "");
        let mark = project.root.with_file_name("mark");
        for place in ["helper", "sub/helper"] {
            project.write("sub/file", "");
            project.write_script(place, &format!("echo taken >> {}", mark.display()));
        }
        let bin = project.root.with_file_name("bin");
        let mut ran = 0;
        for program in ["solc", "forge", "node", "npm", "server"] {
            project
                .write_script(&format!("../bin/{program}"), "echo ran >> ../ran; helper; exit 1");
        }
        project.write("node_modules/solc/package.json", "{}");
        project.write("node_modules/solc/soljson.js", "");
        project.write(
            "vouch.toml",
            "[[upstream]]\nname = \"u\"\ncommand = \"server\"\nenv = { PATH = \"${PATH}\" }\n\
             sandbox = \"off\"\n",
        );
        for (args, without) in [
            (&["fuzz", "A.sol"][..], "none"),
            (&["fuzz", "A.sol"], "solc"),
            (&["fuzz", "."], "none"),
            (&["solc", "install"], "none"),
            (&["upstream", "tools"], "none"),
        ] {
            let _ = std::fs::remove_file(bin.join(without));
            let mut command = project.command(args);
            command.env("PATH", format!("{path}{}:/usr/bin:/bin", bin.display()));
            let output = project.format_output(&command.output().unwrap());
            assert!(!mark.exists(), "{path} {args:?}: {output}");
            let marks = list_files(project.root.parent().unwrap());
            ran += usize::from(marks.iter().any(|name| name == "ran"));
        }
        assert!(ran > 0, "no program was started");
    }
}

/// Links of a clone that commands which name no file come across.
#[test]
fn links_of_a_clone_are_not_followed_in_passing() {
    let upstream = "[[upstream]]\nname = \"one\"\ncommand = \"./one.sh\"\n";
    let lines: &[&[&str]] = &[
        &["tools"],
        &["trust"],
        &["trust", "--yes"],
        &["doctor"],
        &["accept"],
        &["accept", "--yes"],
        &["upstream", "tools"],
        &["upstream", "import", "--dry-run"],
        &["gateway", "--stdio"],
        &["learn", "one"],
        &["index"],
        &["discover", "list"],
        &["call", "grep_codebase", "pattern=canary"],
        &["call", "context_search", "query=canary"],
        &["call", "read_repo_file", "path=AGENTS.md"],
        &["call", "read_file", "path=AGENTS.md"],
        &["serve", "--stdio"],
        &["fuzz", "."],
    ];
    // Each group is one clone. A link that keeps the search out of the clone hides the others from it.
    let groups: [&[&str]; 5] = [
        &[
            "vouch.lock",
            "contracts/one/",
            "workflows/",
            ".env",
            ".mcp.json",
            ".vouch/",
            "package.json",
            "tsconfig.json",
            "AGENTS.md",
            ".cursor/rules",
            ".claude/",
            "node_modules/solc/",
            "lib/",
            "src/x.sol",
            "src/x.ts",
            "sub/.gitignore",
            ".git/HEAD",
        ],
        &[
            "contracts/one/run.json",
            "workflows/one.toml",
            "foundry.toml",
            "remappings.txt",
            "echidna.yaml",
            "medusa.json",
            ".git/config",
            ".vouch/vouch.db",
            ".claude/memory/decisions.jsonl",
            "CLAUDE.md",
            "docs/",
            "node_modules/",
        ],
        &[".gitignore", ".git/"],
        &[".ignore", ".git/info/exclude", ".git/objects/"],
        &[".rgignore", ".git/packed-refs", "lib/x/", "node_modules/x/", "contracts/"],
    ];
    for links in groups {
        let project = project_with_compiler().with("vouch.toml", upstream);
        let outside = project.root.with_file_name("private");
        let canaries = ["file", "file.json", "file.md", "config", "HEAD", "gitdir", "commondir"]
            .map(|name| Canary::new(&outside.join(name), "canary-content"));
        let folder = Canary::of_folder(&outside);
        for link in links {
            let place = project.root.join(link.trim_end_matches('/'));
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            let target = if link.ends_with('/') { "" } else { "file" };
            symlink(outside.join(target), &place).unwrap();
        }
        for file in ["src/A.sol", "src/a.ts", "sub/a.md"] {
            let imports = ["x", "./x", "./x.sol", "lib/file", "x/file", "../lib/x/file"];
            project.write(file, &imports.map(|path| format!("import \"{path}\";\n")).concat());
        }
        for args in lines {
            let output = project.run_plain(args);
            let what = format!("{links:?}: {args:?}: {output}");
            assert!(!output.contains("canary-content"), "{what}");
            assert!(!canaries.iter().any(Canary::is_opened), "read a file: {what}");
            assert!(!folder.is_opened(), "listed the folder: {what}");
        }
    }
}

/// A file names others by their paths, without a link.
#[test]
fn paths_in_files_of_a_clone_lead_nowhere() {
    for name in ["foundry.toml", "echidna.yaml", "medusa.json", "base.toml", "package.json"] {
        for is_absolute in [false, true] {
            let project = project_with_compiler().with("src/A.sol", "contract A {}");
            let outside = project.root.with_file_name("private");
            let text = "[profile.default]\neth_rpc_url = \"${CANARY_CONTENT}\"\n";
            let canary = Canary::new(&outside.join(name), text);
            let folder = Canary::of_folder(&outside);
            let place = match is_absolute {
                false => "../private".to_owned(),
                true => outside.display().to_string(),
            };
            project.write(
                "foundry.toml",
                &format!(
                    "[profile.default]\nextends = \"{place}/{name}\"\nlibs = [\"{place}\"]\n\
                     allow_paths = [\"{place}\"]\ninclude_paths = [\"{place}\"]\n"
                ),
            );
            project.write("remappings.txt", &format!("x/={place}/\n"));
            project.write("package.json", &format!("{{\"workspaces\": [\"{place}\"]}}"));
            let config = format!("{{\"extends\": \"{place}/{name}\"}}");
            project.write("tsconfig.json", &config);
            project.write("src/a.ts", "import \"x\";\n");
            for args in [
                &["tools"][..],
                &["doctor"],
                &["trust"],
                &["trust", "--yes"],
                &["fuzz", "."],
                &["fuzz", "src/A.sol"],
                &["index"],
                &["call", "context_search", "query=contract"],
            ] {
                let output = project.run_plain(args);
                let what = format!("{place}/{name}: {args:?}: {output}");
                assert!(!canary.is_opened() && !folder.is_opened(), "{what}");
                assert!(!output.contains("CANARY_CONTENT"), "{what}");
            }
        }
    }
}

/// A clone can replace a file by one that never ends, and the command must.
#[test]
fn endless_files_are_not_read() {
    for link in ["vouch.lock", ".mcp.json", ".gitignore", "AGENTS.md", "notes.md"] {
        let project = Project::new().untrusted().with("src/a.ts", "");
        let place = project.root.join(link);
        let pipe = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mkfifoat(rustix::fs::CWD, &place, pipe).unwrap();
        for args in [
            &["accept"][..],
            &["upstream", "import", "--dry-run"],
            &["index"],
            &["discover", "list"],
            &["discover", "import", "notes.md"],
            &["call", "grep_codebase", "pattern=x"],
        ] {
            let mut child = project.plain_command(args);
            let child = child.stdout(std::process::Stdio::null());
            let mut child = child.stderr(std::process::Stdio::null()).spawn().unwrap();
            crate::support::wait_for_exit(&mut child);
        }
    }
}

/// The user names a file of the clone that is a link to one of the user.
#[test]
fn named_files_are_not_read_or_written_through_links_out() {
    let json = "[{\"content\": \"canary-content\", \"type\": \"rule\"}]";
    let sequence = ["fuzz", "--demo", "--test-limit", "10", "--replay-mcp-commands", "named.json"];
    for args in [
        &["discover", "import", "named.json"][..],
        &["discover", "import", "./named.json", "--dry-run"],
        &["discover", "import", "folder/file.json"],
        &["fuzz", "--demo", "--replay", "named.json"],
        &["fuzz", "--demo", "--replay", "folder/file.json"],
        &sequence,
        &["fuzz", "--demo", "--test-limit", "50", "--junit", "named.json"],
        &["fuzz", "--demo", "--test-limit", "50", "--junit", "folder/new.xml"],
        &["fuzz", "--demo", "--test-limit", "50", "--junit", "dangling.xml"],
    ] {
        let project = Project::new().untrusted().with("vouch.toml", "");
        let outside = project.root.with_file_name("private");
        let canary = Canary::new(&outside.join("file.json"), json);
        for (link, target) in [
            ("named.json", "../private/file.json"),
            ("folder", "../private"),
            ("dangling.xml", "../private/created.xml"),
        ] {
            symlink(target, project.root.join(link)).unwrap();
        }
        let output = project.run_plain(args);
        assert!(output.starts_with("exit: 2"), "{args:?}: {output}");
        assert!(output.contains("link that leaves the project"), "{args:?}: {output}");
        assert!(!canary.is_opened() && !output.contains("canary-content"), "{args:?}: {output}");
        assert_eq!(list_files(&outside), ["file.json"], "{args:?}: {output}");
        let listed = project.run_plain(&["discover", "list"]);
        assert!(!listed.contains("canary-content"), "{listed}");
    }
    // Other places are those of the user.
    let project = Project::new().untrusted();
    let outside = project.root.with_file_name("private");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("file.json"), json).unwrap();
    let file = outside.join("file.json").display().to_string();
    let output = project.run_plain(&["discover", "import", &file]);
    assert!(output.starts_with("exit: 0"), "{output}");
    let report = outside.join("report.xml").display().to_string();
    project.run_plain(&["fuzz", "--demo", "--test-limit", "50", "--junit", &report]);
    assert!(outside.join("report.xml").exists());
}

/// Where no file marks the project, sources above the current folder need `--root`.
#[test]
fn import_from_above_the_current_folder_names_the_flag() {
    for (marker, root) in
        [("lib/B.sol", "[ROOT]"), ("foundry.toml", "[ROOT]"), (".git/HEAD", "[ROOT]")]
    {
        let project = Project::new().untrusted().with("lib/B.sol", "").with(marker, "");
        project.write("src/A.sol", "import \"../lib/B.sol\"; contract A {}");
        let answer = r#"{"errors":[{"severity":"error","formattedMessage":
            "ParserError: Source \"lib/B.sol\" not found: File not found."}]}"#;
        project.write_script("../bin/solc", &format!("cat > /dev/null; cat <<'E'\n{answer}\nE"));
        let output = fuzz(&project, &project.root.join("src"), &["A.sol"]);
        let hint = format!("if the project begins above, pass `--root {root}`");
        assert!(output.contains(&hint), "{marker}: {output}");
        let output = fuzz(&project, &project.root.join("src"), &["--root", "..", "A.sol"]);
        assert!(!output.contains("begins above") || marker == "lib/B.sol", "{marker}: {output}");
    }
}
