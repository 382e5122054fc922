//! `find_transaction_in_corpus`: searches the corpus for transactions.

use alloy_primitives::{Address, U256};
use contract::{CallContext, ToolError, ToolOutput, parse_arguments, to_output};
use fuzz::call::SequenceCall;
use fuzz::target::{FunctionId, FuzzTarget};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::transaction::TransactionOutput;
use super::{
    CampaignToolSpec, build_example, invalid_argument, read_constraints, sequence, signature,
};
use crate::schema::ToolSchemas;
use crate::view::CampaignView;

/// Maximum number of returned matches. `count` is the number of all matches.
const MAX_MATCHES: usize = 1000;
/// Maximum bytes of all returned calls, because arguments can have any length.
const MAX_MATCH_BYTES: usize = 1 << 20;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FindTransactionInput {
    function_signature: Option<String>,
    sender: Option<Address>,
    min_value: Option<String>,
}

#[derive(Serialize)]
struct FindTransactionOutput {
    matches: Vec<TransactionOutput>,
    count: usize,
}

/// Criteria for transactions; an absent criterion matches everything.
struct TransactionFilter {
    functions: Option<Vec<FunctionId>>,
    sender: Option<Address>,
    min_value: Option<U256>,
}

pub(super) fn build_spec() -> CampaignToolSpec {
    let mut constraints = read_constraints();
    constraints.rules = vec![
        "At least one criterion is required; with several, all must match.".into(),
        "`minValue` is a decimal number of wei; `sender` is case-insensitive.".into(),
        "The first 1,000 matches are returned; `count` is the number of all matches.".into(),
    ];
    CampaignToolSpec {
        title: "Search the corpus",
        description: "Finds transactions of the corpus by function, by sender, or by a minimum value in wei. Criteria \
                      combine. Use it to see whether and how the fuzzer already calls a function, and use the results \
                      as a starting point for inject_transaction.",
        constraints,
        examples: vec![
            build_example(
                "calls of one function",
                json!({"functionSignature": "deposit(uint256)"}),
                json!({"matches": [], "count": 0}),
            ),
            build_example(
                "calls of one sender that send value",
                json!({"sender": "0x0000000000000000000000000000000000010000", "minValue": "1"}),
                json!({"matches": [], "count": 0}),
            ),
        ],
        reword: |violation| {
            (violation.keyword == "anyOf").then(|| {
                invalid_argument(
                    "",
                    "at least one of `functionSignature`, `sender` and `minValue` is required",
                )
            })
        },
        check: |campaign, arguments| {
            TransactionFilter::from_input(parse_arguments(arguments.clone())?, campaign.target())
                .map(drop)
        },
        ..CampaignToolSpec::new(
            "find_transaction_in_corpus",
            ToolSchemas::from_contract_json(include_str!(
                "../schemas/find_transaction_in_corpus.json"
            )),
            find_transactions,
        )
    }
}

impl TransactionFilter {
    fn from_input(input: FindTransactionInput, target: &FuzzTarget) -> Result<Self, ToolError> {
        let FindTransactionInput { function_signature, sender, min_value } = input;
        let functions = function_signature
            .map(|wanted| signature::find_functions(&wanted, target))
            .transpose()?;
        let min_value = min_value.map(|text| sequence::parse_wei("minValue", &text)).transpose()?;
        Ok(Self { functions, sender, min_value })
    }

    fn matches_call(&self, call: &SequenceCall) -> bool {
        self.sender.is_none_or(|sender| call.from == sender)
            && self.min_value.is_none_or(|min| call.value >= min)
            && self.functions.as_ref().is_none_or(|functions| {
                call.function().is_some_and(|function| functions.contains(&function))
            })
    }
}

fn find_transactions(
    campaign: &CampaignView,
    arguments: Value,
    ctx: &CallContext,
) -> Result<ToolOutput, ToolError> {
    let wanted = TransactionFilter::from_input(parse_arguments(arguments)?, campaign.target())?;
    let corpus = campaign.corpus.current_snapshot(&campaign.shared);
    let (mut matches, mut count, mut bytes) = (Vec::new(), 0, 0);
    for transaction in corpus.iter_from(0) {
        if transaction.index.is_multiple_of(100_000) {
            ctx.check_cancelled()?;
        }
        if !wanted.matches_call(transaction.call) {
            continue;
        }
        count += 1;
        if matches.len() < MAX_MATCHES && bytes < MAX_MATCH_BYTES {
            let found = TransactionOutput::from_corpus(&transaction, campaign.target());
            bytes += found.call.len();
            matches.push(found);
        }
    }
    to_output(&FindTransactionOutput { matches, count })
}
