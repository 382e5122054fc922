use rusqlite::Connection;
use store::{
    MAX_WITHHELD_ANSWER_BYTES, MAX_WITHHELD_ANSWERS, MAX_WITHHELD_ANSWERS_TOTAL_BYTES,
    NewWithheldAnswer, SqliteStore, Store, StoreError, WithheldAnswer,
};

use crate::support::{MINUTE, StoreFixture};

fn new_answer(tool: &str, raw: &str) -> NewWithheldAnswer {
    NewWithheldAnswer {
        principal: "token:ci".into(),
        tool: tool.into(),
        contract_digest: "vc1:c".into(),
        arguments_digest: "sha256:a".into(),
        violation: "required at /text".into(),
        raw: raw.into(),
    }
}

async fn keep(store: &SqliteStore, tool: &str, raw: &str) -> String {
    store.save_withheld_answer(new_answer(tool, raw)).await.unwrap()
}

fn tools(answers: &[WithheldAnswer]) -> Vec<&str> {
    answers.iter().map(|answer| answer.tool.as_str()).collect()
}

#[tokio::test]
async fn stores_withheld_answer_unchanged() {
    let fixture = StoreFixture::new();
    let raw = "{\"text\": \"\u{1b}[2J\u{202e}\", \"n\": 1.0}";
    let id = keep(&fixture.store(), "echo", raw).await;
    // Another connection finds it by a prefix of the id, in upper or lower case.
    let found = fixture.store().find_withheld_answer(&id[..6].to_uppercase()).await.unwrap();
    assert_eq!(found.raw, raw);
    assert_eq!(found.answer.id, id);
    let found = WithheldAnswer { id: "[id]".into(), ..found.answer };
    insta::assert_json_snapshot!(found);
    let error = fixture.store().find_withheld_answer("unknown").await.unwrap_err();
    assert!(
        matches!(&error, StoreError::UnknownWithheldAnswer { id } if id == "unknown"),
        "{error}"
    );
    assert!(matches!(
        fixture.store().find_withheld_answer("").await.unwrap_err(),
        StoreError::UnknownWithheldAnswer { .. }
    ));
}

#[tokio::test]
async fn truncates_long_answer_at_char_boundary() {
    let fixture = StoreFixture::new();
    let store = fixture.store();
    // Each character has three bytes, so the limit is inside a character.
    let raw = "€".repeat(MAX_WITHHELD_ANSWER_BYTES);
    let id = keep(&store, "echo", &raw).await;
    let found = store.find_withheld_answer(&id).await.unwrap();
    assert_eq!(found.raw.len(), MAX_WITHHELD_ANSWER_BYTES / 3 * 3);
    assert_eq!(found.answer.bytes, raw.len() as u64);
    assert!(found.answer.is_cut);
}

/// Inserts answers of this size, one per minute, beginning now. One transaction avoids a disk sync for each.
fn insert_answers(fixture: &StoreFixture, answers: usize, bytes: usize) {
    let mut db = Connection::open(fixture.dir().database_path()).unwrap();
    let tx = db.transaction().unwrap();
    for n in 0..answers {
        tx.execute(
            "INSERT INTO broken_answer VALUES ($1, $2, '', $1, '', '', '', $3, $3, '')",
            (format!("{n:04}"), fixture.now().as_millisecond(), bytes as i64),
        )
        .unwrap();
        fixture.advance_clock(MINUTE);
    }
    tx.commit().unwrap();
}

#[tokio::test]
async fn lists_newest_first_and_prunes_oldest() {
    let fixture = StoreFixture::new();
    let store = fixture.store();
    insert_answers(&fixture, MAX_WITHHELD_ANSWERS + 1, 10);
    keep(&store, "new", "{}").await;
    assert_eq!(tools(&store.list_withheld_answers(2).await.unwrap()), ["new", "1000"]);
    let all = store.list_withheld_answers(usize::MAX).await.unwrap();
    assert_eq!(
        (all.len(), all[MAX_WITHHELD_ANSWERS - 1].tool.as_str()),
        (MAX_WITHHELD_ANSWERS, "0002")
    );
}

#[tokio::test]
async fn prunes_oldest_above_total_size_limit() {
    let fixture = StoreFixture::new();
    let store = fixture.store();
    insert_answers(&fixture, 70, MAX_WITHHELD_ANSWER_BYTES);
    keep(&store, "new", "{}").await;
    let all = store.list_withheld_answers(usize::MAX).await.unwrap();
    let fit = MAX_WITHHELD_ANSWERS_TOTAL_BYTES / MAX_WITHHELD_ANSWER_BYTES;
    assert_eq!((all.len(), all[0].tool.as_str()), (fit, "new"));
}

#[tokio::test]
async fn prunes_answers_older_than_30_days() {
    let fixture = StoreFixture::new();
    let store = fixture.store();
    let old = keep(&store, "a", "{}").await;
    fixture.advance_clock(31 * 24 * 60 * MINUTE);
    keep(&store, "b", "{}").await;
    assert!(store.find_withheld_answer(&old).await.is_err());
}
