//! Checks the generated part of the documentation.

use std::fmt::Write as _;
use std::path::Path;

use fuzz::chain::list_supported_cheatcodes;

const BEGIN: &str = "<!-- generated: supported cheat codes -->\n";
const END: &str = "<!-- end of the generated list -->\n";

/// Maximum columns of a line.
const WIDTH: usize = 120;

/// Returns the list of supported cheat codes, by name.
fn write_list() -> String {
    let mut list = String::from("\n");
    for (title, signatures) in list_supported_cheatcodes() {
        let mut names: Vec<&str> = Vec::new();
        for name in signatures.iter().map(|signature| signature.split('(').next().unwrap()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let mut line = format!("- {title}:");
        for (number, name) in names.iter().enumerate() {
            let end = if number + 1 < names.len() { "," } else { "" };
            let word = format!(" `{name}`{end}");
            if line.len() + word.len() > WIDTH {
                writeln!(list, "{line}").unwrap();
                line = " ".to_owned();
            }
            line.push_str(&word);
        }
        writeln!(list, "{line}").unwrap();
    }
    list.push('\n');
    list
}

#[test]
fn docs_list_exactly_the_supported_cheat_codes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/fuzz.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (listed, after) = rest.split_once(END).unwrap();
    let wanted = write_list();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, [before, BEGIN, &wanted, END, after].concat()).unwrap();
        return;
    }
    assert!(
        listed == wanted,
        "the supported cheat codes changed; run UPDATE_GOLDEN=1 cargo test -p fuzz docs"
    );
}
