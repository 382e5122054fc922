//! Checks that the documentation is complete.

use std::collections::BTreeSet;

use fuzz::chain::SUPPORTED_CHEATCODES;

#[test]
fn docs_list_exactly_the_supported_cheat_codes() {
    let text = include_str!("../../../../docs/fuzz.md");
    let (_, section) = text.split_once("\n## Cheat codes\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let is_name = |word: &&str| {
        word.starts_with(|letter: char| letter.is_ascii_lowercase())
            && word.chars().all(char::is_alphanumeric)
    };
    let listed = section.lines().filter(|line| line.starts_with("- ") || line.starts_with("  "));
    let listed: BTreeSet<&str> = listed
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .filter(is_name)
        .filter(|name| *name != "allowFFI")
        .collect();
    let name = |signature: &&'static str| signature.split('(').next().unwrap();
    let supported: BTreeSet<&str> = SUPPORTED_CHEATCODES.iter().map(name).collect();
    assert_eq!(listed, supported);
}
