//! Outlines: chunks are complete functions and types and cover the file.

use source::{Language, build_outline};

/// Returns one line per chunk, followed by the first and last line of the chunk.
fn check(path: &str, text: &str) -> String {
    let outline = build_outline(Language::detect(path, text), text);
    let mut end = 0;
    let mut out = Vec::new();
    for chunk in &outline.chunks {
        assert_eq!(chunk.bytes.start, end, "chunks must be contiguous");
        end = chunk.bytes.end;
        let name = chunk.name.as_deref().unwrap_or("-");
        let text = &text[chunk.bytes.start as usize..chunk.bytes.end as usize];
        assert_eq!(text.trim_end_matches('\n').split('\n').count(), {
            let blank = text.len() - text.trim_end_matches('\n').len();
            chunk.lines.len() - blank.saturating_sub(1)
        });
        let shown: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        out.push(format!(
            "{}..{} {:?} {name} defines {}\n    {}\n    {}",
            chunk.lines.start,
            chunk.lines.end,
            chunk.kind,
            chunk.defines.join(" "),
            shown.first().unwrap_or(&""),
            shown.last().unwrap_or(&""),
        ));
    }
    assert_eq!(end as usize, text.len());
    if let Some(stopped) = outline.stopped {
        out.push(format!("parse failure at line {}, whole: {}", stopped.line, stopped.whole));
    }
    out.join("\n")
}

/// Returns a body that makes a definition large enough for its own chunk.
fn lines(line: &str, count: usize) -> String {
    format!("{line}\n").repeat(count)
}

#[test]
fn outlines_rust() {
    let text = format!(
        "//! A router.\n\nuse std::fmt;\nuse crate::route::Route;\n\n/// Most routes.\nconst MAX: usize = 10;\n\n\
         /// Routes requests.\n#[derive(Debug)]\npub struct Router<S> {{\n    routes: Vec<Route<S>>,\n}}\n\n\
         impl<S> Router<S> {{\n    /// Adds a route.\n    #[must_use]\n    pub fn route(self) -> Self {{\n{}    }}\n\n    pub fn len(&self) -> usize {{ self.routes.len() }} // cheap\n\n\
         \x20   pub fn is_empty(&self) -> bool {{ self.len() == 0 }}\n\n    fn long(&self) {{\n{}    }}\n}}\n\n\
         impl<S> fmt::Display for Router<S> {{\n    fn fmt(&self) {{}}\n}}\n\nmod inner {{\n    pub(super) fn help() {{}}\n}}\n\nmacro_rules! route {{ () => {{}} }}\n",
        lines("        self.add(one, two, three);", 14),
        lines("        self.log(\"one\", \"two\", \"three\");", 100),
    );
    insta::assert_snapshot!(check("router.rs", &text));
}

#[test]
fn outlines_typescript() {
    let text = format!(
        "import {{ a }} from './a';\nimport type {{ B }} from './b';\n\nexport const LIMIT = 5;\n\n/** Signs. */\nexport const sign = async (x: string) => {{\n{}}};\n\n\
         @Injectable()\nexport class AuthService extends Base {{\n  private readonly users = new Map();\n\n  constructor(private db: Db) {{ super(); }}\n\n  /** Logs in. */\n  @Log()\n  async login(name: string) {{\n{}  }}\n\n  logout() {{\n{}  }}\n}}\n\n\
         export interface Token {{ id: string; expires(): Date }}\nexport type Id = string;\nenum Color {{ Red }}\nnamespace Deep {{ export function inside() {{}} }}\nexport default function () {{ return 1; }}\n",
        lines("  await step(x, 'a rather long argument');", 12),
        lines("    await this.db.query('select something from somewhere');", 20),
        lines("    this.users.clear(); // everything goes away", 20),
    );
    insta::assert_snapshot!(check("auth.ts", &text));
}

#[test]
fn outlines_prototype_based_javascript() {
    let text = format!(
        "'use strict';\nvar util = require('./util');\n\nRouter.prototype.route = function (path) {{\n{}}};\n\nmodule.exports.create = function () {{\n{}}};\n\n(function () {{\n  function hidden() {{\n{}  }}\n  hidden();\n{}}})();\n",
        lines("  this.routes.push(path, 'something of some length');", 12),
        lines("  return new Router('something of some length', 12);", 12),
        lines("    work('something of some length that fills a line');", 30),
        lines("  work('something of some length that fills a line');", 30),
    );
    insta::assert_snapshot!(check("router.js", &text));
}

