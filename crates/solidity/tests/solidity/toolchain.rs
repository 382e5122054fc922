//! In which order compilers are tried, and what is said when there is none.

use std::fs;
use std::path::PathBuf;

use crate::folder::Folder;
use crate::outputs::standard;

/// Which compiler compiles, given where compilers are.
struct Order {
    folder: Folder,
}

impl Order {
    fn new() -> Self {
        let mut folder = Folder::with_sources();
        folder.write("package.json", "{}");
        folder.write("answer", &standard().to_string());
        folder.toolchain.path = vec![folder.path("bin")];
        Self { folder }
    }

    /// A compiler that tells its name and compiles.
    fn native(&self, name: &str) -> PathBuf {
        let answer = self.folder.path("answer").display().to_string();
        let used = self.folder.path("used").display().to_string();
        self.folder.program(name, &format!("echo {name} > {used}; cat {answer}"))
    }

    /// The npm package, with a `node` that tells the package it was to run.
    fn package(&self, folder: &str) -> PathBuf {
        let answer = self.folder.path("answer").display().to_string();
        let used = self.folder.path("used").display().to_string();
        self.folder.program("bin/node", &format!("echo package $4 > {used}; cat {answer}"));
        self.folder.write(&format!("{folder}/package.json"), r#"{"version":"0.8.37"}"#);
        self.folder.write(&format!("{folder}/soljson.js"), "");
        self.folder.path(folder)
    }

    fn used(&self) -> String {
        let outcome = self.folder.check("src/Bank.sol");
        match fs::read_to_string(self.folder.path("used")) {
            Ok(used) => self.folder.masked(used.trim()),
            Err(_) => outcome,
        }
    }
}

#[test]
fn from_the_cache_up_to_the_flag() {
    let mut order = Order::new();
    insta::assert_snapshot!(order.used(), @"
    there is no Solidity compiler
    hint: Run `vouch solc install`, or name a compiler with `--solc PATH`.
    ");

    order.folder.toolchain.cache = Some(order.folder.path("cache"));
    order.package("cache/solc/0.8.9/node_modules/solc");
    order.package("cache/solc/0.8.30/node_modules/solc");
    order.folder.write("cache/solc/0.9.0/half", "");
    order.package("cache/solc/.installing-1/node_modules/solc");
    insta::assert_snapshot!(order.used(), @"package [folder]/cache/solc/0.8.30/node_modules/solc");

    order.package("node_modules/solc");
    insta::assert_snapshot!(order.used(), @"package [folder]/node_modules/solc");

    order.native("bin/solc");
    insta::assert_snapshot!(order.used(), @"bin/solc");

    order.folder.toolchain.env_solc = Some(order.native("from-env"));
    insta::assert_snapshot!(order.used(), @"from-env");

    order.folder.toolchain.solc = Some(order.package("elsewhere"));
    insta::assert_snapshot!(order.used(), @"package [folder]/elsewhere");
}

#[test]
fn a_bare_name_is_looked_up_on_the_path() {
    let mut order = Order::new();
    order.native("bin/solc-0.8");
    order.folder.toolchain.env_solc = Some("solc-0.8".into());
    assert_eq!(order.used(), "bin/solc-0.8");
}

#[test]
fn the_command_of_the_package_means_the_package() {
    let mut order = Order::new();
    let package = order.package("p/node_modules/solc");
    order.folder.program("p/node_modules/solc/solc.js", "");
    fs::create_dir_all(order.folder.path("p/node_modules/.bin")).unwrap();
    let command = order.folder.path("p/node_modules/.bin/solcjs");
    std::os::unix::fs::symlink(package.join("solc.js"), &command).unwrap();
    order.folder.toolchain.solc = Some(command);
    assert!(order.used().ends_with("p/node_modules/solc"), "{}", order.used());
}

#[test]
fn what_was_named_must_be_there() {
    let mut order = Order::new();
    order.native("bin/solc");
    order.folder.toolchain.env_solc = Some("/no/such/solc".into());
    insta::assert_snapshot!(order.used(), @"
    `$SOLC` names `/no/such/solc`, which is neither a program nor the npm package `solc`
    hint: Let `$SOLC` name the program `solc`, or a folder `node_modules/solc`.
    ");
    order.folder.toolchain.solc = Some(order.folder.write("text", "no program"));
    insta::assert_snapshot!(order.used(), @"
    `--solc` names `[folder]/text`, which is neither a program nor the npm package `solc`
    hint: Let `--solc` name the program `solc`, or a folder `node_modules/solc`.
    ");
}

#[test]
fn a_package_needs_node() {
    let mut order = Order::new();
    order.package("node_modules/solc");
    order.folder.toolchain.path.clear();
    insta::assert_snapshot!(order.used(), @"
    the compiler `[folder]/node_modules/solc` needs Node.js, and there is no `node` on the path
    hint: Install Node.js, or name a native compiler with `--solc PATH`.
    ");
}

#[test]
fn without_solc_forge_builds_the_project_of_the_file() {
    let mut order = Order::new();
    order.folder.write("foundry.toml", "");
    order.folder.write("ready.json", crate::outputs::FOUNDRY);
    order
        .folder
        .program("bin/forge", "mkdir -p out/build-info; cp ready.json out/build-info/1.json");
    order.folder.load("src/Bank.sol").unwrap().find("BankTest").unwrap();
    order.folder.toolchain.path.clear();
    fs::remove_dir_all(order.folder.path("out")).unwrap();
    insta::assert_snapshot!(order.used(), @"
    there is no Solidity compiler
    hint: Run `vouch solc install`, or name a compiler with `--solc PATH`.
    ");
}
