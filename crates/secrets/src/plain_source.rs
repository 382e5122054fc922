//! Recognizes source code that has no secret, for files whose name says "secret".

use std::sync::LazyLock;

use regex::Regex;

use crate::{ScanPurpose, find_spans};

/// A line that defines something other than a constant: a function, a type, a module with content.
static DEFINITION: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?m)^[ \t]*(?:[@#]?[\w\[\]()<>.:,=]+[ \t]+){0,5}?(?:fn|func|function|def|class|interface|struct|enum|trait|impl|contract|library|protocol|extension|module|namespace|message|service|sub|macro_rules!|type|record|object|defmodule|defp|template|describe|it|test)[ \t(]|\)[ \t]*(?:\{|=>|:[ \t]*$)|=>[ \t]*\{";
    Regex::new(pattern).expect("a test compiles the pattern")
});

/// Returns true if the text defines functions or types and has no recognizable secret. A file with nothing but
/// assignments is a list of values, whatever its language.
pub fn is_plain_source(text: &str) -> bool {
    DEFINITION.is_match(text) && find_spans(text, ScanPurpose::Output).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_defines_something() {
        for code in [
            "package credentials\n\nfunc Load() error {\n\treturn nil\n}\n",
            "public class VerifiableCredential {\n  private String id;\n}",
            "export const read = (name) => {\n  return vault[name];\n};",
            "import os\n\ndef get_secret(name):\n    return os.environ[name]\n",
            "pub(crate) struct SecretRule { id: u8 }",
            "@Component({})\nexport default class Secret {}",
            "int main(int c, char **v) {\n}",
        ] {
            assert!(is_plain_source(code), "{code}");
        }
    }

    #[test]
    fn values_and_secrets_are_not_plain_source() {
        let token = format!("gh{}_{}", "p", "q7Zt4Kp9Xw2Lm5Vb8Nc3Rd6Hf1Jg0YsAb1Cd2");
        for text in [
            "",
            "PASSWORD = 'x'\nUSER = 'y'\n",
            "module.exports = {\n  user: 'me',\n  pin: '1234',\n};",
            "export const KEYS = ['a', 'b'];",
            "{\"a\": 1}",
            &format!("def f():\n    return '{token}'\n"),
        ] {
            assert!(!is_plain_source(text), "{text}");
        }
    }
}
