use contract::{CallPolicy, Caller, PolicySubject, PolicyVerdict};
use proptest::prelude::*;
use rules::{RuleDefinition, RuleEffect, RuleSubject, Rules};
use serde_json::{Map, Value, json};

use crate::{compile, deny, rule};

fn caller() -> Caller {
    Caller { client: Some("curl/8".into()), ..Caller::new("token:ci") }
}

fn on_call(rules: &Rules, tool: &str, arguments: &Value) -> PolicyVerdict {
    let (caller, annotations) = (caller(), Map::new());
    rules.on_call(&PolicySubject { tool, arguments, caller: &caller, annotations: &annotations })
}

fn describe(verdict: PolicyVerdict) -> String {
    match verdict {
        PolicyVerdict::Allow => "allow".to_owned(),
        PolicyVerdict::Approve { rule } => format!("approve by {rule}"),
        PolicyVerdict::Deny { rule, reason: None } => format!("deny by {rule}"),
        PolicyVerdict::Deny { reason: Some(reason), .. } => format!("deny: {reason}"),
    }
}

#[test]
fn evaluates_conditions() {
    let arguments = json!({
        "path": "/etc/passwd", "n": 5, "ratio": 0.5, "whole": 5.0, "big": u64::MAX, "flag": true, "none": null,
        "items": [{"path": "/a"}, {"path": "/etc"}], "mixed": [{}, {"path": "/etc"}], "bad": [{}, {"path": 3}],
        "plain": [{}, {"path": "/a"}], "deep": {"a": {"b": 1}}, "list": [1, 2], "text": "a\nb",
    });
    let mut lines = Vec::new();
    for when in [
        r#"arguments.path.startsWith("/etc")"#,
        r#"arguments.path.matches("^/etc/[a-z]+$")"#,
        r#"matches(arguments.path, "^/usr")"#,
        "arguments.n == 5 && arguments.whole == 5 && arguments.n > 4.5",
        "arguments.big > 1 && arguments.ratio < 1",
        "arguments.none == null",
        "arguments.flag",
        r#"arguments["deep"].a["b"] == 1"#,
        r#"tool == "files__read" && caller.principal == "token:ci""#,
        "has(caller.client) && !has(caller.session)",
        "!annotations.readOnlyHint && annotations.destructiveHint",
        "arguments.list[1] == 2",
        r#"arguments.items.exists(i, i.path == "/etc")"#,
        r#"arguments.mixed.exists(i, i.path == "/etc")"#,
        r#"arguments.?missing.orValue("x") == "x""#,
        r#"arguments.?path.optMap(p, p.endsWith("wd")).orValue(false)"#,
        // Absent values: unknown.
        r#"arguments.missing == 1"#,
        r#"!(arguments.missing == 1)"#,
        r#"arguments["missing"] == 1"#,
        r#"arguments.deep.x.y == 1"#,
        "arguments.list[7] == 1",
        "arguments.missing == 1 || arguments.n == 5",
        "arguments.missing == 1 && arguments.n == 5",
        "arguments.missing == 1 && arguments.n == 6",
        r#"caller.session == "s""#,
        r#"annotations.title == "x""#,
        r#"arguments.plain.exists(i, i.path == "/etc")"#,
        "arguments.missing == 1 ? true : true",
        // Evaluation errors: denied.
        r#"arguments.n.startsWith("x")"#,
        r#"arguments.path > 3"#,
        "arguments.path",
        "arguments.n.a == 1",
        "arguments.none.a == 1",
        "arguments.n[0] == 1",
        "arguments.n / 0 == 1",
        "int(arguments.path) == 1",
        r#"{"a": 1}[arguments.path] == 1"#,
        r#"arguments.path.matches(arguments.text + "(")"#,
        r#"arguments.mixed.filter(i, i.path == "/etc").size() > 0"#,
        "arguments.missing == 1 || arguments.path > 3",
        "arguments.path > 3 || arguments.missing == 1",
        "arguments.missing == 1 || arguments.path > 3 || arguments.other == 1",
        "arguments.path > 3 || arguments.n == 5",
        "arguments.path > 3 && arguments.n == 6",
        r#"arguments.bad.exists(i, i.path.startsWith("/etc"))"#,
    ] {
        let rules = compile(deny(when)).unwrap();
        lines.push(format!("{when}\n  {}", describe(on_call(&rules, "files__read", &arguments))));
    }
    insta::assert_snapshot!(lines.join("\n"));
}

