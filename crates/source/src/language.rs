//! Which language a file is written in, by its name and, where that says too little, by how it begins.

use std::fmt;

/// A language with a grammar here, or the plain name of one without.
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
    /// No grammar here: such files are cut at blank lines.
    Plain(&'static str),
}

/// How much of a file's beginning [`Language::of`] looks at.
const HEAD_BYTES: usize = 2048;

impl Language {
    /// `head` is the beginning of the file, or nothing; it decides where a name stands for two languages, and for
    /// scripts without an ending.
    pub fn of(path: &str, head: &str) -> Option<Self> {
        let head = &head[..head.floor_char_boundary(HEAD_BYTES)];
        let name = path.rsplit('/').next().unwrap_or(path);
        let lower = name.to_ascii_lowercase();
        if let Some(language) = by_name(&lower) {
            return Some(language);
        }
        match lower.rsplit_once('.') {
            Some(("", _)) | None => by_first_line(head),
            Some((_, extension)) => by_extension(extension, head).or_else(|| by_first_line(head)),
        }
    }

    /// The name people use: TSX is `typescript`.
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

    /// Whether files of this language say what they import, so far as this crate can read it.
    pub fn has_imports(self) -> bool {
        !matches!(self, Self::Markdown | Self::Plain(_))
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn by_name(name: &str) -> Option<Language> {
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

fn by_extension(extension: &str, head: &str) -> Option<Language> {
    let plain = match extension {
        "ts" if is_translation(head) => "xml",
        "ts" | "mts" | "cts" => return Some(Language::TypeScript),
        "tsx" => return Some(Language::Tsx),
        "js" | "mjs" | "cjs" | "jsx" => return Some(Language::JavaScript),
        "py" | "pyi" | "pyw" => return Some(Language::Python),
        "rs" => return Some(Language::Rust),
        "go" => return Some(Language::Go),
        "java" => return Some(Language::Java),
        "sol" => return Some(Language::Solidity),
        "c" => return Some(Language::C),
        "h" if is_cpp(head) => return Some(Language::Cpp),
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

/// Scripts say in their first line who runs them.
fn by_first_line(head: &str) -> Option<Language> {
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

/// `.ts` is the ending of Qt's translations too, which are XML.
fn is_translation(head: &str) -> bool {
    head.trim_start_matches('\u{feff}').trim_start().starts_with("<?xml")
}

/// A header of C++ shows it early; one that does not reads as C.
fn is_cpp(head: &str) -> bool {
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
    fn names_and_beginnings() {
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
            let name = Language::of(path, head).map_or("none", Language::name);
            assert_eq!(name, expected, "{path}");
        }
    }
}
