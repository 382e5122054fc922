use rusqlite::Connection;
use store::{
    KeptAnswer, MAX_ANSWER_BYTES, MAX_ANSWERS, MAX_ANSWERS_BYTES, NewAnswer, SqliteStore, Store,
    StoreError,
};

use crate::support::{Bench, MINUTE};

fn answer(tool: &str, raw: &str) -> NewAnswer {
    NewAnswer {
        principal: "token:ci".into(),
        tool: tool.into(),
        contract_digest: "vc1:c".into(),
        arguments_digest: "sha256:a".into(),
        violation: "required at /text".into(),
        raw: raw.into(),
    }
}

async fn keep(store: &SqliteStore, tool: &str, raw: &str) -> String {
    store.keep_answer(answer(tool, raw)).await.unwrap()
}

fn tools(answers: &[KeptAnswer]) -> Vec<&str> {
    answers.iter().map(|answer| answer.tool.as_str()).collect()
}

#[tokio::test]
async fn an_answer_is_kept_as_it_came() {
    let bench = Bench::new();
    let raw = "{\"text\": \"\u{1b}[2J\u{202e}\", \"n\": 1.0}";
    let id = keep(&bench.store(), "echo", raw).await;
    // By another process, and by the beginning of the id in any case.
    let found = bench.store().kept_answer(&id[..6].to_uppercase()).await.unwrap();
    assert_eq!(found.raw, raw);
    assert_eq!(found.answer.id, id);
    let found = KeptAnswer { id: "[id]".into(), ..found.answer };
    insta::assert_json_snapshot!(found);
    let error = bench.store().kept_answer("nobody").await.unwrap_err();
    assert!(matches!(&error, StoreError::UnknownAnswer { id } if id == "nobody"), "{error}");
    assert!(matches!(
        bench.store().kept_answer("").await.unwrap_err(),
        StoreError::UnknownAnswer { .. }
    ));
}

#[tokio::test]
async fn a_long_answer_is_cut_between_characters() {
    let bench = Bench::new();
    let store = bench.store();
    // Three bytes each, so that the bound lies within a character.
    let raw = "€".repeat(MAX_ANSWER_BYTES);
    let id = keep(&store, "echo", &raw).await;
    let found = store.kept_answer(&id).await.unwrap();
    assert_eq!(found.raw.len(), MAX_ANSWER_BYTES / 3 * 3);
    assert_eq!(found.answer.bytes, raw.len() as u64);
    assert!(found.answer.is_cut);
}

/// As if that many answers of this size had been kept, one a minute, the first of them now. Each by itself would wait for
/// the disk.
fn fill(bench: &Bench, answers: usize, bytes: usize) {
    let mut db = Connection::open(bench.dir().database()).unwrap();
    let tx = db.transaction().unwrap();
    for n in 0..answers {
        tx.execute(
            "INSERT INTO broken_answer VALUES ($1, $2, '', $1, '', '', '', $3, $3, '')",
            (format!("{n:04}"), bench.now().as_millisecond(), bytes as i64),
        )
        .unwrap();
        bench.pass(MINUTE);
    }
    tx.commit().unwrap();
}

#[tokio::test]
async fn the_newest_are_listed_first_and_the_oldest_forgotten_first() {
    let bench = Bench::new();
    let store = bench.store();
    fill(&bench, MAX_ANSWERS + 1, 10);
    keep(&store, "new", "{}").await;
    assert_eq!(tools(&store.kept_answers(2).await.unwrap()), ["new", "1000"]);
    let all = store.kept_answers(usize::MAX).await.unwrap();
    assert_eq!((all.len(), all[MAX_ANSWERS - 1].tool.as_str()), (MAX_ANSWERS, "0002"));
}

#[tokio::test]
async fn together_they_are_bounded() {
    let bench = Bench::new();
    let store = bench.store();
    fill(&bench, 70, MAX_ANSWER_BYTES);
    keep(&store, "new", "{}").await;
    let all = store.kept_answers(usize::MAX).await.unwrap();
    let fit = MAX_ANSWERS_BYTES / MAX_ANSWER_BYTES;
    assert_eq!((all.len(), all[0].tool.as_str()), (fit, "new"));
}

#[tokio::test]
async fn after_a_month_they_are_gone() {
    let bench = Bench::new();
    let store = bench.store();
    let old = keep(&store, "a", "{}").await;
    bench.pass(31 * 24 * 60 * MINUTE);
    keep(&store, "b", "{}").await;
    assert!(store.kept_answer(&old).await.is_err());
}