#[test]
fn outlines_python() {
    let text = format!(
        "\"\"\"Routes.\"\"\"\nimport os\nfrom . import util\n\nLIMIT = 5\n\n@app.get('/')\ndef home():\n    return 1\n\n\nclass Router(Base):\n    \"\"\"Routes requests.\"\"\"\n\n    name: str = 'r'\n\n    @property\n    def routes(self):\n        # all of them\n        return self._routes\n\n    async def add(self, route):\n{}\n\nif __name__ == '__main__':\n    home()\n",
        lines("        self._routes.append(route, 'something of some length')", 30),
    );
    insta::assert_snapshot!(check("router.py", &text));
}

#[test]
fn outlines_go_java_and_solidity() {
    let go = "package web\n\nimport (\n\t\"net/http\"\n)\n\nconst (\n\tA = 1\n\tB = 2\n)\n\n// Router routes.\ntype Router struct{ n int }\n\n// Add adds.\nfunc (r *Router) Add() {}\n\nfunc (p Pair[K, V]) Key() K { return p.k }\n\nfunc New() *Router { return nil }\n";
    let java = "package a.b;\n\nimport java.util.List;\n\n/** Routes. */\n@Component\npublic class Router<T> implements Runnable {\n  private int size, count;\n  public Router() {}\n  @Override public void run() {}\n  enum Color { RED; void x() {} }\n}\n\nrecord Pair(int a, int b) {}\ninterface Visitor { void visit(); }\n";
    let solidity = "// SPDX-License-Identifier: MIT\npragma solidity ^0.8.0;\nimport \"./Base.sol\";\n\n/// @title Vault\ncontract Vault is Base {\n    event Paid(address who);\n    error Empty();\n    mapping(address => uint) public balances;\n    modifier onlyOwner() { _; }\n    constructor() {}\n    function withdraw(uint amount) external onlyOwner {}\n    receive() external payable {}\n    struct Item { uint a; }\n}\n\nlibrary Maths { function add(uint a) internal {} }\nfunction free() pure {}\n";
    let all = [check("a.go", go), check("Router.java", java), check("Vault.sol", solidity)];
    insta::assert_snapshot!(all.join("\n\n"));
}

#[test]
fn outlines_c_and_cpp() {
    let c = "#ifndef A_H\n#define A_H\n#include <stdio.h>\n#include \"b.h\"\n\n#define SQUARE(x) ((x) * (x))\n\nstruct point { int x; };\ntypedef struct { int y; } pair;\n\n/* adds */\nstatic int *add(struct point *p, int n)\n{\n    return 0;\n}\n\nextern int total;\n#endif\n";
    let cpp = "namespace web {\ntemplate <typename T>\nclass Router : public Base {\npublic:\n    Router();\n    void route(int x) { y = x; }\nprivate:\n    int y;\n};\n\nvoid Router::add(const std::string &s) {}\nint operator+(int a, B b) { return a; }\nusing Id = int;\nenum class Color { Red };\n}\n";
    insta::assert_snapshot!(format!("{}\n\n{}", check("a.h", c), check("router.cpp", cpp)));
}

#[test]
fn outlines_markdown_and_toml() {
    let markdown = format!(
        "---\ntitle: x\n# no heading\n---\n\n# Guide\n\nIntro.\n\n## Install\n\n```sh\n# no heading\n```\n\n{}\n### From source #\n\nShort.\n\n## Use\n\n{}",
        lines("A sentence about how it is installed.", 12),
        lines("A sentence about how it is used, one after the other.", 80),
    );
    let toml = "[package]\nname = \"x\"\n\n[dependencies]\na = \"1\"\n";
    insta::assert_snapshot!(format!(
        "{}\n\n{}",
        check("guide.md", &markdown),
        check("a.toml", toml)
    ));
}

#[test]
fn outlines_text_with_syntax_errors() {
    let cases = [
        (
            "broken.ts",
            "import { a } from './a';\nfunction f() {\n  const = ;\n}\nexport class B {}\n",
        ),
        ("unclosed.ts", "import { a } from './a';\nfunction f() {\n  if (a) {\n"),
        ("prose.py", "This is not a program at all, is it?\nNo it is not (((\n"),
        ("empty.rs", ""),
        ("half.rs", "use a::b;\nfn f( {\n}\nstruct S;\n"),
    ];
    let shown = cases.map(|(path, text)| format!("{path}\n{}", check(path, text)));
    insta::assert_snapshot!(shown.join("\n\n"));
}
