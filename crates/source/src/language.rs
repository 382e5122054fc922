//! Language detection by file name and, where the name is ambiguous, by the first bytes of the file.

use std::fmt;

/// A language with a bundled grammar, or the name of a language without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    TypeScript,
    Tsx,
    JavaScript,
    Python,
    Rust,
    Go,
    Java,
    Solidity,
    C,
    Cpp,
    Markdown,
    /// A language without a bundled grammar; its files are split at blank lines.
    Plain(&'static str),
}

/// Maximum number of leading bytes that [`Language::detect`] inspects.
const HEAD_BYTES: usize = 2048;

impl Language {
    /// Returns the language of a file, or `None` if it is unknown.
    ///
    /// `head` is the beginning of the file and may be empty. It is used for extensions shared by two languages and
    /// for scripts without an extension.
    pub fn detect(path: &str, head: &str) -> Option<Self> {
        let head = &head[..head.floor_char_boundary(HEAD_BYTES)];
        let name = path.rsplit('/').next().unwrap_or(path);
        let lower = name.to_ascii_lowercase();
        if let Some(language) = detect_by_name(&lower) {
            return Some(language);
        }
        match lower.rsplit_once('.') {
            Some(("", _)) | None => detect_by_shebang(head),
            Some((_, extension)) => {
                detect_by_extension(extension, head).or_else(|| detect_by_shebang(head))
            }
        }
    }

