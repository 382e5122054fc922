//! `find_transaction_in_corpus`: the transactions of the corpus that somebody looks for.

use alloy_primitives::{Address, U256};
use contract::{CallContext, Output, ToolError, parse, to_output};
use fuzz::call::Call;
use fuzz::target::{FunctionId, Target};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::transaction::Transaction;
use super::{Spec, example, invalid, reads, sequence, signature};
use crate::running::Running;
use crate::schema::Schemas;

/// Matches that are told. A page is for reading; `count` says how many there are.
const MAX_MATCHES: usize = 1000;
/// Bytes of their texts, since arguments can be of any length.
const MAX_BYTES: usize = 1 << 20;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Input {
    function_signature: Option<String>,
    sender: Option<Address>,
    min_value: Option<String>,
}

#[derive(Serialize)]
struct Found {
    matches: Vec<Transaction>,
    count: usize,
}

/// What a transaction has to be; without a criterion all are.
struct Wanted {
    functions: Option<Vec<FunctionId>>,
    sender: Option<Address>,
    min_value: Option<U256>,
}

pub(super) fn spec() -> Spec {
    let mut constraints = reads();
    constraints.rules = vec![
        "At least one criterion is given; several must all hold.".into(),
        "`minValue` is a decimal number of wei; letters of `sender` may be of any case.".into(),
        "The first 1,000 matches are told; `count` is the number of all.".into(),
    ];
    Spec {
        title: "Search the corpus",
        description: "Transactions of the corpus that call a function, come from a sender, or carry at least so much \
                      wei. Criteria combine. Use it to see whether and how the fuzzer uses a function already, and \
                      take what it found as a start for inject_transaction.",
        constraints,
        examples: vec![
            example(
                "calls of one function",
                json!({"functionSignature": "deposit(uint256)"}),
                json!({"matches": [], "count": 0}),
            ),
            example(
                "calls of one sender that carry value",
                json!({"sender": "0x0000000000000000000000000000000000010000", "minValue": "1"}),
                json!({"matches": [], "count": 0}),
            ),
        ],
        reword: |violation| {
            (violation.keyword == "anyOf").then(|| {
                invalid(
                    "",
                    "at least one of `functionSignature`, `sender` and `minValue` is required",
                )
            })
        },
        check: |running, arguments| {
            Wanted::of(parse(arguments.clone())?, running.target()).map(drop)
        },
        ..Spec::new(
            "find_transaction_in_corpus",
            Schemas::agreed(include_str!("../schemas/find_transaction_in_corpus.json")),
            run,
        )
    }
}

impl Wanted {
    fn of(input: Input, target: &Target) -> Result<Self, ToolError> {
        let Input { function_signature, sender, min_value } = input;
        let functions =
            function_signature.map(|wanted| signature::all(&wanted, target)).transpose()?;
        let min_value = min_value.map(|text| sequence::wei("minValue", &text)).transpose()?;
        Ok(Self { functions, sender, min_value })
    }

    fn is_met(&self, call: &Call) -> bool {
        self.sender.is_none_or(|sender| call.from == sender)
            && self.min_value.is_none_or(|min| call.value >= min)
            && self.functions.as_ref().is_none_or(|functions| {
                call.function().is_some_and(|function| functions.contains(&function))
            })
    }
}

fn run(running: &Running, arguments: Value, ctx: &CallContext) -> Result<Output, ToolError> {
    let wanted = Wanted::of(parse(arguments)?, running.target())?;
    let corpus = running.corpus.now(&running.shared);
    let (mut matches, mut count, mut bytes) = (Vec::new(), 0, 0);
    for transaction in corpus.from(0) {
        if transaction.index.is_multiple_of(100_000) {
            ctx.check_cancelled()?;
        }
        if !wanted.is_met(transaction.call) {
            continue;
        }
        count += 1;
        if matches.len() < MAX_MATCHES && bytes < MAX_BYTES {
            let told = Transaction::of(&transaction, running.target());
            bytes += told.call.len();
            matches.push(told);
        }
    }
    to_output(&Found { matches, count })
}
