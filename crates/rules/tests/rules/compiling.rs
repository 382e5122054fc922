use proptest::prelude::*;
use rules::{
    MAX_EXPRESSION_BYTES, MAX_EXPRESSION_DEPTH, RuleDefinition, RuleEffect, RuleSubject, Rules,
};

use crate::{compile, deny, error_chain, rule};

#[test]
fn accepts_valid_expressions() {
    for when in [
        "true",
        r#"arguments.path.startsWith("/etc")"#,
        r#"arguments["path"] == "x" || arguments.n > 3"#,
        "has(arguments.a) && !arguments.a",
        "arguments.flag",
        r#"caller.principal == "token:ci" && has(caller.client)"#,
        "annotations.readOnlyHint && !annotations.destructiveHint",
        r#"tool in ["a", "b"] || tool.endsWith("_delete")"#,
        r#"arguments.items.exists(i, i.path.matches("^/etc(/|$)"))"#,
        r#"arguments.items.exists_one(i, i == 1) || arguments.items.all(i, i < 2)"#,
        r#"arguments.items.filter(i, i > 1).size() > 0"#,
        r#"arguments.items.map(i, i * 2)[0] == 4"#,
        r#"size(arguments) > 3 && type(arguments.a) == string"#,
        r#"arguments.?path.orValue("") == "x""#,
        r#"arguments.?path.optMap(p, p.startsWith("/")).orValue(false)"#,
        r#"optional.of(1).hasValue()"#,
        r#""path" in arguments"#,
        r#"tool == "a" ? arguments.x == 1 : false"#,
        r#"arguments.keys.exists(k, arguments.by[k] == 2)"#,
        r#"{"a": 1}["a"] == arguments.n && [1, 2][0] == 1"#,
        "int(arguments.text) > 3 && double(arguments.n) > 0.5",
    ] {
        let compiled = compile(deny(when));
        assert!(compiled.is_ok(), "{when}: {}", error_chain(&compiled.unwrap_err()));
    }
    compile(rule(RuleEffect::Deny, RuleSubject::Result, "result.rows.size() > 10")).unwrap();
}

#[test]
fn rejects_invalid_expressions() {
    let mut lines = Vec::new();
    for when in [
        "",
        "arguments.path ==",
        "arguments.path = 1",
        "(true",
        "true; false",
        "argument.path == 1",
        "result.ok",
        "args.path == 1",
        "caller.name == 'x'",
        "caller['principle'] == 'x'",
        "caller.principal.name == 'x'",
        "caller[0] == 'x'",
        "has(caller.user)",
        "annotations.readOnly",
        "annotations.title.short == 'x'",
        "tool.name == 'x'",
        "tool[0] == 'x'",
        "arguments.path.startswith('/etc')",
        "startsWith(arguments.path, '/etc')",
        "arguments.path.startsWith('/a', '/b')",
        "exec('rm')",
        "optional.maybe(1)",
        "now() > 3",
        "arguments.items.exists(i, j.path == 'x')",
        "arguments.items.exists(i, i.startswith('x'))",
        "arguments.items.exists(1, true)",
        "has(arguments)",
        "Thing{a: 1} == 3",
        "'text'",
        "1",
        "1 + 1",
        "-arguments.n",
        "null",
        "[true]",
        "{'a': true}",
        "tool",
        "arguments",
        "caller.principal",
        "size(arguments)",
        "string(arguments.x)",
        "arguments.?flag",
        "true && 'text'",
        "!tool",
        "arguments.items.exists(i, 'x')",
        "arguments.items.map(i, i)",
        "1 ? true : false",
        "true ? 1 : false",
        "arguments.path.matches('(')",
    ] {
        let line = match compile(deny(when)) {
            Ok(_) => "COMPILES".to_owned(),
            Err(error) => error_chain(&error),
        };
        lines.push(format!("{when}\n  {line}"));
    }
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn expressions_have_a_maximum_length() {
    let padded = |length: usize| deny(&format!("true{}", " ".repeat(length - 4)));
    assert!(compile(padded(MAX_EXPRESSION_BYTES)).is_ok());
    assert!(compile(padded(MAX_EXPRESSION_BYTES + 1)).is_err());
}

#[test]
fn rejects_long_expressions_bad_globs_and_duplicate_names() {
    let long = deny(&format!("tool == \"{}\"", "a".repeat(MAX_EXPRESSION_BYTES)));
    let mut errors = vec![error_chain(&compile(long).unwrap_err())];
    errors.push(error_chain(
        &compile(RuleDefinition { tools: vec!["a[".into()], ..deny("true") }).unwrap_err(),
    ));
    errors.push(error_chain(&Rules::compile(vec![deny("true"), deny("false")]).unwrap_err()));
    insta::assert_snapshot!(errors.join("\n"));
}

/// A test thread has two megabytes of stack, like the threads that serve connections.
#[test]
fn nesting_is_bounded_before_it_overflows_the_stack() {
    let nested = |depth| deny(&format!("{}true{}", "(".repeat(depth), ")".repeat(depth)));
    compile(nested(MAX_EXPRESSION_DEPTH)).unwrap();
    for depth in [MAX_EXPRESSION_DEPTH + 1, 100, 2000] {
        let error = compile(nested(depth)).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("rule `r`: the expression nests {depth} brackets, over the limit of 32")
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    /// Compiling never panics.
    #[test]
    fn compiling_any_text_does_not_panic(when in r#"(arguments|tool|caller|result|has|size|exists|[a-z]|[0-9]|[-+*/%<>=!&|?:.,(){}\[\]"' \\]|é|\n){0,24}"#) {
        let _ = compile(deny(&when));
    }
}
