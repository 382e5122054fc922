//! What somebody adds.

use jiff::Timestamp;
use pack_context::discover::{Discovery, Kind, NewDiscovery, Refused, import};

fn new(content: &str) -> NewDiscovery {
    NewDiscovery { content: content.into(), ..NewDiscovery::default() }
}

fn now() -> Timestamp {
    "2026-03-01T12:00:00.123456789Z".parse().unwrap()
}

#[test]
fn the_same_words_are_the_same_discovery() {
    let stored = |new: NewDiscovery| new.check("cli:ada", now()).unwrap();
    let one = stored(new(" Never\r\nprint. "));
    assert_eq!((one.kind, one.content.as_str()), (Kind::Rule, "Never\nprint."));
    let other =
        new("Never\nprint.").check("cli:bob", "2027-01-01T00:00:00Z".parse().unwrap()).unwrap();
    assert_eq!(one.id, other.id);
    assert_ne!(
        one.id,
        stored(NewDiscovery { module: Some("auth".into()), ..new("Never\nprint.") }).id
    );
    assert_ne!(one.id, stored(NewDiscovery { kind: Some(Kind::Issue), ..new("Never\nprint.") }).id);
    let told = Discovery::from(one);
    assert_eq!(
        (told.source.to_string(), told.date),
        ("added by cli:ada".into(), "2026-03-01T12:00:00.123Z".into())
    );
}

#[test]
fn tags_are_found() {
    let tagged =
        NewDiscovery { tags: vec!["jwt".into(), " ".into(), "web".into()], ..new("Use cookies") };
    let found = Discovery::from(tagged.check("cli", now()).unwrap());
    assert_eq!(found.text(), "Use cookies\nTags: jwt, web");
}

#[test]
fn what_is_refused() {
    let long = |n: usize| "x".repeat(n);
    let token = format!("gh{}{}", "p_", "q7Zt4Kp9Xw2Lm5Vb8Nc3Rd6Hf1Jg0YsQ7aB2c");
    let refused = [
        new("\n "),
        new(&long(4_001)),
        new("Use\u{7}it"),
        new("Blue is nice"),
        NewDiscovery { title: Some(long(201)), ..new("Use it") },
        NewDiscovery { module: Some("a\u{200b}b".into()), ..new("Use it") },
        NewDiscovery { tags: vec!["t".into(); 21], ..new("Use it") },
        NewDiscovery { title: Some(token.clone()), ..new("Use it") },
        new(&format!("Use {token}")),
    ]
    .map(|new| {
        let refused: Refused = new.check("cli", now()).unwrap_err();
        format!("{refused}; {}", refused.hint())
    });
    let refused = refused.join("\n");
    assert!(!refused.contains(&token));
    insta::assert_snapshot!(refused);
}

#[test]
fn an_import_names_every_problem() {
    let lines = "{\"type\": \"rule\", \"content\": \"Ok\"}\nBlue\n\"Blue\"\n[]\n{\"rule\": \"never\\u0000\"}\n";
    let problems = import("x.jsonl", lines, "cli", now()).unwrap_err();
    let told: Vec<_> = problems.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(told.join("\n"));
    for (name, text) in
        [("x.json", "7"), ("x.json", "{\"discoveries\": 7}"), ("x.md", ""), ("x.jsonl", "\n")]
    {
        let [problem] = import(name, text, "cli", now()).unwrap_err().try_into().unwrap();
        assert!(!problem.to_string().is_empty(), "{name} {text}");
    }
}
