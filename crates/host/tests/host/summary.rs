//! Grounded summaries: valid quotes, their locations, and the extractive summarizer.

use contract::{Contract, ToolDefinition};
use host::summary::{GroundedSummary, SummaryError, check_summary};
use host::{ExtractiveSummarizer, Summarizer, ValidatedOutput};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::typed::any_json;

/// Returns any value as validated output, under a schema that accepts everything.
pub(crate) fn validated(value: Value) -> ValidatedOutput {
    let definition = ToolDefinition {
        name: "any".into(),
        input_schema: Some(json!({"type": "object"})),
        output_schema: Some(json!({})),
        ..ToolDefinition::default()
    };
    ValidatedOutput::new(&Contract::new(definition, &[]).unwrap(), value).unwrap()
}

fn output() -> ValidatedOutput {
    validated(json!({
        "title": "Release plan",
        "body": "The release is on Friday. It is legal, not illegal.\nTwo  blanks stand here.",
        "notes": [{"text": "It is final."}, {"text": "日本語の文章です"}],
        "total": 1200,
        "ratio": 0.25,
        "done": true,
        "code": "ok",
        "a/b": {"~": "odd keys work"},
    }))
}

fn check_evidence(evidence: &str) -> Result<GroundedSummary, SummaryError> {
    let bullet = json!({"claim": "A claim.", "evidence": evidence});
    check_summary(&json!({"type": "summary", "bullets": [bullet]}).to_string(), &output())
}

#[test]
fn locates_verbatim_quotes() {
    let places: Vec<String> = [
        "The release is on Friday.",
        "release is on Fri",
        "legal",
        "It is final.",
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
    .map(|evidence| match check_evidence(evidence) {
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
fn rejects_quotes_that_are_not_verbatim() {
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
    .map(|(kind, evidence)| format!("{kind:<18} {}", check_evidence(evidence).unwrap_err()))
    .collect();
    insta::assert_snapshot!(reasons.join("\n"));
}

#[test]
fn rejects_invalid_summaries() {
    let bullet = json!({"claim": "c", "evidence": "It is final."});
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
        .map(|text| match check_summary(text, &output()).unwrap_err() {
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
async fn extractive_summary_quotes_relevant_sentences() {
    let output = validated(json!({
        "path": "docs/release.md",
        "content": "# Release 2.0\n\nVersion 2.0.1 goes out on Friday. The team was told. See src/lib.rs for it.\nUnrelated words stand here.",
        "total": 3,
        "items": [{"name": "first", "status": "open"}],
    }));
    let text = ExtractiveSummarizer
        .summarize("when is the release and its status?", &output)
        .await
        .unwrap();
    let summary = check_summary(&text, &output).unwrap();
    assert!(summary.rejected.is_empty());
    let lines: Vec<String> = summary
        .bullets
        .iter()
        .map(|bullet| format!("{} | {} | {}", bullet.claim, bullet.evidence, bullet.place.pointer))
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
    let nothing =
        ExtractiveSummarizer.summarize("x", &validated(json!({"a": null, "b": [""]}))).await;
    assert_eq!(nothing.unwrap_err().to_string(), "the answer contains nothing to quote");
}

proptest! {
    #[test]
    fn extractive_summary_of_any_value_is_grounded(value in any_json(), query in ".{0,30}") {
        let output = validated(value);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        if let Ok(text) = runtime.block_on(ExtractiveSummarizer.summarize(&query, &output)) {
            let summary = check_summary(&text, &output).unwrap();
            prop_assert!(summary.rejected.is_empty(), "{:?}", summary.rejected);
        }
    }

    #[test]
    fn location_contains_the_evidence_verbatim(value in any_json(), evidence in "[a-zé中 ]{1,6}") {
        let output = validated(value);
        let bullet = json!({"claim": "c", "evidence": evidence});
        let text = json!({"type": "summary", "bullets": [bullet]}).to_string();
        if let Ok(summary) = check_summary(&text, &output) {
            let place = &summary.bullets[0].place;
            let found = output.value().pointer(&place.pointer).unwrap();
            let found = found.as_str().map_or_else(|| found.to_string(), str::to_owned);
            prop_assert_eq!(&found[place.start..place.end], evidence);
        }
    }
}
