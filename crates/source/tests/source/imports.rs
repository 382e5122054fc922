//! Import extraction for all import forms.

use source::Language;

/// Returns one line per import.
fn check(path: &str, text: &str) -> String {
    let found = source::extract_imports(Language::detect(path, text).unwrap(), text);
    let lines = found.imports.iter().map(|import| {
        let mut line = format!("{} {} {}", import.line, import.kind.name(), import.specifier);
        if !import.names.is_empty() {
            line = format!("{line} names {}", import.names.join(" "));
        }
        if !import.within.is_empty() {
            line = format!("{line} within {}", import.within.join("::"));
        }
        if let Some(path) = &import.path {
            line = format!("{line} path {path}");
        }
        line
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn extracts_typescript_imports() {
    insta::assert_snapshot!(check(
        "a.ts",
        r#"
/// <reference path="./globals.d.ts" />
/// <reference types="node" />
import a from './a';
import * as b from "../b.js";
import { type C, d } from './c'; import './side-effect.css';
import type { E } from './e';
import f = require('./f');
import json from './data.json' with { type: 'json' };
export { g } from './g';
export * as h from './h';
export * from './i';
export type { J } from './j';
const k = require('./k');
const later = async () => { const l = await import('./l'); return import(`./m`); };
const composed = import(`./${name}`);
const made = require('./' + name);
type N = import('./n').N;
let typed: Array<import('./t1')> = x as import('./t2').X.Y; type Q = typeof import('./t3') | import('./t4').Z;
const cast = <T>import('./d1'); import('./d2').then(f); const as = import('./d3') as T;
declare module 'x' { import { o } from './o'; }
function inner() { if (true) { return require.resolve('./p'); } }
const text = "import q from './q'"; // import r from './r'
/// <reference path="./late.d.ts" />
import a2 from './a';
"#
    ));
}

#[test]
fn extracts_javascript_imports_around_syntax_errors() {
    insta::assert_snapshot!(check(
        "a.js",
        "import a from './a';\nconst = 5;\nimport b from './b';\nfunction {\nconst c = require('./c');\n"
    ));
}

#[test]
fn extracts_python_imports() {
    insta::assert_snapshot!(check(
        "a.py",
        r#"
from __future__ import annotations
import os, sys as system
import a.b.c as d
from . import x, y as z
from .. import *
from .pkg.mod import (
    one,
    two as deux,  # comment
)
from pkg import *
try:
    import ujson
except ImportError:
    import json as ujson
def f():
    from ..late import thing
    if TYPE_CHECKING:
        import only.types
class C:
    import inside
text = "import no"
"#
    ));
}

#[test]
fn extracts_rust_imports() {
    insta::assert_snapshot!(check(
        "a.rs",
        r#"
extern crate alloc;
mod a;
pub(crate) mod b;
#[cfg(unix)]
#[path = "sys/unix.rs"]
mod sys;
mod inline { mod deep; use super::a::X; mod more { pub mod deepest; } }
use crate::a::b::{self, C, d::{E, F as G}, h::*};
use self::b::I;
use super::super::up;
use ::abs::J;
use {k::L, m};
pub use r#type::N;
fn f() { use std::fmt::Write as _; }
const T: &str = include_str!("../data/text.txt");
include!("generated.rs");
cfg_rt! {
    #[path = "other.rs"]
    mod runtime;
    pub mod task;
    use crate::not::read;
}
fn g() { not_items! { mod no; } }
macro_rules! m { () => { mod no; use no::no; } }
// use no::comment;
"#
    ));
}

#[test]
fn extracts_go_java_solidity_and_c_imports() {
    let go = "package a\nimport \"fmt\"\nimport (\n\tm \"example.com/m/v2\"\n\t. \"./dot\"\n\t_ `raw/path`\n)\n";
    let java = "package a.b;\nimport java.util.List;\nimport static a.b.C.member;\nimport a.b.*;\nimport module java.base;\nimport  static\ta . b.E;\nclass D {}\n";
    let solidity = "import \"./A.sol\";\nimport {B as C} from \"../B.sol\";\nimport * as D from '@oz/D.sol';\nimport \"E.sol\" as E;\n";
    let c = "#include <stdio.h>\n#include \"a/b.h\"\n#if X\n  #include \"c.h\"\n#else\n#include MACRO\n#endif\nvoid f() {\n#include \"body.inc\"\n}\n#import \"obj.h\"\n#import <Kit/Kit.h> // c\n#include_next <string.h>\n#include \"win\\path.h\"\n#pragma \"no.h\"\n";
    insta::assert_snapshot!(
        [check("a.go", go), check("A.java", java), check("A.sol", solidity), check("a.c", c)]
            .join("\n\n")
    );
}