/// An absent value must not hide an evaluation error in another element or in the same one.
#[test]
fn absent_value_does_not_hide_evaluation_error() {
    let exists = r#"arguments.items.exists(i, i.path.startsWith("/etc"))"#;
    let all = r#"!arguments.items.all(i, i.path.startsWith("/home"))"#;
    let either = r#"arguments.items.exists(i, i.path.startsWith("/etc") || i.name == "x")"#;
    let turned = r#"arguments.items.exists(i, i.name == "x" || i.path.startsWith("/etc"))"#;
    let inner = "arguments.items.exists(x, x.b.filter(y, y.c == 1).size() > 0)";
    let one = "arguments.items.exists(x, x.b.exists_one(y, y.c == 1))";
    let mapped = "arguments.items.all(x, x.b.map(y, y.c)[0] != 1)";
    let nested = "arguments.items.exists(x, x.b.exists(y, y.c > 1))";
    let outer = "arguments.items.exists(x, x.b == 1 || arguments.base > 1)";
    let compared = r#"(arguments.n > 3 || arguments.missing == 1) == true"#;
    let chosen =
        r#"(has(arguments.missing) ? arguments.missing : arguments.items[arguments.n]) == "x""#;
    let mut lines = Vec::new();
    for (when, items) in [
        (exists, json!([{"path": ["/etc/x"]}, {}])),
        (exists, json!([{}, {"path": ["/etc/x"]}])),
        (exists, json!([{}, {"path": 3}, {"path": "/etc/x"}])),
        (exists, json!([{}, {"path": "/a"}])),
        (exists, json!([{}])),
        (exists, json!([])),
        (exists, json!({"path": 1})),
        (exists, json!(3)),
        (all, json!([{"path": 3}, {}])),
        (all, json!([{}, {"path": 3}])),
        (all, json!([{}, {"path": "/etc"}])),
        (all, json!([{}, {"path": "/home"}])),
        (either, json!([{"path": 3}])),
        (turned, json!([{"path": 3}])),
        (either, json!([{"path": 3, "name": "x"}])),
        (either, json!([{"name": "y"}, {}])),
        (inner, json!([{"b": [{}, {"c": 1}]}])),
        (inner, json!([{"b": [{"c": 1}, {}]}])),
        (inner, json!([{}, {"b": []}])),
        (one, json!([{"b": [{}, {"c": 1}]}])),
        (one, json!([{"b": [{"c": 1}, {}]}])),
        (mapped, json!([{"b": [{}, {"c": 1}]}])),
        (nested, json!([{"b": [{}, {"c": "x"}]}, {}])),
        (nested, json!([{"b": [{"c": "x"}, {}]}])),
        (nested, json!([{}, {"b": [{}, {"c": 1}]}])),
        (nested, json!([{"b": [{}, {"c": 2}]}])),
        (outer, json!([{"b": 2}])),
        (outer, json!([{"b": 1}])),
        (compared, json!([])),
        (chosen, json!({"a": 1})),
    ] {
        let arguments = json!({"items": items, "n": "text"});
        let rules = compile(deny(when)).unwrap();
        let verdict = describe(on_call(&rules, "t", &arguments));
        lines.push(format!("{when} with {items}\n  {verdict}"));
    }
    insta::assert_snapshot!(lines.join("\n"));
}

