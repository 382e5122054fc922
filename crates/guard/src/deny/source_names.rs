//! Names of source code, by extension. Data, markup and configuration formats are not among them: a file
//! `credentials.json` or `secrets.yml` holds what its name says.

/// Extensions of programming languages.
const SOURCE_EXTENSIONS: &[&str] = &[
    "rs", "go", "py", "pyi", "pyx", "java", "kt", "kts", "scala", "groovy", "clj", "cljs", "cljc",
    "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "vue", "svelte", "astro", "c", "h", "cc",
    "cpp", "cxx", "hh", "hpp", "hxx", "ipp", "inl", "m", "mm", "swift", "cs", "fs", "fsi", "fsx",
    "vb", "rb", "rake", "erb", "php", "phtml", "pl", "pm", "lua", "r", "jl", "dart", "ex", "exs",
    "eex", "heex", "erl", "hrl", "hs", "lhs", "elm", "ml", "mli", "re", "rei", "nim", "zig", "v",
    "sv", "vhd", "d", "cr", "sol", "vy", "cairo", "move", "fc", "proto", "thrift", "graphql",
    "gql", "asm", "s", "f90", "pas", "ada", "adb", "ads", "cu", "wgsl",
];

/// Returns true if the name, folded by [`fold_name`](super::fold_name), has the extension of a programming language.
pub fn is_source_name(name: &str) -> bool {
    let extension = name.rsplit_once('.').map(|(stem, extension)| (!stem.is_empty(), extension));
    matches!(extension, Some((true, extension)) if SOURCE_EXTENSIONS.contains(&extension))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_programming_languages_are_source() {
        for name in ["verifiablecredential.java", "secret_manager.go", "credentials.py", "a.b.ts"] {
            assert!(is_source_name(name), "{name}");
        }
        for name in
            ["credentials.json", "secrets.yml", "secret", ".py", "credentials.py.bak", "secret.md"]
        {
            assert!(!is_source_name(name), "{name}");
        }
    }
}