    /// Returns the lower-case display name. TSX is reported as `typescript`.
    pub fn name(self) -> &'static str {
        match self {
            Self::TypeScript | Self::Tsx => "typescript",
            Self::JavaScript => "javascript",
            Self::Python => "python",
            Self::Rust => "rust",
            Self::Go => "go",
            Self::Java => "java",
            Self::Solidity => "solidity",
            Self::C => "c",
            Self::Cpp => "cpp",
            Self::Markdown => "markdown",
            Self::Plain(name) => name,
        }
    }

    /// Returns `true` if this crate can extract imports from files of this language.
    pub fn has_imports(self) -> bool {
        !matches!(self, Self::Markdown | Self::Plain(_))
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn detect_by_name(name: &str) -> Option<Language> {
    let plain = match name {
        "dockerfile" | "containerfile" => "dockerfile",
        "makefile" | "gnumakefile" | "justfile" => "makefile",
        "cmakelists.txt" => "cmake",
        "gemfile" | "rakefile" | "podfile" | "vagrantfile" => "ruby",
        "jenkinsfile" => "groovy",
        "cargo.lock" | "poetry.lock" | "uv.lock" | "pipfile" => "toml",
        "composer.lock" | ".prettierrc" | ".eslintrc" | ".babelrc" => "json",
        "go.mod" | "go.sum" | "go.work" => "gomod",
        ".gitignore" | ".dockerignore" | ".npmignore" | ".ignore" | ".gitattributes"
        | "codeowners" => "ignore",
        ".editorconfig" => "ini",
        ".bashrc" | ".bash_profile" | ".zshrc" | ".profile" => "shell",
        _ if name.starts_with("dockerfile.") => "dockerfile",
        "sconstruct" | "wscript" => return Some(Language::Python),
        "build" | "build.bazel" | "workspace" | "module.bazel" => "starlark",
        "readme" | "license" | "copying" | "authors" | "changelog" | "notice" => "text",
        _ => return None,
    };
    Some(Language::Plain(plain))
}

fn detect_by_extension(extension: &str, head: &str) -> Option<Language> {
    let plain = match extension {
        "ts" if is_qt_translation(head) => "xml",
        "ts" | "mts" | "cts" => return Some(Language::TypeScript),
        "tsx" => return Some(Language::Tsx),
        "js" | "mjs" | "cjs" | "jsx" => return Some(Language::JavaScript),
        "py" | "pyi" | "pyw" => return Some(Language::Python),
        "rs" => return Some(Language::Rust),
        "go" => return Some(Language::Go),
        "java" => return Some(Language::Java),
        "sol" => return Some(Language::Solidity),
        "c" => return Some(Language::C),
        "h" if is_cpp_header(head) => return Some(Language::Cpp),
        "h" => return Some(Language::C),
        "cc" | "cpp" | "cxx" | "c++" | "hh" | "hpp" | "hxx" | "h++" | "ipp" | "tpp" | "inl"
        | "cu" | "cuh" => return Some(Language::Cpp),
        "md" | "markdown" | "mdown" | "mdx" | "mdc" => return Some(Language::Markdown),
        "json" | "jsonc" | "json5" | "jsonl" | "ndjson" | "geojson" | "webmanifest" => "json",
        "yaml" | "yml" => "yaml",
        "toml" => "toml",
        "sh" | "bash" | "zsh" | "fish" | "ksh" => "shell",
        "ps1" | "psm1" => "powershell",
        "bat" | "cmd" => "batch",
        "css" => "css",
        "scss" | "sass" => "scss",
        "less" => "less",
        "html" | "htm" | "xhtml" => "html",
        "vue" => "vue",
        "svelte" => "svelte",
        "astro" => "astro",
        "xml" | "xsd" | "xsl" | "xslt" | "svg" | "plist" | "csproj" | "pom" => "xml",
        "sql" => "sql",
        "graphql" | "gql" => "graphql",
        "proto" => "protobuf",
        "rb" | "rake" | "gemspec" => "ruby",
        "php" => "php",
        "cs" => "csharp",
        "fs" | "fsx" => "fsharp",
        "kt" | "kts" => "kotlin",
        "scala" | "sbt" => "scala",
        "swift" => "swift",
        "m" | "mm" => "objective-c",
        "dart" => "dart",
        "lua" => "lua",
        "pl" | "pm" => "perl",
        "r" => "r",
        "jl" => "julia",
        "ex" | "exs" => "elixir",
        "erl" | "hrl" => "erlang",
        "hs" | "lhs" => "haskell",
        "ml" | "mli" => "ocaml",
        "clj" | "cljs" | "cljc" | "edn" => "clojure",
        "elm" => "elm",
        "zig" => "zig",
        "nim" => "nim",
        "vy" => "vyper",
        "move" => "move",
        "cairo" => "cairo",
        "asm" | "s" => "assembly",
        "f" | "f90" | "f95" => "fortran",
        "groovy" | "gradle" => "groovy",
        "tf" | "tfvars" | "hcl" => "hcl",
        "nix" => "nix",
        "bzl" | "bazel" | "star" => "starlark",
        "cmake" => "cmake",
        "mk" | "mak" => "makefile",
        "dockerfile" => "dockerfile",
        "ini" | "cfg" | "conf" | "properties" | "editorconfig" => "ini",
        "csv" | "tsv" => "csv",
        "tex" | "sty" | "bib" => "latex",
        "rst" => "restructuredtext",
        "adoc" | "asciidoc" => "asciidoc",
        "org" => "org",
        "txt" | "text" | "log" => "text",
        "diff" | "patch" => "diff",
        "vim" => "vim",
        "el" | "lisp" | "cl" | "scm" | "rkt" => "lisp",
        "ipynb" => "notebook",
        "wat" | "wast" => "webassembly",
        "glsl" | "vert" | "frag" | "wgsl" | "hlsl" => "shader",
        "j2" | "jinja" | "hbs" | "ejs" | "tmpl" | "mustache" => "template",
        _ => return None,
    };
    Some(Language::Plain(plain))
}

/// Detects scripts by the interpreter in their `#!` line.
fn detect_by_shebang(head: &str) -> Option<Language> {
    let command = head.strip_prefix("#!")?.lines().next()?;
    let mut words = command.split_whitespace();
    let mut program = words.next()?.rsplit('/').next()?;
    if program == "env" {
        program = words.find(|word| !word.starts_with('-') && !word.contains('='))?;
    }
    let program = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    match program {
        "python" | "pypy" => Some(Language::Python),
        "node" | "nodejs" => Some(Language::JavaScript),
        "deno" | "bun" | "tsx" | "ts-node" => Some(Language::TypeScript),
        "sh" | "bash" | "zsh" | "dash" | "ksh" | "fish" => Some(Language::Plain("shell")),
        "ruby" => Some(Language::Plain("ruby")),
        "perl" => Some(Language::Plain("perl")),
        "php" => Some(Language::Plain("php")),
        "lua" => Some(Language::Plain("lua")),
        _ => None,
    }
}

/// Returns `true` for a Qt translation file: XML that also uses the `.ts` extension.
fn is_qt_translation(head: &str) -> bool {
    head.trim_start_matches('\u{feff}').trim_start().starts_with("<?xml")
}

/// Returns `true` if a `.h` file contains a C++ construct near its beginning. Other headers are treated as C.
fn is_cpp_header(head: &str) -> bool {
    const SIGNS: [&str; 9] = [
        "namespace ",
        "template<",
        "template <",
        "class ",
        "std::",
        "public:",
        "private:",
        "#include <string>",
        "constexpr ",
    ];
    head.lines()
        .map(str::trim_start)
        .filter(|line| !line.starts_with("//") && !line.starts_with('*') && !line.starts_with("/*"))
        .any(|line| SIGNS.iter().any(|sign| line.contains(sign)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detects_language_by_name_and_head() {
        for (path, head, expected) in [
            ("src/a.ts", "", "typescript"),
            ("src/a.tsx", "", "typescript"),
            ("src/a.d.ts", "", "typescript"),
            ("i18n/de.ts", "\u{feff}<?xml version=\"1.0\"?>", "xml"),
            ("a.MJS", "", "javascript"),
            ("a.pyi", "", "python"),
            ("a.h", "// class of its own\nint x;", "c"),
            ("a.h", "namespace a {", "cpp"),
            ("bin/run", "#!/usr/bin/env -S python3.11 -u\n", "python"),
            ("bin/run", "#!/bin/bash\n", "shell"),
            ("Dockerfile.dev", "", "dockerfile"),
            ("Cargo.lock", "", "toml"),
            (".bashrc", "", "shell"),
            ("README.md", "", "markdown"),
            ("rules/a.mdc", "", "markdown"),
            ("a.unknown", "plain words", "none"),
            ("noending", "", "none"),
            (".hidden", "", "none"),
        ] {
            let name = Language::detect(path, head).map_or("none", Language::name);
            assert_eq!(name, expected, "{path}");
        }
    }
}
