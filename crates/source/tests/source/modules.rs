//! Assignment of files to modules.

use source::ModuleMap;

use crate::Project;

fn check(files: &[(&str, &str)], paths: &[&str]) -> String {
    let project = Project::new(files);
    let modules = ModuleMap::load(&project.guard());
    let describe =
        |path: &&str| format!("{path}: {}", modules.find_module(path).as_deref().unwrap_or("none"));
    paths.iter().map(describe).collect::<Vec<_>>().join("\n")
}

#[test]
fn reads_every_project_yaml_form() {
    let paths = ["src/server/auth/a.ts", "src/api/b.ts", "src/apiary/c.ts", "web/d.ts", "e.ts"];
    let forms = [
        "modules:\n  - name: auth\n    path: src/server/auth\n  - name: api\n    paths: [src/api, ./web/]\n",
        "modules:\n  auth: src/server/auth/**\n  api:\n    - src/api\n    - web\n",
        "modules:\n  auth:\n    path: src/server/auth\n  api:\n    paths:\n      - src/api\n      - web\n",
        "name: x\nmodules: [api, web]\n",
        "modules: &a [*a, *a]\n",
        "modules: [[[[[[not: yaml",
    ];
    let shown = forms.map(|form| {
        let files = [("project.yaml", form), ("src/api/b.ts", ""), ("web/d.ts", "")];
        format!("{form}{}", check(&files, &paths))
    });
    insta::assert_snapshot!(shown.join("\n\n"));
}

#[test]
fn workspace_packages_are_modules() {
    insta::assert_snapshot!(check(
        &[
            ("Cargo.toml", "[workspace]\nmembers = [\"crates/*\"]\n"),
            ("crates/auth/Cargo.toml", "[package]\nname = \"shop-auth\"\n"),
            ("crates/auth/src/lib.rs", ""),
            ("web/package.json", "{\"name\": \"@shop/web\"}"),
            ("web/node_modules/left/package.json", "{\"name\": \"left\"}"),
            ("services/pay/go.mod", "module example.com/shop/pay\n"),
            ("tools/pyproject.toml", "[project]\nname = \"shop-tools\"\n"),
            ("broken/package.json", "{"),
        ],
        &[
            "crates/auth/src/token/sign.rs",
            "web/src/index.ts",
            "services/pay/card.go",
            "tools/src/shop_tools/cli.py",
            "broken/a.js",
            "docs/guide.md",
            "README.md",
        ],
    ));
}

#[test]
fn go_module_name_drops_host_and_version() {
    for (go_mod, expected) in [
        ("module example.com/foo/v2\n", "foo"),
        ("module example.com/lib // the library\n", "lib"),
        ("module \"example.com/quoted\"\n", "quoted"),
        ("// a comment\nmodule (\n\texample.com/block\n)\n", "block"),
        ("module v2\n", "v2"),
        ("module\n", "a"),
    ] {
        let named = check(&[("a/go.mod", go_mod)], &["a/x.go"]);
        assert_eq!(named, format!("a/x.go: {expected}"), "{go_mod}");
    }
}

#[test]
fn source_folders_of_single_package_are_modules() {
    insta::assert_snapshot!(check(
        &[("package.json", "{\"name\": \"shop\"}"), ("src/index.ts", "")],
        &[
            "src/server/auth/AuthService.ts",
            "src/index.ts",
            "src/shop/cart.py",
            "internal/pay/card.go",
            "src/main/java/shop/Cart.java",
            "tests/cart.test.ts",
            "package.json",
        ],
    ));
}
