//! Reads what a source says about other sources, compilers and its contracts, without parsing it.
//!
//! The text may be anything. What cannot be understood is left to the compiler, which reports it.

/// Declarations at the top level of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SourceScan {
    /// Paths of imports, as written.
    pub(crate) imports: Vec<String>,
    /// Version requirements of `pragma solidity`.
    pub(crate) pragmas: Vec<String>,
    /// Names of contracts, libraries and interfaces.
    pub(crate) contracts: Vec<String>,
}

/// Scans a source.
pub(crate) fn scan_source(text: &str) -> SourceScan {
    let mut scan = SourceScan::default();
    let mut tokens = SourceTokens { text, at: 0 };
    let mut depth = 0_usize;
    while let Some(token) = tokens.next() {
        match token {
            SourceToken::Symbol('{') => depth += 1,
            SourceToken::Symbol('}') => depth = depth.saturating_sub(1),
            SourceToken::Word("import") if depth == 0 => scan.imports.extend(tokens.read_import()),
            SourceToken::Word("pragma") if depth == 0 => scan.pragmas.extend(tokens.read_pragma()),
            SourceToken::Word("contract" | "library" | "interface") if depth == 0 => {
                if let Some(SourceToken::Word(name)) = tokens.next() {
                    scan.contracts.push(name.to_owned());
                }
            }
            _ => {}
        }
    }
    scan
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum SourceToken<'a> {
    Word(&'a str),
    /// Content of a string, without quotes.
    Text(&'a str),
    Symbol(char),
}

/// Tokens of a source, without comments.
struct SourceTokens<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> SourceTokens<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Returns everything up to `end`, and continues after it.
    fn take_until(&mut self, end: &str) -> &'a str {
        let rest = self.rest();
        let len = rest.find(end).unwrap_or(rest.len());
        self.at += (len + end.len()).min(rest.len());
        &rest[..len]
    }

    /// Reads the path of an import: the only string in it.
    fn read_import(&mut self) -> Option<String> {
        let mut path = None;
        for token in self.by_ref() {
            match token {
                SourceToken::Symbol(';') => break,
                SourceToken::Text(text) => path = path.or(Some(text)),
                _ => {}
            }
        }
        path.map(unescape)
    }

    /// Reads a requirement on the compiler version.
    fn read_pragma(&mut self) -> Option<String> {
        let mut words = String::new();
        let mut last_end = self.at;
        while let Some(token) = self.next() {
            if token == SourceToken::Symbol(';') {
                break;
            }
            let part = match token {
                SourceToken::Word(word) | SourceToken::Text(word) => word.to_owned(),
                SourceToken::Symbol(symbol) => symbol.to_string(),
            };
            // Versions and operators may be separated by spaces and comments.
            if last_end + part.len() != self.at {
                words.push(' ');
            }
            words.push_str(&part);
            last_end = self.at;
        }
        Some(words.trim().strip_prefix("solidity")?.trim().to_owned())
    }
}

impl<'a> Iterator for SourceTokens<'a> {
    type Item = SourceToken<'a>;

    fn next(&mut self) -> Option<SourceToken<'a>> {
        loop {
            let rest = self.rest();
            let first = rest.chars().next()?;
            if rest.starts_with("//") {
                self.take_until("\n");
            } else if rest.starts_with("/*") {
                self.at += 2;
                self.take_until("*/");
            } else if first == '"' || first == '\'' {
                let len = string_length(&rest[1..], first);
                self.at = (self.at + len + 2).min(self.text.len());
                return Some(SourceToken::Text(&rest[1..=len]));
            } else if is_word(first) {
                let len = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                self.at += len;
                return Some(SourceToken::Word(&rest[..len]));
            } else {
                self.at += first.len_utf8();
                if !first.is_whitespace() {
                    return Some(SourceToken::Symbol(first));
                }
            }
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$'
}

/// Returns the length of a string up to its quote. A string ends with its line at the latest.
fn string_length(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '\n' => return at,
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if c == quote => return at,
            _ => {}
        }
    }
    text.len()
}

/// Removes backslashes before quotes and backslashes; paths contain no other escapes.
fn unescape(path: &str) -> String {
    path.replace("\\\\", "\\").replace("\\\"", "\"").replace("\\'", "'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_declarations_of_all_forms() {
        let scan = scan_source(
            "// import \"no1.sol\";\n/* pragma solidity 0.1.0; contract No {} */\n\
             pragma solidity >=0.6.2 /* x */ <0.9.0;pragma abicoder v2;\n\
             import \"./a.sol\"; import 'b.sol' as B;\nimport * as C from \"c.sol\";\n\
             import {D as E, F} from\n\"@oz/d.sol\"; // import \"no2.sol\";\n\
             abstract contract One { string s = \"} contract No {\"; function f() { import; } }\n\
             library Two{} interface Three is One {}\n\
             string constant t = 'import \"no3.sol\"';\n\
             pragma experimental ABIEncoderV2; pragma solidity ^ 0.8 .1;",
        );
        assert_eq!(scan.imports, ["./a.sol", "b.sol", "c.sol", "@oz/d.sol"]);
        assert_eq!(scan.pragmas, [">=0.6.2 <0.9.0", "^ 0.8 .1"]);
        assert_eq!(scan.contracts, ["One", "Two", "Three"]);
    }

    #[test]
    fn accepts_any_text() {
        let texts = [
            "import",
            "import \"",
            "import 'é\\",
            "pragma",
            "pragma solidity",
            "/*",
            "//",
            "contract",
            "\"",
            "'\n'",
            "é{}}}import \"x\"",
            "pragma solidity ^0.8.0",
            "import \"a\nb\";",
        ];
        for text in texts {
            scan_source(text);
            scan_source(&format!("{text} contract A {{}}"));
        }
        assert_eq!(scan_source("}}} import \"x\";").imports, ["x"]);
    }

    proptest::proptest! {
        #[test]
        fn never_panics(text in "(import|pragma|solidity|contract|[\"'/*{};\\\\é\n .^a0])*") {
            scan_source(&text);
        }
    }
}
