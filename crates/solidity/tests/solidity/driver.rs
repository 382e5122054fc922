//! Compiling projects with the built-in driver, by fake compilers that record what they are given.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;

use serde_json::Value;
use solidity::{ProjectPrograms, load_contract_build};

use crate::folder::TestFolder;
use crate::format_load_error;

/// An unbuilt project, and compilers of some versions in the user's cache.
struct UnbuiltProject {
    folder: TestFolder,
}

impl UnbuiltProject {
    /// Creates an untrusted project in the folder `app`, with a compiler of each version.
    fn new(versions: &[&str]) -> Self {
        let mut folder = TestFolder::new();
        let user = folder.path("user").display().to_string();
        // Each source becomes a contract whose name is its first word after `contract`.
        let script = format!(
            "version=$(basename ${{4%/node_modules/solc}}); cat > {user}/input-$version.json; \
             echo $version >> {user}/runs; cat {user}/answer.json"
        );
        let answer =
            r#"{"contracts":{"src/A.sol":{"A":{"abi":[],"evm":{"bytecode":{"object":"00"}}}}}}"#;
        folder.write("user/answer.json", answer);
        folder.write_program("user/bin/node", &script);
        for version in versions {
            let package = format!("user/cache/solc/{version}/node_modules/solc");
            folder.write(
                &format!("{package}/package.json"),
                &format!(r#"{{"version":"{version}"}}"#),
            );
            folder.write(&format!("{package}/soljson.js"), "");
        }
        folder.toolchain.path = vec![folder.path("user/bin")];
        folder.toolchain.cache = Some(folder.path("user/cache"));
        folder.toolchain.project = ProjectPrograms::None;
        folder.write("app/foundry.toml", "");
        Self { folder }
    }

    fn write(&self, name: &str, text: &str) -> &Self {
        self.folder.write(&format!("app/{name}"), text);
        self
    }

    /// Loads the project. Returns the versions that ran, each with its sources, or the error.
    fn describe(&self, contract: Option<&str>) -> String {
        drop(fs::remove_file(self.folder.path("user/runs")));
        let loaded =
            load_contract_build(&self.folder.path("app"), contract, &self.folder.toolchain);
        let mut text = String::new();
        for version in self.runs() {
            let input = self.input(&version);
            let sources: Vec<_> = input["sources"].as_object().unwrap().keys().cloned().collect();
            writeln!(text, "{version}: {}", sources.join(" ")).unwrap();
        }
        match loaded {
            Ok(loaded) => text.extend(loaded.notes.iter().map(|note| format!("note: {note}\n"))),
            Err(error) => text.push_str(&format_load_error(&error)),
        }
        self.folder.mask_path(&text)
    }

    fn runs(&self) -> Vec<String> {
        let runs = fs::read_to_string(self.folder.path("user/runs")).unwrap_or_default();
        runs.lines().map(str::to_owned).collect()
    }

    fn input(&self, version: &str) -> Value {
        let path = self.folder.path(&format!("user/input-{version}.json"));
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
    }

    /// Returns the settings of a version's last input, without the output selection.
    fn settings(&self, version: &str) -> String {
        let mut settings = self.input(version)["settings"].take();
        settings.as_object_mut().unwrap().shift_remove("outputSelection");
        settings.to_string()
    }
}

#[test]
fn unbuilt_project_is_compiled_with_its_libraries() {
    let project = UnbuiltProject::new(&["0.8.30"]);
    project
        .write(
            "src/A.sol",
            "pragma solidity ^0.8.0; import 'oz/token/T.sol'; import './B.sol'; contract A {}",
        )
        .write("src/B.sol", "import {C} from '@c/C.sol';")
        .write("test/A.t.sol", "import 'forge-std/Test.sol'; contract T {}")
        .write("script/Deploy.s.sol", "contract Deploy {}")
        .write("remappings.txt", "@c/=vendor/c/\n")
        .write("vendor/c/C.sol", "")
        .write("lib/oz/contracts/token/T.sol", "")
        .write("lib/forge-std/src/Test.sol", "import 'ds-test/test.sol';")
        .write("lib/forge-std/lib/ds-test/src/test.sol", "")
        .write("lib/unused/src/U.sol", "");
    insta::assert_snapshot!(project.describe(None), @"0.8.30: lib/forge-std/lib/ds-test/src/test.sol lib/forge-std/src/Test.sol lib/oz/contracts/token/T.sol src/A.sol src/B.sol test/A.t.sol vendor/c/C.sol");
    insta::assert_snapshot!(project.settings("0.8.30"), @r#"{"remappings":["@c/=vendor/c/","forge-std/=lib/forge-std/src/","oz/=lib/oz/contracts/","unused/=lib/unused/src/","ds-test/=lib/forge-std/lib/ds-test/src/"],"optimizer":{"enabled":false,"runs":200},"evmVersion":"osaka"}"#);
}

#[test]
fn import_that_remappings_do_not_find_is_searched_in_libraries_and_modules() {
    let project = UnbuiltProject::new(&["0.8.30"]);
    project
        .write(
            "src/A.sol",
            "import 'oz/contracts/T.sol'; import '@npm/N.sol'; import 'far/F.sol'; contract A {}",
        )
        .write("lib/oz/contracts/T.sol", "import '@npm/N.sol';")
        .write("lib/oz/node_modules/@npm/N.sol", "")
        .write("node_modules/@npm/N.sol", "")
        .write("lib/near/lib/far/F.sol", "");
    insta::assert_snapshot!(project.describe(None), @"0.8.30: @npm/N.sol lib/near/lib/far/F.sol lib/oz/contracts/T.sol src/A.sol");
    assert!(
        project.settings("0.8.30").contains("src/A.sol:oz/contracts/T.sol=lib/oz/contracts/T.sol")
    );
}

#[test]
fn library_keeps_its_own_version_of_a_dependency() {
    let project = UnbuiltProject::new(&["0.8.30"]);
    project
        .write("src/A.sol", "import 'dep/D.sol'; import 'other/O.sol'; contract A {}")
        .write("lib/dep/src/D.sol", "")
        .write("lib/other/src/O.sol", "import 'dep/D.sol'; import 'mine/M.sol';")
        .write(
            "lib/other/remappings.txt",
            "dep/=lib/dep-old/src/\nmine/=src/mine/\nout/=../../../out/\n",
        )
        .write("lib/other/lib/dep-old/src/D.sol", "")
        .write("lib/other/src/mine/M.sol", "");
    insta::assert_snapshot!(project.describe(None), @"0.8.30: lib/dep/src/D.sol lib/other/lib/dep-old/src/D.sol lib/other/src/O.sol lib/other/src/mine/M.sol src/A.sol");
    project.write("remappings.txt", "dep/=lib/dep/src/");
    insta::assert_snapshot!(project.describe(None), @"0.8.30: lib/dep/src/D.sol lib/other/src/O.sol lib/other/src/mine/M.sol src/A.sol");
}

#[test]
fn each_source_gets_a_version_that_all_its_imports_admit() {
    let project = UnbuiltProject::new(&["0.6.12", "0.7.6", "0.8.15", "0.8.30"]);
    project
        .write("src/A.sol", "pragma solidity ^0.8.0; contract A {}")
        .write("src/Old.sol", "pragma solidity >=0.6.0; import './Exact.sol'; contract Old {}")
        .write("src/Exact.sol", "pragma solidity =0.7.6; contract Exact {}")
        .write("src/Any.sol", "pragma solidity >=0.6.0 <0.9.0; contract Any {}")
        .write("test/Old.t.sol", "pragma solidity <0.8.0; import '../src/Old.sol'; contract T {}");
    insta::assert_snapshot!(project.describe(None), @"
    0.8.30: src/A.sol src/Any.sol
    0.7.6: src/Exact.sol src/Old.sol test/Old.t.sol
    ");
    insta::assert_snapshot!(project.settings("0.7.6"), @r#"{"remappings":[],"optimizer":{"enabled":false,"runs":200},"evmVersion":"istanbul"}"#);
    project.write("foundry.toml", "[profile.default]\nsolc = '0.8.15'\n");
    let pinned = project.describe(None);
    assert!(pinned.starts_with("0.8.15: src/A.sol src/Any.sol src/Exact.sol"), "{pinned}");
}

#[test]
fn missing_version_is_named_with_the_command_that_installs_it() {
    let project = UnbuiltProject::new(&["0.8.37"]);
    project.write("src/A.sol", "pragma solidity 0.8.15; contract A {}");
    insta::assert_snapshot!(project.describe(None), @"
    project `[folder]/app` is not built: no usable build-info in `[folder]/app/out/build-info`; no installed compiler (0.8.37) satisfies all requirements of `src/A.sol`: `0.8.15` in `src/A.sol`
    hint: run `vouch solc install 0.8.15`, pass `--install-solc`, or run `forge build --build-info --ast --force` in the project
    ");
    project.write("src/B.sol", "pragma solidity ^0.7.0; contract B {}");
    project.write("src/C.sol", "pragma solidity >=0.7.4 <0.9.0; contract C {}");
    let text = project.describe(None);
    assert!(text.contains("`vouch solc install 0.8.15 0.7.6`"), "{text}");
    project.write("src/A.sol", "pragma solidity ^0.8.0; import './B.sol'; contract A {}");
    insta::assert_snapshot!(project.describe(Some("A")), @"
    project `[folder]/app` is not built: no usable build-info in `[folder]/app/out/build-info`; no known release of Solidity satisfies all requirements of `src/A.sol`: `^0.8.0` in `src/A.sol`, `^0.7.0` in `src/B.sol`
    hint: correct the pragmas, which contradict each other or name no known release, or run `forge build --build-info --ast --force` in the project
    ");
    project.write("foundry.toml", "[profile.default]\nsolc = '0.8.90'\n");
    let text = project.describe(None);
    assert!(text.contains("`vouch solc install 0.8.90`"), "{text}");
}

#[test]
fn settings_are_those_of_the_profile_below_the_arguments() {
    let mut project = UnbuiltProject::new(&["0.8.24"]);
    project.write("src/A.sol", "contract A {}").write(
        "foundry.toml",
        "[profile.default]\noptimizer_runs = 999\nvia_ir = true\nbytecode_hash = 'none'\nevm_version = 'prague'\n\
         [profile.default.optimizer_details.yul_details]\nstack_allocation = true\n\
         [profile.lite]\nvia_ir = false\ncbor_metadata = false\n[profile.lite.fuzz]\nruns = 1\n",
    );
    project.describe(None);
    insta::assert_snapshot!(project.settings("0.8.24"), @r#"{"remappings":[],"optimizer":{"enabled":true,"runs":999,"details":{"yulDetails":{"stackAllocation":true}}},"evmVersion":"cancun","viaIR":true,"metadata":{"bytecodeHash":"none"}}"#);
    project.folder.toolchain.profile = Some("lite".to_owned());
    project
        .folder
        .toolchain
        .options
        .add_args(["--optimize-runs=1", "--evm-version=paris"])
        .unwrap();
    project.describe(None);
    insta::assert_snapshot!(project.settings("0.8.24"), @r#"{"remappings":[],"optimizer":{"enabled":true,"runs":1,"details":{"yulDetails":{"stackAllocation":true}}},"evmVersion":"paris","metadata":{"bytecodeHash":"none","appendCBOR":false}}"#);
    project.folder.toolchain.profile = Some("unknown".to_owned());
    project.describe(None);
    assert!(project.settings("0.8.24").contains("viaIR"), "an unknown profile is the default one");
}

#[test]
fn only_what_a_named_contract_needs_is_compiled() {
    let project = UnbuiltProject::new(&["0.8.30"]);
    project
        .write("src/A.sol", "contract A {}")
        .write("src/Broken.sol", "contract { // A")
        .write("test/One.t.sol", "import '../src/A.sol'; contract Harness {}")
        .write("test/Two.t.sol", "contract Harness {}")
        .write("script/Run.s.sol", "contract Run {}");
    insta::assert_snapshot!(project.describe(Some("A")), @"0.8.30: src/A.sol");
    insta::assert_snapshot!(project.describe(Some("Harness")), @"0.8.30: src/A.sol test/One.t.sol test/Two.t.sol");
    insta::assert_snapshot!(project.describe(Some("Two.t.sol:Harness")), @"0.8.30: test/Two.t.sol");
    insta::assert_snapshot!(project.describe(Some("Run")), @"0.8.30: script/Run.s.sol");
    let all = "0.8.30: src/A.sol src/Broken.sol test/One.t.sol test/Two.t.sol\n";
    assert_eq!(project.describe(Some("Unknown")), all, "so that similar names can be listed");
    project.write("src/A.sol", "contract A { uint other; }");
    project.write("foundry.toml", "[profile.default]\nskip = ['*/Broken*', 'test']\n");
    insta::assert_snapshot!(project.describe(None), @"0.8.30: src/A.sol");
    project.write("foundry.toml", "[profile.default]\nskip = ['[']\n");
    insta::assert_snapshot!(project.describe(None), @"invalid pattern `[` of `skip` in foundry.toml: error parsing glob '[': unclosed character class; missing ']'");
}

#[test]
fn output_is_cached_by_sources_settings_and_compiler() {
    let mut project = UnbuiltProject::new(&["0.8.29", "0.8.30"]);
    project.write("src/A.sol", "contract A {}");
    project.describe(None);
    assert_eq!(project.runs(), ["0.8.30"]);
    project.describe(None);
    assert!(project.runs().is_empty(), "the output is cached");
    project.write("test/unrelated.txt", "");
    project.describe(None);
    assert!(project.runs().is_empty(), "only sources count");
    project.write("src/A.sol", "contract A { }");
    project.describe(None);
    assert_eq!(project.runs(), ["0.8.30"]);
    project.folder.toolchain.options.via_ir = true;
    project.describe(None);
    assert_eq!(project.runs(), ["0.8.30"]);
    project.folder.write("user/cache/solc/0.8.30/node_modules/solc/soljson.js", "changed");
    project.describe(None);
    assert_eq!(project.runs(), ["0.8.30"]);
    for entry in fs::read_dir(project.folder.path("user/cache/builds")).unwrap() {
        fs::write(entry.unwrap().path(), "{ cut sho").unwrap();
    }
    project.describe(None);
    assert_eq!(project.runs(), ["0.8.30"], "a damaged entry is replaced");
    project.describe(None);
    assert!(project.runs().is_empty());
    assert!(!project.folder.path("app/out").exists() && !project.folder.path("app/cache").exists());
}

/// A compiler may find a source that the scan did not, such as one of another extension.
#[test]
fn output_that_depends_on_other_files_is_not_cached() {
    let project = UnbuiltProject::new(&["0.8.30"]);
    project.write("src/A.sol", "contract A {}");
    project.describe(None);
    let complete = fs::read_to_string(project.folder.path("user/answer.json")).unwrap();
    let entry = fs::read_dir(project.folder.path("user/cache/builds")).unwrap().next().unwrap();
    let other =
        complete.replace("{\"contracts\"", "{\"sources\":{\"src/B.txt\":{\"id\":1}},\"contracts\"");
    fs::write(entry.unwrap().path(), &other).unwrap();
    project.describe(None);
    assert_eq!(project.runs(), ["0.8.30"], "an entry that names another source is not used");
    project.describe(None);
    assert!(project.runs().is_empty(), "it was replaced");
    project.folder.write("user/answer.json", &other);
    project.write("src/A.sol", "contract A { }");
    for _ in 0..2 {
        project.describe(None);
        assert_eq!(project.runs(), ["0.8.30"]);
    }
}

#[test]
fn file_that_wins_the_search_later_changes_the_build() {
    let project = UnbuiltProject::new(&["0.8.30"]);
    let places = ["lib/deep/lib/x/src/X.sol", "lib/x/src/X.sol", "x/X.sol"];
    project
        .write("foundry.toml", "[profile.default]\nauto_detect_remappings = false\n")
        .write("src/A.sol", "import 'x/X.sol'; contract A {}")
        .write("node_modules/x/X.sol", "// node_modules");
    project.describe(None);
    assert!(project.input("0.8.30").to_string().contains("// node_modules"));
    for place in places {
        project.write(place, &format!("// {place}"));
    }
    project.describe(None);
    assert!(project.input("0.8.30").to_string().contains("// x/X.sol"));
    assert_eq!(project.runs(), ["0.8.30"]);
    fs::remove_dir_all(project.folder.path("app/x")).unwrap();
    project.describe(None);
    assert!(project.runs().is_empty(), "the first output is still in the cache");
    project.write("remappings.txt", "x/=lib/x/src/\n");
    project.describe(None);
    assert!(project.input("0.8.30").to_string().contains("// lib/x/src/X.sol"));
    assert_eq!(project.runs(), ["0.8.30"]);
}

#[test]
fn too_many_imports_are_refused() {
    let project = UnbuiltProject::new(&["0.8.30"]);
    let imports: String = (0..200_001).map(|number| format!("import 'a/{number}';")).collect();
    project.write("src/A.sol", &format!("{imports} contract A {{}}"));
    let refused = project.describe(None);
    assert!(refused.contains("more than 200000 imports"), "{refused}");
    // The same import counts once.
    project.write("src/A.sol", &format!("{} contract A {{}}", "import './A.sol';".repeat(300_000)));
    insta::assert_snapshot!(project.describe(None), @"0.8.30: src/A.sol");
}

#[test]
fn requirements_reach_importers_through_cycles() {
    let project = UnbuiltProject::new(&["0.6.12", "0.7.6", "0.8.30"]);
    project
        .write("src/A.sol", "pragma solidity >=0.6.0; import './B.sol'; contract A {}")
        .write("src/B.sol", "import './C.sol'; contract B {}")
        .write("src/C.sol", "import './B.sol'; import './D.sol'; contract C {}")
        .write("src/D.sol", "pragma solidity <0.8.0; contract D {}")
        .write("src/E.sol", "pragma solidity ^0.8.0; contract E {}");
    insta::assert_snapshot!(project.describe(None), @"
    0.8.30: src/E.sol
    0.7.6: src/A.sol src/B.sol src/C.sol src/D.sol
    ");
}

#[test]
fn failed_output_is_not_cached() {
    let project = UnbuiltProject::new(&["0.8.30"]);
    project.write("src/A.sol", "contract A {}");
    project.folder.write("user/answer.json", &crate::outputs::failed_output().to_string());
    for _ in 0..2 {
        assert!(project.describe(None).contains("failed to compile"));
        assert_eq!(project.runs(), ["0.8.30"]);
    }
}

#[test]
fn sources_outside_of_an_untrusted_project_are_not_read() {
    let project = UnbuiltProject::new(&["0.8.30"]);
    let secret = project.folder.write("secret.sol", "// secret");
    project.folder.write("outside/src/S.sol", "// secret");
    fs::create_dir_all(project.folder.path("app/lib")).unwrap();
    symlink("../../outside", project.folder.path("app/lib/linked")).unwrap();
    symlink("../secret.sol", project.folder.path("app/Linked.sol")).unwrap();
    project
        .write("remappings.txt", "up/=../\nroot/=/\nabs/=/etc/\nlinked/=lib/linked/src/\n")
        .write("lib/up/src/U.sol", "import '../../../../secret.sol';");
    let absolute = secret.display().to_string();
    let imports = [
        "../../secret.sol",
        "../../../secret.sol",
        "../secret.sol",
        "up/secret.sol",
        "linked/S.sol",
        "lib/linked/src/S.sol",
        "../Linked.sol",
        "src/../../secret.sol",
        "lib/up/src/U.sol",
        &absolute,
        &format!("root{absolute}"),
        "abs/passwd",
        "/etc/passwd",
        "./../../secret.sol",
    ];
    let imports: String = imports.iter().map(|import| format!("import '{import}';\n")).collect();
    project.write("src/A.sol", &format!("{imports} contract A {{}}"));
    project.describe(None);
    let input = project.input("0.8.30")["sources"].to_string();
    assert!(!input.contains("// secret"), "{input}");
    assert!(input.contains("lib/up/src/U.sol"), "{input}");
}

#[test]
fn linked_source_folders_of_an_untrusted_project_are_not_listed() {
    let mut project = UnbuiltProject::new(&[]);
    fs::remove_file(project.folder.path("app/foundry.toml")).unwrap();
    project.folder.write("other/Private.sol", "contract A {}");
    symlink("../other", project.folder.path("app/contracts")).unwrap();
    project
        .write("hardhat.config.ts", "")
        .write("test/A.sol", "contract A {}")
        .write("artifacts/build-info/a.json", crate::outputs::FOUNDRY);
    assert!(!project.describe(None).contains("Private"));
    project.folder.toolchain.project = ProjectPrograms::All;
    let listed = project.describe(None);
    assert!(listed.contains("`contracts/Private.sol` was not built"), "{listed}");
}

#[test]
fn folder_outside_is_refused_unless_the_project_is_trusted() {
    let mut project = UnbuiltProject::new(&["0.8.30"]);
    project.folder.write("shared/dep/src/D.sol", "");
    project
        .write("src/A.sol", "import 'dep/D.sol'; contract A {}")
        .write("foundry.toml", "[profile.default]\nlibs = ['../shared']\n");
    insta::assert_snapshot!(project.describe(None), @"
    `[folder]/app/../shared` is outside of the project, which is not trusted
    hint: if you trust the project, run `vouch trust`
    ");
    // A file is compiled, and the folder is ignored.
    load_contract_build(&project.folder.path("app/src/A.sol"), None, &project.folder.toolchain)
        .unwrap();
    assert_eq!(project.settings("0.8.30").matches("shared").count(), 0);
    project.folder.toolchain.project = ProjectPrograms::All;
    insta::assert_snapshot!(project.describe(None), @"0.8.30: ../shared/dep/src/D.sol src/A.sol");
}

#[test]
fn cyclic_imports_and_many_sources_end() {
    let project = UnbuiltProject::new(&["0.8.30"]);
    project
        .write("src/A.sol", "import './B.sol'; import './A.sol'; contract A {}")
        .write("src/B.sol", "import '../src/./A.sol'; import './C.sol'; contract B {}")
        .write("src/C.sol", "import './B.sol'; contract C {}");
    symlink("..", project.folder.path("app/src/loop")).unwrap();
    fs::create_dir_all(project.folder.path("app/lib/self")).unwrap();
    symlink("../..", project.folder.path("app/lib/self/lib")).unwrap();
    insta::assert_snapshot!(project.describe(None), @"0.8.30: src/A.sol src/B.sol src/C.sol");
    for number in 0..5_000 {
        project.write(&format!("src/many/N{number}.sol"), "import '../A.sol';");
    }
    project.describe(None);
    assert_eq!(project.input("0.8.30")["sources"].as_object().unwrap().len(), 5_003);
}

#[test]
fn hardhat_project_is_compiled_without_running_its_configuration() {
    let project = UnbuiltProject::new(&["0.8.30"]);
    fs::remove_file(project.folder.path("app/foundry.toml")).unwrap();
    project
        .write("hardhat.config.ts", "process.exit(1)")
        .write("contracts/A.sol", "import '@oz/T.sol'; contract A {}")
        .write("node_modules/@oz/T.sol", "import './U.sol';")
        .write("node_modules/@oz/U.sol", "");
    insta::assert_snapshot!(project.describe(None), @"
    0.8.30: @oz/T.sol @oz/U.sol contracts/A.sol
    note: compiled with solc's default settings, because a Hardhat configuration is a program; set others with `--solc-args`, or run `npx hardhat compile` first
    ");
}

#[test]
fn forge_that_lacks_a_compiler_installs_none() {
    let mut project = UnbuiltProject::new(&["0.8.30"]);
    project.write("src/A.sol", "contract A {}");
    project.folder.toolchain.project = ProjectPrograms::All;
    project.folder.write_program(
        "user/bin/forge",
        "case \"$*\" in *--offline*) echo \"Error: can't install missing solc 0.8.30 in offline mode\" >&2;; esac; exit 1",
    );
    insta::assert_snapshot!(project.describe(None), @"0.8.30: src/A.sol");
}

#[test]
fn file_of_a_project_is_compiled_with_its_settings() {
    let project = UnbuiltProject::new(&["0.8.15", "0.8.30"]);
    project.write("foundry.toml", "[profile.default]\nsolc = '0.8.15'\noptimizer = true\n");
    project.write("src/A.sol", "contract A {}");
    load_contract_build(&project.folder.path("app/src/A.sol"), None, &project.folder.toolchain)
        .unwrap();
    insta::assert_snapshot!(project.settings("0.8.15"), @r#"{"remappings":[],"optimizer":{"enabled":true,"runs":200},"evmVersion":"london"}"#);
}

#[test]
fn sources_and_libraries_of_old_projects_are_found() {
    let project = UnbuiltProject::new(&["0.8.29", "0.8.30"]);
    project
        .write("contracts/A.sol", "import 'm/M.sol'; contract A {}")
        .write("modules/m/src/M.sol", "")
        .write("foundry.toml", "[default]\nlibs = ['modules']\nsolc_version = '0.8.29'\n");
    insta::assert_snapshot!(project.describe(None), @"0.8.29: contracts/A.sol modules/m/src/M.sol");
    // The profile of today has precedence, and `src` over `contracts`.
    project
        .write("src/B.sol", "contract B {}")
        .write("foundry.toml", "[default]\nsolc = '0.8.29'\n[profile.default]\nsolc = '0.8.30'\n");
    insta::assert_snapshot!(project.describe(None), @"0.8.30: src/B.sol");
}