/// A condition about what a caller or a tool does not state is unknown; other errors deny.
#[test]
fn absent_facts_of_the_caller_and_the_tool_are_unknown() {
    let full = Caller { session: Some("s".into()), ..caller() };
    let empty = Caller { client: None, ..Caller::new("token:ci") };
    let titled = Map::from_iter([("title".to_owned(), json!("T"))]);
    for (when, caller, annotations, expected) in [
        (r#"caller.client == "curl/8""#, &full, &titled, "deny by r"),
        (r#"caller.client == "curl/8""#, &empty, &titled, "allow"),
        (r#"caller.session == "s""#, &full, &titled, "deny by r"),
        (r#"caller.session == "s""#, &empty, &titled, "allow"),
        (r#"annotations.title == "T""#, &full, &titled, "deny by r"),
        (r#"annotations.title == "T""#, &full, &Map::new(), "allow"),
        // The value is there, so its absence does not explain the error.
        ("caller.client > 1", &full, &titled, "deny: "),
        ("caller.session > 1", &full, &titled, "deny: "),
        ("annotations.title > 1", &full, &titled, "deny: "),
        ("caller.principal > 1", &empty, &Map::new(), "deny: "),
        ("annotations.readOnlyHint > 1", &empty, &Map::new(), "deny: "),
        ("tool > 1", &empty, &Map::new(), "deny: "),
    ] {
        let Ok(rules) = compile(deny(when)) else {
            // An error of types that compiling finds denies every call.
            assert_eq!(expected, "deny: ", "{when}");
            continue;
        };
        let arguments = json!({});
        let subject = PolicySubject { tool: "t", arguments: &arguments, caller, annotations };
        let verdict = describe(rules.on_call(&subject));
        assert!(verdict.starts_with(expected), "{when}: {verdict}");
    }
}

#[test]
fn rules_know_which_tools_they_apply_to() {
    assert!(Rules::default().is_empty());
    let rules = Rules::compile(vec![
        RuleDefinition { tools: vec!["files__*".into()], ..deny("true") },
        RuleDefinition {
            name: "s".into(),
            tools: vec!["mail".into()],
            ..rule(RuleEffect::Deny, RuleSubject::Result, "true")
        },
    ])
    .unwrap();
    assert!(!rules.is_empty());
    for (on, tool, expected) in [
        (RuleSubject::Call, "files__read", true),
        (RuleSubject::Call, "mail", false),
        (RuleSubject::Call, "other", false),
        (RuleSubject::Result, "mail", true),
        (RuleSubject::Result, "files__read", false),
    ] {
        assert_eq!(rules.has_rule_for(on, tool), expected, "{on:?} {tool}");
    }
}

fn named(name: &str, effect: RuleEffect, tools: &[&str], when: &str) -> RuleDefinition {
    let tools = tools.iter().map(|glob| (*glob).to_owned()).collect();
    RuleDefinition { name: name.into(), effect, on: RuleSubject::Call, tools, when: when.into() }
}

#[test]
fn first_matching_rule_decides() {
    let rules = Rules::compile(vec![
        named("root", RuleEffect::Allow, &[], r#"caller.principal == "cli""#),
        named("etc", RuleEffect::Deny, &["files__*"], r#"arguments.path.startsWith("/etc")"#),
        named("write", RuleEffect::Approve, &["files__write", "files__move_*"], "true"),
        named("files", RuleEffect::Allow, &["files__*"], "true"),
        named("rest", RuleEffect::Deny, &[], "true"),
    ])
    .unwrap();
    let check = |tool, arguments: Value| describe(on_call(&rules, tool, &arguments));
    assert_eq!(check("files__read", json!({"path": "/etc/x"})), "deny by etc");
    assert_eq!(check("files__write", json!({"path": "/etc/x"})), "deny by etc");
    assert_eq!(check("files__write", json!({"path": "/a"})), "approve by write");
    assert_eq!(check("files__move_file", json!({})), "approve by write");
    assert_eq!(check("files__read", json!({"path": "/a"})), "allow");
    assert_eq!(check("mail__send", json!({})), "deny by rest");
    // A rule that cannot be evaluated denies the call, even if a later rule allows it.
    assert_eq!(
        check("files__read", json!({"path": 3})),
        "deny: rule `etc` could not be evaluated: `startsWith` does not apply to (int, string)"
    );
    assert_eq!(rules.names().collect::<Vec<_>>(), ["root", "etc", "write", "files", "rest"]);
    assert!(
        rules.has_rule_for(RuleSubject::Call, "x") && !rules.has_rule_for(RuleSubject::Result, "x")
    );
    assert_eq!(on_call(&Rules::default(), "x", &json!({})), PolicyVerdict::Allow);
}

#[test]
fn result_rules_apply_only_to_results() {
    let rules = Rules::compile(vec![
        rule(
            RuleEffect::Deny,
            RuleSubject::Result,
            r#"result.rows.exists(r, r.secret) && arguments.n == 1"#,
        ),
        named("call", RuleEffect::Deny, &[], "arguments.n == 1"),
    ])
    .unwrap();
    let (caller, annotations, arguments) = (caller(), Map::new(), json!({"n": 1}));
    let subject = PolicySubject {
        tool: "t",
        arguments: &arguments,
        caller: &caller,
        annotations: &annotations,
    };
    let check = |result: Value| describe(rules.on_result(&subject, &result));
    assert_eq!(check(json!({"rows": [{"secret": true}]})), "deny by r");
    assert_eq!(check(json!({"rows": [{"secret": false}]})), "allow");
    assert_eq!(check(json!({"other": 1})), "allow");
    let verdict = check(json!({"rows": [{"secret": "hunter2"}]}));
    assert!(verdict.starts_with("deny: rule `r` could not be evaluated"), "{verdict}");
    assert!(!verdict.contains("hunter2"), "{verdict}");
    assert_eq!(describe(rules.on_call(&subject)), "deny by call");
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let name = prop_oneof![Just("path".to_owned()), Just("items".to_owned()), ".{0,4}"];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((name, inner), 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    /// Every call gets a verdict, it is deterministic, and an evaluation error always has a reason.
    #[test]
    fn any_arguments_get_a_deterministic_verdict(arguments in json_value(), path in json_value()) {
        let rules = Rules::compile(vec![
            named("a", RuleEffect::Deny, &[], r#"arguments.path.startsWith("/etc") || arguments.items.exists(i, i.path > 3)"#),
            named("b", RuleEffect::Approve, &[], r#"arguments.items.map(i, i.path + 1).size() % 2 == 1 && arguments.items[0][1] != path_of"#.replace("path_of", "tool").as_str()),
            named("c", RuleEffect::Allow, &[], r#"arguments == {"a": [1, 2.0, null]} || arguments.path in arguments.items"#),
            named("d", RuleEffect::Deny, &[], "true"),
        ]).unwrap();
        let both = json!({"path": path, "items": arguments});
        for arguments in [&arguments, &both] {
            let verdict = on_call(&rules, "t", arguments);
            prop_assert_eq!(&verdict, &on_call(&rules, "t", arguments));
            if let PolicyVerdict::Deny { reason: Some(reason), rule } = verdict {
                let prefix = format!("rule `{rule}` could not be evaluated: ");
                prop_assert!(reason.starts_with(&prefix));
            }
        }
    }
}
