//! Import resolution for each language.

use crate::Project;

#[test]
fn resolves_typescript_imports() {
    let project = Project::new(&[
        (
            "src/main.ts",
            "import './a'; import './b.js'; import './dir'; import '../outside/x'; import './nothing'; import './data.json';\n\
             import './style.css'; import '@/deep/thing'; import '~lib'; import '@/not/there'; import 'react';\n\
             import '@scope/tool/sub/path'; import 'fs'; import 'node:fs/promises'; import '@shop/ui'; import '@shop/ui/button';\n\
             import '@shop/unlinked'; import 'undeclared'; import '#internal'; import './view.vue'; import 'installed/lib/x';\n\
             import './esm.mjs'; import './props.d.ts'; import '../../../etc/passwd'; import '/etc/passwd'; import './my-secret';\n\
             import 'typed'; import './a?raw'; import '';\n",
        ),
        (
            "package.json",
            r##"{"name": "shop", "workspaces": ["packages/*"], "dependencies": {"react": "1", "@scope/tool": "1"},
                "devDependencies": {"@types/typed": "1"}, "imports": {"#internal": "./src/internal.ts"}}"##,
        ),
        (
            "tsconfig.json",
            r#"{ // comments are fine
                "compilerOptions": {"paths": {"@/*": ["./src/*"], "~lib": ["./src/a.ts"]},}}"#,
        ),
        ("src/a.ts", ""),
        ("src/b.ts", ""),
        ("src/b.js", ""),
        ("src/dir/index.tsx", ""),
        ("outside/x.d.ts", ""),
        ("src/data.json", "{}"),
        ("src/style.css", ""),
        ("src/deep/thing.ts", ""),
        ("src/internal.ts", ""),
        ("src/view.vue", ""),
        ("src/esm.mts", ""),
        ("src/props.d.ts", ""),
        ("src/my-secret.ts", ""),
        ("node_modules/installed/lib/x.js", ""),
        ("node_modules/installed/package.json", "{\"name\": \"installed\"}"),
        (
            "packages/ui/package.json",
            r#"{"name": "@shop/ui", "exports": {".": "./src/index.ts", "./*": "./src/*.ts"}}"#,
        ),
        ("packages/ui/src/index.ts", ""),
        ("packages/ui/src/button.ts", ""),
        (
            "packages/unlinked/package.json",
            r#"{"name": "@shop/unlinked", "main": "./dist/index.js"}"#,
        ),
        ("packages/unlinked/src/index.ts", ""),
    ]);
    project.create_symlink("../../packages/ui", "node_modules/@shop/ui");
    insta::assert_snapshot!(project.resolve_imports("src/main.ts"));
}

