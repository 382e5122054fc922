//! Discoveries added by users.

use jiff::Timestamp;
use pack_context::discover::{
    Discovery, DiscoveryKind, NewDiscovery, NewDiscoveryError, import_discoveries,
};

fn new(content: &str) -> NewDiscovery {
    NewDiscovery { content: content.into(), ..NewDiscovery::default() }
}

fn now() -> Timestamp {
    "2026-03-01T12:00:00.123456789Z".parse().unwrap()
}

#[test]
fn same_content_gives_same_id() {
    let stored = |new: NewDiscovery| new.validate("cli:ada", now()).unwrap();
    let one = stored(new(" Never\r\nprint. "));
    assert_eq!((one.kind, one.content.as_str()), (DiscoveryKind::Rule, "Never\nprint."));
    let other =
        new("Never\nprint.").validate("cli:bob", "2027-01-01T00:00:00Z".parse().unwrap()).unwrap();
    assert_eq!(one.id, other.id);
    assert_ne!(
        one.id,
        stored(NewDiscovery { module: Some("auth".into()), ..new("Never\nprint.") }).id
    );
    assert_ne!(
        one.id,
        stored(NewDiscovery { kind: Some(DiscoveryKind::Issue), ..new("Never\nprint.") }).id
    );
    let discovery = Discovery::from(one);
    assert_eq!(
        (discovery.source.to_string(), discovery.date),
        ("added by cli:ada".into(), "2026-03-01T12:00:00.123Z".into())
    );
}

#[test]
fn tags_are_searchable() {
    let tagged =
        NewDiscovery { tags: vec!["jwt".into(), " ".into(), "web".into()], ..new("Use cookies") };
    let found = Discovery::from(tagged.validate("cli", now()).unwrap());
    assert_eq!(found.searchable_text(), "Use cookies\nTags: jwt, web");
}

#[test]
fn rejects_invalid_discoveries() {
    let long = |n: usize| "x".repeat(n);
    let token = format!("gh{}{}", "p_", "q7Zt4Kp9Xw2Lm5Vb8Nc3Rd6Hf1Jg0YsQ7aB2c");
    let errors = [
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
        let error: NewDiscoveryError = new.validate("cli", now()).unwrap_err();
        format!("{error}; {}", error.hint())
    });
    let errors = errors.join("\n");
    assert!(!errors.contains(&token));
    insta::assert_snapshot!(errors);
}

#[test]
fn import_reports_every_problem() {
    let lines = "{\"type\": \"rule\", \"content\": \"Ok\"}\nBlue\n\"Blue\"\n[]\n{\"rule\": \"never\\u0000\"}\n";
    let problems = import_discoveries("x.jsonl", lines, "cli", now()).unwrap_err();
    let messages: Vec<_> = problems.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(messages.join("\n"));
    for (name, text) in
        [("x.json", "7"), ("x.json", "{\"discoveries\": 7}"), ("x.md", ""), ("x.jsonl", "\n")]
    {
        let [problem] =
            import_discoveries(name, text, "cli", now()).unwrap_err().try_into().unwrap();
        assert!(!problem.to_string().is_empty(), "{name} {text}");
    }
}
