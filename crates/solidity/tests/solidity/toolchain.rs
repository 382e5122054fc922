//! Search order of compilers, and errors if none is found.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::folder::TestFolder;
use crate::outputs::standard_output;

/// A project with fake compilers that record which one was run.
struct CompilerSearch {
    folder: TestFolder,
}

impl CompilerSearch {
    fn new() -> Self {
        let mut folder = TestFolder::with_sources();
        folder.write("package.json", "{}");
        folder.write("answer", &standard_output().to_string());
        folder.toolchain.path = vec![folder.path("bin")];
        Self { folder }
    }

    /// Adds a native compiler that records its name.
    fn native(&self, name: &str) -> PathBuf {
        let answer = self.folder.path("answer").display().to_string();
        let used = self.folder.path("used").display().to_string();
        self.folder.write_program(name, &format!("echo {name} > {used}; cat {answer}"))
    }

    /// Adds the npm package, with a `node` that records the package.
    fn package(&self, folder: &str) -> PathBuf {
        let answer = self.folder.path("answer").display().to_string();
        let used = self.folder.path("used").display().to_string();
        self.folder.write_program("bin/node", &format!("echo package $4 > {used}; cat {answer}"));
        self.folder.write(&format!("{folder}/package.json"), r#"{"version":"0.8.37"}"#);
        self.folder.write(&format!("{folder}/soljson.js"), "");
        self.folder.path(folder)
    }

    /// Returns the compiler that was run, or the error.
    fn used(&self) -> String {
        let outcome = self.folder.describe_load("src/Bank.sol");
        match fs::read_to_string(self.folder.path("used")) {
            Ok(used) => self.folder.mask_path(used.trim()),
            Err(_) => outcome,
        }
    }
}

#[test]
fn prefers_flag_then_env_then_path_then_project_then_cache() {
    let mut search = CompilerSearch::new();
    insta::assert_snapshot!(search.used(), @"
    no Solidity compiler found
    hint: run `vouch solc install`, pass `--install-solc`, or pass a compiler with `--solc PATH`
    ");

    search.folder.toolchain.cache = Some(search.folder.path("cache"));
    search.package("cache/solc/0.8.9/node_modules/solc");
    search.package("cache/solc/0.8.30/node_modules/solc");
    search.folder.write("cache/solc/0.9.0/half", "");
    search.package("cache/solc/.installing-1/node_modules/solc");
    insta::assert_snapshot!(search.used(), @"package [folder]/cache/solc/0.8.30/node_modules/solc");

    search.package("node_modules/solc");
    insta::assert_snapshot!(search.used(), @"package [folder]/node_modules/solc");

    search.native("bin/solc");
    insta::assert_snapshot!(search.used(), @"bin/solc");

    search.folder.toolchain.env_solc = Some(search.native("from-env"));
    insta::assert_snapshot!(search.used(), @"from-env");

    search.folder.toolchain.solc = Some(search.package("elsewhere"));
    insta::assert_snapshot!(search.used(), @"package [folder]/elsewhere");
}

#[test]
fn looks_up_bare_names_on_the_path() {
    let mut search = CompilerSearch::new();
    search.native("bin/solc-0.8");
    search.folder.toolchain.env_solc = Some("solc-0.8".into());
    assert_eq!(search.used(), "bin/solc-0.8");
}

#[test]
fn relative_folders_of_the_path_are_not_searched() {
    let mut search = CompilerSearch::new();
    // Both folders would have to contain the program; relative ones are refused before looking.
    let here = std::env::current_dir().unwrap();
    let up = here.components().skip(1).map(|_| "..").collect::<PathBuf>();
    let bin = search.native("bin/solc").parent().unwrap().strip_prefix("/").unwrap().to_owned();
    assert!(up.join(&bin).join("solc").is_file(), "the attack reaches the program");
    search.folder.toolchain.path = vec![PathBuf::new(), ".".into(), up.join(bin)];
    assert!(search.used().starts_with("no Solidity compiler found"), "{}", search.used());
    search.folder.toolchain.solc = Some("solc".into());
    insta::assert_snapshot!(search.used(), @"
    `--solc` is `solc`, which is not on the path
    hint: write `./solc` if you mean the file in the current folder
    ");
}

#[test]
fn file_next_to_the_package_is_not_loaded() {
    let mut folder = TestFolder::with_sources();
    folder.toolchain.path = std::env::split_paths(&std::env::var_os("PATH").unwrap()).collect();
    let answer = folder.write("answer", &standard_output().to_string());
    let mark = folder.path("mark").display().to_string();
    let script = format!(
        "exports.compile = () => require('fs').readFileSync('{}', 'utf8');",
        answer.display()
    );
    folder.write("p/node_modules/solc/package.json", r#"{"version":"0.8.37"}"#);
    folder.write("p/node_modules/solc/soljson.js", "");
    folder.write("p/node_modules/solc/index.js", &script);
    let attack = format!("require('fs').writeFileSync('{mark}', ''); {script}");
    folder.write("p/node_modules/solc.js", &attack);
    folder.write("p/node_modules/solc.json", "{}");
    folder.toolchain.solc = Some(folder.path("p/node_modules/solc"));
    folder.load("src/Bank.sol").unwrap();
    assert!(!folder.path("mark").exists(), "the file was loaded");
}

#[test]
fn crash_of_the_npm_package_is_reported_without_its_code() {
    let mut folder = TestFolder::with_sources();
    folder.toolchain.path = std::env::split_paths(&std::env::var_os("PATH").unwrap()).collect();
    folder.write("p/package.json", r#"{"version":"0.8.37"}"#);
    folder.write("p/soljson.js", "");
    folder.write("p/index.js", "exports.compile = () => { throw new RangeError('too deep'); };");
    folder.toolchain.solc = Some(folder.path("p"));
    insta::assert_snapshot!(folder.describe_load("src/Bank.sol"), @"
    `[folder]/p` failed with exit status: 70 and printed:
    the compiler crashed: RangeError: too deep
    hint: pass a native compiler with `--solc PATH`, or name one contract with `--contract`
    ");
}

/// A compiler that is a script, and never ends.
#[cfg(all(target_os = "linux", not(vouch_portable)))]
#[test]
fn slow_compiler_is_ended_with_what_it_started() {
    let mut search = CompilerSearch::new();
    let pids = search.folder.path("pids");
    let script = format!(
        "case $* in *--version*) exit 1;; esac; sh -c 'echo $$ >> {0}; sleep 1000' & sleep 1000 & echo $! >> {0}; wait",
        pids.display()
    );
    search.folder.toolchain.solc = Some(search.folder.write_program("slow", &script));
    // On a busy machine, the script needs a while to start both.
    let started = [1, 4, 16, 64].into_iter().find_map(|seconds| {
        drop(fs::remove_file(&pids));
        search.folder.toolchain.compile_time = Some(Duration::from_secs(seconds));
        let outcome = search.folder.describe_load("src/Bank.sol");
        let expected =
            format!("`[folder]/slow` did not end within {seconds} seconds, and was ended");
        assert!(outcome.starts_with(&expected), "{outcome}");
        fs::read_to_string(&pids).ok().filter(|pids| pids.lines().count() == 2)
    });
    let is_running = |pid: &str| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, fields)| !fields.starts_with(['Z', 'X']))
    };
    for pid in started.expect("both were started").lines() {
        // The system ends a killed process soon, but not at once.
        let is_ended = (0..1_000_000).any(|_| {
            std::thread::yield_now();
            !is_running(pid)
        });
        assert!(is_ended, "process {pid} goes on");
    }
}

#[test]
fn endless_output_ends_the_compiler() {
    let mut search = CompilerSearch::new();
    search.native("bin/solc");
    let script = "cat /dev/zero";
    search.folder.toolchain.solc = None;
    search
        .folder
        .write_program("bin/solc", &format!("case $* in *--version*) {script};; esac; cat answer"));
    // A version of any length is not believed, and the compiler is used like one that does not tell it.
    assert!(search.folder.load("src/Bank.sol").is_ok());
}

#[test]
fn large_sources_reach_the_npm_package_one_by_one() {
    let mut folder = TestFolder::with_sources();
    folder.toolchain.path = std::env::split_paths(&std::env::var_os("PATH").unwrap()).collect();
    let bank = fs::read_to_string(folder.path("src/Bank.sol")).unwrap();
    folder.write("src/Bank.sol", &format!("{bank}// {}\n", "x".repeat(600 * 1024)));
    folder.write("answer", &standard_output().to_string());
    folder.write("p/package.json", r#"{"version":"0.8.37"}"#);
    folder.write("p/soljson.js", "");
    let script = format!(
        r#"exports.version = () => '0.8.37';
        exports.compile = (text, {{ import: find }}) => {{
          if (text.length > 512 * 1024) throw new Error('memory access out of bounds');
          const sources = Object.values(JSON.parse(text).sources);
          const read = sources.map(({{ urls }}) => find(urls[0]).contents.length);
          if (Math.max(...read) < 600 * 1024) throw new Error('the source is not whole');
          return require('fs').readFileSync('{}', 'utf8');
        }};"#,
        folder.path("answer").display()
    );
    folder.write("p/index.js", &script);
    folder.toolchain.solc = Some(folder.path("p"));
    folder.load("src/Bank.sol").unwrap();
}

#[test]
fn resolves_solcjs_command_to_its_package() {
    let mut search = CompilerSearch::new();
    let package = search.package("p/node_modules/solc");
    search.folder.write_program("p/node_modules/solc/solc.js", "");
    fs::create_dir_all(search.folder.path("p/node_modules/.bin")).unwrap();
    let command = search.folder.path("p/node_modules/.bin/solcjs");
    std::os::unix::fs::symlink(package.join("solc.js"), &command).unwrap();
    search.folder.toolchain.solc = Some(command);
    assert!(search.used().ends_with("p/node_modules/solc"), "{}", search.used());
}

#[test]
fn rejects_named_compiler_that_does_not_exist() {
    let mut search = CompilerSearch::new();
    search.native("bin/solc");
    search.folder.toolchain.env_solc = Some("/no/such/solc".into());
    insta::assert_snapshot!(search.used(), @"
    `$SOLC` is `/no/such/solc`, which is neither an executable nor the npm package `solc`
    hint: set `$SOLC` to the `solc` executable or to a `node_modules/solc` folder
    ");
    search.folder.toolchain.solc = Some(search.folder.write("text", "no program"));
    insta::assert_snapshot!(search.used(), @"
    `--solc` is `[folder]/text`, which is neither an executable nor the npm package `solc`
    hint: set `--solc` to the `solc` executable or to a `node_modules/solc` folder
    ");
}

#[test]
fn npm_package_requires_node() {
    let mut search = CompilerSearch::new();
    search.package("node_modules/solc");
    search.folder.toolchain.path.clear();
    insta::assert_snapshot!(search.used(), @"
    compiler `[folder]/node_modules/solc` needs Node.js, but `node` is not on the path
    hint: install Node.js, or pass a native compiler with `--solc PATH`
    ");
}

#[test]
fn forge_builds_project_of_file_without_solc() {
    let mut search = CompilerSearch::new();
    search.folder.write("foundry.toml", "");
    search.folder.write("ready.json", crate::outputs::FOUNDRY);
    search
        .folder
        .write_program("bin/forge", "mkdir -p out/build-info; cp ready.json out/build-info/1.json");
    search.folder.load("src/Bank.sol").unwrap().find_contract("BankTest").unwrap();
    search.folder.toolchain.path.clear();
    fs::remove_dir_all(search.folder.path("out")).unwrap();
    insta::assert_snapshot!(search.used(), @"
    no Solidity compiler found
    hint: run `vouch solc install`, pass `--install-solc`, or pass a compiler with `--solc PATH`
    ");
}

#[test]
fn linked_configuration_is_not_read() {
    for name in ["foundry.toml", "remappings.txt"] {
        let mut search = CompilerSearch::new();
        search.native("bin/solc");
        search.folder.write("creds", "a=secret-value [");
        search.folder.write("app/A.sol", "contract A {}");
        search.folder.write("app/package.json", "{}");
        std::os::unix::fs::symlink("../creds", search.folder.path("app").join(name)).unwrap();
        search.folder.toolchain.project = solidity::ProjectPrograms::None;
        for target in ["app/A.sol", "app"] {
            let output = search.folder.describe_load(target);
            assert!(!output.contains("secret-value"), "{name} {target}: {output}");
            if target == "app/A.sol" || name == "foundry.toml" {
                assert!(output.contains("is outside of the project"), "{name} {target}: {output}");
            }
        }
    }
}

#[test]
fn sources_above_the_limit_are_not_searched() {
    let mut folder = TestFolder::with_sources();
    folder.write("package.json", "{}");
    folder.write("app/build/out.json", &standard_output().to_string());
    let root = folder.path("").canonicalize().unwrap();
    folder.toolchain.project = solidity::ProjectPrograms::None;
    let is_read = |folder: &TestFolder| {
        let build = folder.load("app/build/out.json");
        build.map_or(true, |build| build.sources.iter().any(|source| !source.text.is_empty()))
    };
    assert!(is_read(&folder), "the sources are two levels above");
    folder.toolchain.limit = Some(root.join("app"));
    assert!(!is_read(&folder), "a source above the limit was read");
    // The root of the compilation is not above it either.
    folder.write("app/A.sol", "contract A {}");
    let target = folder.path("app/A.sol");
    assert_eq!(solidity::find_project_folder(&target, None), root);
    assert_eq!(solidity::find_project_folder(&target, Some(&root.join("app"))), root.join("app"));
}