/// The settings of a `tsconfig.json` apply even if it extends a package that is not installed.
#[test]
fn resolves_typescript_imports_when_extended_config_is_missing() {
    let project = Project::new(&[
        (
            "a/tsconfig.json",
            r#"{ // comments are fine
                "extends": "@tsconfig/node20/tsconfig.json",
                "compilerOptions": {"allowJs": true, "baseUrl": ".", "paths": {"@/*": ["src/*"]}},}"#,
        ),
        ("a/src/main.ts", "import '@/x'; import './x'; import 'src/x'; import '@/gone';"),
        ("a/src/main.js", "import '@/x';"),
        ("a/src/x.ts", ""),
        ("b/tsconfig.json", r#"{"extends": ["./gone.json", "./base"]}"#),
        (
            "b/base.json",
            r#"{"extends": "@tsconfig/strict", "compilerOptions": {"paths": {"~/*": ["./lib/*"]}}}"#,
        ),
        ("b/main.ts", "import '~/x';"),
        ("b/lib/x.ts", ""),
    ]);
    let all =
        ["a/src/main.ts", "a/src/main.js", "b/main.ts"].map(|path| project.resolve_imports(path));
    insta::assert_snapshot!(all.join("\n\n"), @r"
    @/x -> a/src/x.ts
    ./x -> a/src/x.ts
    src/x -> a/src/x.ts
    @/gone -> missing

    @/x -> a/src/x.ts

    ~/x -> b/lib/x.ts
    ");
}

/// Unlinked members resolve by their manifests. Source locations are guessed only for entries that are not built.
#[test]
fn resolves_unlinked_typescript_workspace_members() {
    let project = Project::new(&[
        (
            "package.json",
            r#"{"name": "shop", "workspaces": ["packages/*", "!packages/old", "!**/fixtures/**"]}"#,
        ),
        (
            "main.ts",
            "import 'u'; import 'u/feature'; import 'u/src/impl/feature'; import 'u/internal/x'; import 'u/gone';\n\
             import 'entry'; import 'entry/deep/part'; import 'old'; import 'fixture';\n\
             import 'dist'; import 'dist/part';\n",
        ),
        (
            "packages/u/package.json",
            r#"{"name": "u", "exports": {".": "./main.ts", "./feature": "./src/impl/feature.ts", "./internal/*": null}}"#,
        ),
        ("packages/u/main.ts", ""),
        ("packages/u/src/index.ts", ""),
        ("packages/u/src/feature.ts", ""),
        ("packages/u/src/impl/feature.ts", ""),
        ("packages/u/internal/x.ts", ""),
        ("packages/u/src/gone.ts", ""),
        ("packages/entry/package.json", r#"{"name": "entry", "main": "./entry.ts"}"#),
        ("packages/entry/entry.ts", ""),
        ("packages/entry/index.ts", ""),
        ("packages/entry/deep/part.ts", ""),
        ("packages/old/package.json", r#"{"name": "old"}"#),
        ("packages/old/index.ts", ""),
        ("packages/fixtures/package.json", r#"{"name": "fixture"}"#),
        ("packages/fixtures/index.ts", ""),
        (
            "packages/dist/package.json",
            r#"{"name": "dist", "exports": {".": "./dist/index.js", "./*": "./dist/*.js"}}"#,
        ),
        ("packages/dist/src/index.ts", ""),
        ("packages/dist/src/part.ts", ""),
    ]);
    insta::assert_snapshot!(project.resolve_imports("main.ts"));
}

#[test]
fn resolves_javascript_imports() {
    let project = Project::new(&[
        (
            "lib/main.js",
            "const a = require('./a'); require('./b'); require('./dir'); require('../package.json'); require('left');\n\
             import('./a.js'); require('./only'); export * from './c.mjs'; require('./both');\n",
        ),
        ("package.json", "{\"dependencies\": {\"left\": \"1\"}}"),
        ("lib/a.js", ""),
        ("lib/a.d.ts", ""),
        ("lib/b.cjs", ""),
        ("lib/dir/package.json", "{\"main\": \"start.js\"}"),
        ("lib/dir/start.js", ""),
        ("lib/only.ts", ""),
        ("lib/c.mjs", ""),
        ("lib/both.js", ""),
        ("lib/both/index.js", ""),
    ]);
    insta::assert_snapshot!(project.resolve_imports("lib/main.js"));
}

#[test]
fn resolves_typescript_project_references() {
    let project = Project::new(&[
        (
            "tsconfig.json",
            r#"{"files": [], "references": [{"path": "./app"}, {"path": "./core"}]}"#,
        ),
        ("tsconfig.base.json", r#"{"compilerOptions": {"paths": {"@core/*": ["./core/src/*"]}}}"#),
        (
            "app/tsconfig.json",
            r#"{"extends": "../tsconfig.base.json", "references": [{"path": "../core"}]}"#,
        ),
        ("core/tsconfig.json", r#"{"extends": "../tsconfig.base.json"}"#),
        ("broken/tsconfig.json", "{ not json"),
        ("broken/a.ts", "import './b'; import '@core/x';"),
        ("broken/b.ts", ""),
        ("app/src/a.ts", "import '@core/x'; import '@core/gone';"),
        ("core/src/x.ts", ""),
        ("circle/tsconfig.json", r#"{"extends": "./tsconfig.json"}"#),
        ("circle/a.ts", "import './b';"),
        ("circle/b.ts", ""),
    ]);
    let all =
        ["app/src/a.ts", "broken/a.ts", "circle/a.ts"].map(|path| project.resolve_imports(path));
    insta::assert_snapshot!(all.join("\n\n"));
}

#[test]
fn resolves_python_imports() {
    let project = Project::new(&[
        (
            "src/shop/cart/main.py",
            "import os\nimport numpy as np\nfrom . import model, price, missing_name\nfrom .model import Cart\nfrom .. import util\n\
             from ..util import helper\nimport shop.util\nfrom shop import cart\nfrom shop.cart import *\nimport shop.nothing\n\
             from .gone import x\nfrom ....... import far\nimport shop.cart.price.deep\nfrom shop.native import fast\n\
             import namespace.part.mod\nfrom namespace import part\nimport tools.job\nfrom tests import helper\nimport email\n\
             from shop.stubs import typed\nimport logging.handlers\n",
        ),
        ("src/shop/__init__.py", ""),
        ("src/shop/util.py", ""),
        ("src/shop/cart/__init__.py", ""),
        ("src/shop/cart/model.py", ""),
        ("src/shop/cart/price/__init__.py", ""),
        ("src/shop/cart/logging.py", ""),
        ("src/shop/native.cpython-312-x86_64-linux-gnu.so", ""),
        ("src/shop/stubs.pyi", ""),
        ("src/namespace/part/mod.py", ""),
        ("tests/helper.py", ""),
        ("email/template.txt", ""),
        ("packages/tools/pyproject.toml", ""),
        ("packages/tools/src/tools/job.py", ""),
        ("packages/tools/src/tools/__init__.py", ""),
        ("scripts/run.py", "import helper\nimport random\nimport shop.util\n"),
        ("scripts/helper.py", ""),
        ("scripts/random.py", ""),
    ]);
    let all = ["src/shop/cart/main.py", "scripts/run.py"].map(|path| project.resolve_imports(path));
    insta::assert_snapshot!(all.join("\n\n"));
}

/// Imports of the project's own packages are missing, not external, if they have no source file.
#[test]
fn python_project_modules_without_source_are_missing() {
    let project = Project::new(&[
        ("pyproject.toml", "[project]\ndependencies = [\"Alembic>=1.13\"]\n"),
        (
            "pkg/main.py",
            "import ns\nimport ns.gone\nfrom ns.inner import mod\nfrom .ext import x\nimport pkg.ext\nfrom alembic import op\n\
             import data\n",
        ),
        ("pkg/__init__.py", ""),
        ("pkg/ext.cpython-312-x86_64-linux-gnu.so", ""),
        ("ns/inner/mod.py", ""),
        ("alembic/env.py", ""),
        ("data/cities.csv", ""),
    ]);
    insta::assert_snapshot!(project.resolve_imports("pkg/main.py"), @r"
    ns -> missing
    ns.gone -> missing
    ns.inner (mod) -> ns/inner/mod.py
    .ext (x) -> missing
    pkg.ext -> missing
    alembic (op) -> package alembic
    data -> package data
    ");
}

#[test]
fn resolves_rust_imports() {
    let project = Project::new(&[
        (
            "Cargo.toml",
            "[workspace]\nmembers = [\"crates/*\"]\n[workspace.dependencies]\ncore-lib = { path = \"crates/core\" }\nserde = \"1\"\n",
        ),
        (
            "crates/app/Cargo.toml",
            "[package]\nname = \"app\"\nedition = \"2024\"\n[dependencies]\ncore-lib.workspace = true\nserde.workspace = true\n\
             renamed = { package = \"left-pad\", version = \"1\" }\nold = { path = \"../old\" }\n[target.'cfg(unix)'.dependencies]\nnix = \"1\"\n",
        ),
        (
            "crates/app/src/main.rs",
            "mod shop;\nmod gone;\n#[path = \"elsewhere/odd.rs\"]\nmod odd;\nmod inline { pub mod deep; use super::shop::Cart; }\n\
             macro_rules! m { () => {} }\ncfg_x! { pub mod made; }\nuse crate::shop::cart::Cart;\nuse shop::cart;\nuse self::odd::Thing;\n\
             use std::fmt;\nuse fmt::Display;\nuse core_lib::api::Client;\nuse core_lib::hidden;\nuse serde::Deserialize;\nuse renamed::pad;\n\
             use nix::x;\nuse undeclared::y;\nuse crate::inline::deep::Z;\nuse Color::*;\nuse crate::made::M;\nuse old::a::B;\nuse app::lib_item;\n",
        ),
        ("crates/app/src/lib.rs", "pub fn lib_item() {}\n"),
        ("crates/app/src/shop.rs", "pub mod cart;\nuse super::odd;\nuse crate::shop;\n"),
        (
            "crates/app/src/shop/cart.rs",
            "use super::super::shop::other;\nuse super::Shop;\n#[cfg(test)]\nmod tests;\n#[cfg(test)]\nmod inner { use super::super::Shop; use super::Cart; }\n",
        ),
        ("crates/app/src/shop/cart/tests.rs", "use super::*;\nuse crate::shop::Shop;\n"),
        ("crates/app/src/elsewhere/odd.rs", "mod beside;\nuse super::shop;\n"),
        ("crates/app/src/elsewhere/beside.rs", "use super::x;\n"),
        ("crates/app/src/inline/deep.rs", "use super::super::shop;\n"),
        ("crates/app/src/made/mod.rs", "mod part;\n"),
        ("crates/app/src/made/part.rs", "use super::part;\n"),
        ("crates/app/src/undeclared_file.rs", "use crate::shop;\nuse serde::X;\n"),
        ("crates/app/tests/it/main.rs", "mod help;\nuse app::lib_item;\nuse help::x;\n"),
        ("crates/app/tests/it/help.rs", "use super::*;\n"),
        ("crates/app/build.rs", "use std::env;\n"),
        (
            "crates/core/Cargo.toml",
            "[package]\nname = \"core-lib\"\nedition.workspace = true\n[lib]\npath = \"lib/root.rs\"\n",
        ),
        ("crates/core/lib/root.rs", "pub mod api;\nmod hidden;\npub use hidden::hidden;\n"),
        ("crates/core/lib/api.rs", ""),
        ("crates/core/lib/hidden.rs", ""),
        ("crates/old/Cargo.toml", "[package]\nname = \"old\"\n"),
        ("crates/old/src/lib.rs", "extern crate core;\npub mod a;\nmod b;\nuse a::B;\n"),
        ("crates/old/src/a.rs", "use b::C;\nuse self::d;\n"),
        ("crates/old/src/b.rs", ""),
    ]);
    let paths = [
        "crates/app/src/main.rs",
        "crates/app/src/shop.rs",
        "crates/app/src/shop/cart.rs",
        "crates/app/src/shop/cart/tests.rs",
        "crates/app/src/elsewhere/odd.rs",
        "crates/app/src/elsewhere/beside.rs",
        "crates/app/src/inline/deep.rs",
        "crates/app/src/made/mod.rs",
        "crates/app/src/made/part.rs",
        "crates/app/src/undeclared_file.rs",
        "crates/app/tests/it/main.rs",
        "crates/app/tests/it/help.rs",
        "crates/app/build.rs",
        "crates/core/lib/root.rs",
        "crates/old/src/lib.rs",
        "crates/old/src/a.rs",
    ];
    insta::assert_snapshot!(
        paths.map(|path| format!("{path}\n{}", project.resolve_imports(path))).join("\n\n")
    );
}

/// Each name refers to another `use`, and none to a module.
#[test]
fn cyclic_rust_use_paths_are_missing() {
    for text in [
        "use a::b;\nuse b::a;\n",
        "use a::b::c;\nuse c::d;\nuse d::e::a;\n",
        "use a::a;\nuse a::b;\n",
    ] {
        let project = Project::new(&[
            ("Cargo.toml", "[package]\nname = \"x\"\nedition = \"2024\"\n"),
            ("src/lib.rs", text),
        ]);
        let resolved = project.resolve_imports("src/lib.rs");
        assert!(resolved.lines().all(|line| line.ends_with("missing")), "{resolved}");
    }
}

#[test]
fn resolves_rust_paths_through_earlier_use() {
    let project = Project::new(&[
        ("Cargo.toml", "[package]\nname = \"x\"\nedition = \"2024\"\n"),
        ("src/lib.rs", "mod a;\nuse a::b;\nuse b::c;\nuse c::D;\n"),
        ("src/a.rs", "pub mod b;\n"),
        ("src/a/b.rs", "pub mod c;\n"),
        ("src/a/b/c.rs", ""),
    ]);
    assert!(project.resolve_imports("src/lib.rs").ends_with("c::D -> src/a/b/c.rs"));
}

#[test]
fn resolves_go_imports() {
    let project = Project::new(&[
        ("go.work", "go 1.22\nuse (\n\t./app\n\t./shared\n)\n"),
        (
            "app/go.mod",
            "module example.com/app // comment\n\ngo 1.22\n\nrequire (\n\tgithub.com/x/y/v2 v2.1.0\n\texample.com/local v0.0.0\n)\n\nreplace example.com/local => ../local\n",
        ),
        (
            "app/main.go",
            "package main\nimport (\n\t\"fmt\"\n\t\"example.com/app/web\"\n\t\"example.com/app/gone\"\n\t\"example.com/application\"\n\t\"github.com/x/y/v2/sub\"\n\t\"example.com/local/pkg\"\n\t\"example.com/shared\"\n\t\"net/http\"\n)\n",
        ),
        ("app/web/a.go", ""),
        ("app/web/b.go", ""),
        ("app/web/b_test.go", ""),
        ("local/go.mod", "module example.com/local\n"),
        ("local/pkg/l.go", ""),
        ("shared/go.mod", "module example.com/shared\n"),
        ("shared/s.go", ""),
    ]);
    insta::assert_snapshot!(project.resolve_imports("app/main.go"));
}

#[test]
fn resolves_go_workspace_replacements() {
    let project = Project::new(&[
        (
            "go.work",
            "go 1.22\n\nuse (\n\t\"./my app\" // quoted\n\t./shared\n)\nuse ./single\n\n\
             replace example.com/fork v1.2.0 => \"./third party/fork\"\n\
             replace (\n\texample.com/shared => ./old\n\texample.com/other => example.com/another v1.0.0\n)\n",
        ),
        (
            "my app/go.mod",
            "module example.com/app\nrequire example.com/other v1.0.0\nreplace example.com/fork => ../old\n",
        ),
        (
            "my app/main.go",
            "package main\nimport (\n\t\"example.com/fork/pkg\"\n\t\"example.com/shared\"\n\t\"example.com/single\"\n\t\"example.com/other/x\"\n)\n",
        ),
        ("third party/fork/go.mod", "module example.com/renamed\n"),
        ("third party/fork/pkg/f.go", ""),
        ("shared/go.mod", "module example.com/shared\n"),
        ("shared/s.go", ""),
        ("single/go.mod", "module example.com/single\n"),
        ("single/s.go", ""),
        ("old/go.mod", "module example.com/old\n"),
        ("old/o.go", ""),
        ("old/pkg/o.go", ""),
    ]);
    insta::assert_snapshot!(project.resolve_imports("my app/main.go"), @r"
    example.com/fork/pkg -> third party/fork/pkg/f.go
    example.com/shared -> shared/s.go
    example.com/single -> single/s.go
    example.com/other/x -> package example.com/other
    ");
}

#[test]
fn resolves_java_imports() {
    let project = Project::new(&[
        ("pom.xml", ""),
        ("app/pom.xml", ""),
        (
            "app/src/main/java/com/shop/Main.java",
            "package com.shop;\nimport com.shop.cart.Cart;\nimport com.shop.cart.Cart.Item;\nimport static com.shop.cart.Cart.total;\nimport com.shop.cart.*;\nimport java.util.List;\nimport org.junit.Test;\nimport com.shop.Gone;\nimport com.core.Api;\n",
        ),
        ("app/src/main/java/com/shop/cart/Cart.java", ""),
        ("app/src/main/java/com/shop/cart/Price.java", ""),
        ("app/src/test/java/com/shop/MainTest.java", "import com.shop.Main;\n"),
        ("core/pom.xml", ""),
        ("core/src/main/java/com/core/Api.java", ""),
    ]);
    let paths =
        ["app/src/main/java/com/shop/Main.java", "app/src/test/java/com/shop/MainTest.java"];
    insta::assert_snapshot!(paths.map(|path| project.resolve_imports(path)).join("\n\n"));
}

/// Modules can be anywhere below the root of the build. Generated classes of project packages are missing, not external.
#[test]
fn resolves_java_imports_across_nested_modules() {
    let project = Project::new(&[
        ("settings.gradle", ""),
        ("app/build.gradle", ""),
        (
            "app/src/main/java/com/x/Main.java",
            "import com.core.Api;\nimport com.x.gen.Generated;\nimport Foo;\nimport module java.base;\n\
             import com.google.common.Lists;\nimport com.y.z.gen.deep.G;\nimport com.y.other.O;\nimport Here;\n",
        ),
        ("libs/core/build.gradle.kts", ""),
        ("libs/core/src/main/java/com/core/Api.java", ""),
        ("libs/y/build.gradle", ""),
        ("libs/y/src/main/java/com/y/z/app/App.java", ""),
        ("app/src/main/java/Here.java", ""),
    ]);
    insta::assert_snapshot!(project.resolve_imports("app/src/main/java/com/x/Main.java"), @r"
    com.core.Api -> libs/core/src/main/java/com/core/Api.java
    com.x.gen.Generated -> missing
    Foo -> missing
    java.base -> package java.base
    com.google.common.Lists -> package com.google.common
    com.y.z.gen.deep.G -> missing
    com.y.other.O -> package com.y.other
    Here -> app/src/main/java/Here.java
    ");
}

/// Every prefix of a name may be a class, so the number of parts is limited.
#[test]
fn overlong_java_names_are_missing() {
    let name = vec!["a"; 1900].join(".");
    let project = Project::new(&[("src/Main.java", &format!("import {name};\n"))]);
    assert!(project.resolve_imports("src/Main.java").ends_with("a -> missing"));
}

#[test]
fn resolves_solidity_imports() {
    let project = Project::new(&[
        (
            "foundry.toml",
            "[profile.default]\nsrc = \"src\"\nremappings = [\"@oz/=lib/openzeppelin/contracts/\"]\n\
             [profile.ci]\nremappings = [\"@oz/=lib/mock/\", \"nowhere/=lib/mock/\"]\n\
             [profile.a]\nremappings = [\"@oz/=lib/mock/\"]\n[profile.z]\nremappings = [\"@oz/=lib/mock/\"]\n",
        ),
        ("remappings.txt", "solmate/=lib/solmate/src/\ntest:solmate/=lib/mock/\n"),
        ("package.json", "{\"dependencies\": {\"hardhat\": \"2\"}}"),
        (
            "src/Vault.sol",
            "import \"./Base.sol\";\nimport {A} from \"@oz/token/A.sol\";\nimport \"solmate/B.sol\";\nimport \"forge-std/Test.sol\";\nimport \"src/Base.sol\";\nimport \"hardhat/console.sol\";\nimport \"@installed/c/C.sol\";\nimport \"nowhere/D.sol\";\nimport \"../../out.sol\";\n",
        ),
        ("src/Base.sol", ""),
        ("test/Vault.t.sol", "import \"solmate/B.sol\";\n"),
        ("lib/openzeppelin/contracts/token/A.sol", ""),
        ("lib/solmate/src/B.sol", ""),
        ("lib/mock/B.sol", ""),
        ("lib/mock/token/A.sol", ""),
        ("lib/mock/D.sol", ""),
        ("lib/forge-std/src/Test.sol", ""),
        ("node_modules/@installed/c/C.sol", ""),
    ]);
    insta::assert_snapshot!(
        ["src/Vault.sol", "test/Vault.t.sol"]
            .map(|path| project.resolve_imports(path))
            .join("\n\n")
    );
}

#[test]
fn resolves_c_includes() {
    let project = Project::new(&[
        (
            "src/net/http.c",
            "#include \"http.h\"\n#include \"../util.h\"\n#include \"shop/api.h\"\n#include <shop/api.h>\n#include <stdio.h>\n#include \"gone.h\"\n#include \"net/http.h\"\n#include <core/c.h>\n#include <http.h>\n\
             #include \"/etc/passwd\"\n#include </etc/passwd>\n#import \"http.h\"\n#include_next \"http.h\"\n#include \"..\\util.h\"\n",
        ),
        ("src/net/etc/passwd", ""),
        ("etc/passwd", ""),
        ("src/net/http.h", ""),
        ("src/util.h", ""),
        ("include/shop/api.h", ""),
        ("core/include/core/c.h", ""),
    ]);
    insta::assert_snapshot!(project.resolve_imports("src/net/http.c"));
}

/// Covers symlinks that leave the project, form a cycle, or point to a denied name.
#[test]
fn symlinks_resolve_only_inside_project() {
    let project = Project::new(&[
        (
            "a.ts",
            "import './b'; import './out/passwd'; import './round/round/b'; import './hidden'; import './a';",
        ),
        ("b.ts", "import './a';"),
        (".env.ts", ""),
    ]);
    project.create_symlink("/etc", "out");
    project.create_symlink(".", "round");
    project.create_symlink("loop", "loop");
    project.create_symlink(".env.ts", "hidden.ts");
    insta::assert_snapshot!(project.resolve_imports("a.ts"));
}

/// Each resolver sees the current files.
#[test]
fn new_resolver_sees_added_files() {
    let project = Project::new(&[("a.ts", "import './b';")]);
    assert_eq!(project.resolve_imports("a.ts"), "./b -> missing");
    project.write("b.ts", "");
    assert_eq!(project.resolve_imports("a.ts"), "./b -> b.ts");
}
