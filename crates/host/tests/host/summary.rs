//! Grounded summaries: what counts as a quote, where it stands, and that the extractive one only quotes.

use contract::{Contract, Definition};
use host::summary::{Summary, SummaryError, check};
use host::{Extractive, Summarizer, Validated};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::typed::any_json;

/// Any value at all, as if its schema had allowed it.
pub(crate) fn validated(value: Value) -> Validated {
    let definition = Definition {
        name: "any".into(),
        input_schema: Some(json!({"type": "object"})),
        output_schema: Some(json!({})),
        ..Definition::default()
    };
    Validated::new(&Contract::new(definition, &[]).unwrap(), value).unwrap()
}

fn output() -> Validated {
    validated(json!({
        "title": "Release plan",
        "body": "The release is on Friday. It is legal, not illegal.\nTwo  blanks stand here.",
        "notes": [{"text": "Nobody was told."}, {"text": "日本語の文章です"}],
        "total": 1200,
        "ratio": 0.25,
        "done": true,
        "code": "ok",
        "a/b": {"~": "odd keys work"},
    }))
}

fn one(evidence: &str) -> Result<Summary, SummaryError> {
    let bullet = json!({"claim": "A claim.", "evidence": evidence});
    check(&json!({"type": "summary", "bullets": [bullet]}).to_string(), &output())
}

#[test]
fn a_verbatim_piece_is_located() {
    let places: Vec<String> = [
        "The release is on Friday.",
        "release is on Fri",
        "legal",
        "Nobody was told.",
        "本語の文",
        "1200",
        "0.25",
        "true",
        "ok",
        "Two  blanks",
        "Friday. It is legal",
        "odd keys",
        "here",
    ]
    .iter()
    .map(|evidence| match one(evidence) {
        Ok(summary) => {
            let place = &summary.bullets[0].place;
            format!("{evidence:<28} {} {}..{}", place.pointer, place.start, place.end)
        }
        Err(error) => format!("{evidence:<28} {error}"),
    })
    .collect();
    insta::assert_snapshot!(places.join("\n"));
}

#[test]
fn what_is_not_verbatim_is_rejected_with_its_reason() {
    let long = "x".repeat(3_000);
    let reasons: Vec<String> = [
        ("altered", "The release is on Monday."),
        ("re-ordered", "It is legal. The release is on Friday."),
        ("stitched", "Release plan The release is on Friday."),
        ("invented", "Budget was cut."),
        ("other case", "the release is on friday."),
        ("other blanks", "Two blanks stand here."),
        ("elided", "The release … Friday."),
        ("across a line", "illegal. Two"),
        ("cut word", "elease is on Frida"),
        ("part of a number", "120"),
        ("a key", "ratio"),
        ("too short", "is"),
        ("blank", "   "),
        ("null", "null"),
        ("too long", &long),
    ]
    .iter()
    .map(|(kind, evidence)| format!("{kind:<18} {}", one(evidence).unwrap_err()))
    .collect();
    insta::assert_snapshot!(reasons.join("\n"));
}

#[test]
fn what_is_no_summary_is_refused_as_a_whole() {
    let bullet = json!({"claim": "c", "evidence": "Nobody was told."});
    let texts = [
        "The release is on Friday.".to_owned(),
        json!({"type": "call", "server": "s", "tool": "t", "arguments": {}}).to_string(),
        json!({"bullets": [bullet]}).to_string(),
        json!({"type": "summary"}).to_string(),
        json!({"type": "summary", "bullets": []}).to_string(),
        json!({"type": "summary", "bullets": vec![&bullet; 21]}).to_string(),
        json!({"type": "summary", "bullets": [bullet], "then": {"tool": "t"}}).to_string(),
        format!("```json\n{}\n```", json!({"type": "summary", "bullets": [bullet]})),
        json!({"type": "summary", "bullets": [
            {"claim": "c"}, {"claim": "c", "evidence": 1}, "c", {"claim": "", "evidence": "Friday"},
            {"claim": "a\u{200b}b", "evidence": "Friday"}, {"claim": "a\nb", "evidence": "Friday"},
            {"claim": "c", "evidence": "Friday", "call": {}},
        ]})
        .to_string(),
    ];
    let reasons: Vec<String> = texts
        .iter()
        .map(|text| match check(text, &output()).unwrap_err() {
            SummaryError::NothingGrounded(rejected) => rejected
                .iter()
                .map(|rejected| format!("  {} {}", rejected.number, rejected.reason))
                .collect::<Vec<_>>()
                .join("\n"),
            error => error.to_string(),
        })
        .collect();
    insta::assert_snapshot!(reasons.join("\n"));
}

#[tokio::test]
async fn without_a_model_the_most_telling_pieces_are_quoted() {
    let output = validated(json!({
        "path": "docs/release.md",
        "content": "# Release 2.0\n\nVersion 2.0.1 goes out on Friday. The team was told. See src/lib.rs for it.\nUnrelated words stand here.",
        "total": 3,
        "items": [{"name": "first", "status": "open"}],
    }));
    let text = Extractive.summarize("when is the release and its status?", &output).await.unwrap();
    let summary = check(&text, &output).unwrap();
    assert!(summary.rejected.is_empty());
    let lines: Vec<String> = summary
        .bullets
        .iter()
        .map(|bullet| format!("{} | {} | {}", bullet.claim, bullet.evidence, bullet.place.pointer))
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
    let nothing = Extractive.summarize("x", &validated(json!({"a": null, "b": [""]}))).await;
    assert_eq!(nothing.unwrap_err().to_string(), "the answer holds nothing that could be quoted");
}

proptest! {
    #[test]
    fn an_extractive_summary_of_anything_is_grounded(value in any_json(), query in ".{0,30}") {
        let output = validated(value);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        if let Ok(text) = runtime.block_on(Extractive.summarize(&query, &output)) {
            let summary = check(&text, &output).unwrap();
            prop_assert!(summary.rejected.is_empty(), "{:?}", summary.rejected);
        }
    }

    #[test]
    fn a_place_holds_the_evidence_letter_for_letter(value in any_json(), evidence in "[a-zé中 ]{1,6}") {
        let output = validated(value);
        let bullet = json!({"claim": "c", "evidence": evidence});
        let text = json!({"type": "summary", "bullets": [bullet]}).to_string();
        if let Ok(summary) = check(&text, &output) {
            let place = &summary.bullets[0].place;
            let found = output.value().pointer(&place.pointer).unwrap();
            let found = found.as_str().map_or_else(|| found.to_string(), str::to_owned);
            prop_assert_eq!(&found[place.start..place.end], evidence);
        }
    }
}
