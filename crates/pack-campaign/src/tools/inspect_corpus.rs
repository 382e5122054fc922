//! `get_corpus_size` and `inspect_corpus_transactions`: the corpus, by pages.

use contract::{CallContext, Output, ToolError, parse, to_output};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::transaction::Transaction;
use super::whole::Whole;
use super::{Spec, example, reads};
use crate::running::Running;
use crate::schema::Schemas;

#[derive(Deserialize)]
struct Input {
    offset: Whole,
    limit: usize,
}

#[derive(Serialize)]
struct Page {
    transactions: Vec<Transaction>,
    total: usize,
}

#[derive(Serialize)]
struct Size {
    size: usize,
}

const COUNTED: &str = "Counts the transactions of all sequences of the corpus, not the sequences.";

pub(super) fn size_spec() -> Spec {
    let mut constraints = reads();
    constraints.rules = vec![COUNTED.into()];
    Spec {
        title: "Count the corpus",
        description: "How many transactions the corpus has: all calls of all sequences that showed something new. It \
                      only ever grows; when it stops growing, the campaign needs help.",
        constraints,
        examples: vec![example("how much was found so far", json!({}), json!({"size": 42}))],
        ..Spec::new(
            "get_corpus_size",
            Schemas::agreed(include_str!("../schemas/get_corpus_size.json")),
            |running, _, _| to_output(&Size { size: running.corpus.now(&running.shared).len() }),
        )
    }
}

pub(super) fn spec() -> Spec {
    let mut constraints = reads();
    constraints.rules = vec![
        COUNTED.into(),
        "An index never changes: sequences are listed in the order in which they were found."
            .into(),
        "An offset at or past the end answers an empty page.".into(),
    ];
    Spec {
        title: "Look through the corpus",
        description: "Transactions of the corpus in the order of their index, a page at a time. A `call` can be given \
                      to inject_transaction as it is; `*fallback*(…)` is bytes that no function takes, `*wait*` is \
                      time that goes by.",
        constraints,
        examples: vec![example(
            "the first page",
            json!({"offset": 0, "limit": 20}),
            json!({
                "transactions": [{
                    "index": 0,
                    "call": "deposit(100)",
                    "sender": "0x0000000000000000000000000000000000010000",
                    "value": "0",
                    "gasUsed": 44210,
                }],
                "total": 1,
            }),
        )],
        ..Spec::new(
            "inspect_corpus_transactions",
            Schemas::agreed(include_str!("../schemas/inspect_corpus_transactions.json")),
            run,
        )
    }
}

fn run(running: &Running, arguments: Value, _: &CallContext) -> Result<Output, ToolError> {
    let Input { offset, limit } = parse(arguments)?;
    let corpus = running.corpus.now(&running.shared);
    let page = corpus.from(offset.as_index()).take(limit);
    to_output(&Page {
        transactions: page.map(|it| Transaction::of(&it, running.target())).collect(),
        total: corpus.len(),
    })
}
