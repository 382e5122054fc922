//! `get_corpus_size` and `inspect_corpus_transactions`: the corpus, page by page.

use contract::{CallContext, ToolError, ToolOutput, parse_arguments, to_output};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::transaction::TransactionOutput;
use super::whole_number::WholeNumber;
use super::{CampaignToolSpec, build_example, read_constraints};
use crate::schema::ToolSchemas;
use crate::view::CampaignView;

#[derive(Deserialize)]
struct InspectCorpusInput {
    offset: WholeNumber,
    limit: usize,
}

#[derive(Serialize)]
struct CorpusPageOutput {
    transactions: Vec<TransactionOutput>,
    total: usize,
}

#[derive(Serialize)]
struct CorpusSizeOutput {
    size: usize,
}

const COUNTING_RULE: &str =
    "Counts the transactions of all sequences in the corpus, not the sequences.";

pub(super) fn build_size_spec() -> CampaignToolSpec {
    let mut constraints = read_constraints();
    constraints.rules = vec![COUNTING_RULE.into()];
    CampaignToolSpec {
        title: "Count the corpus",
        description: "Returns the number of transactions in the corpus: all calls of all sequences that reached new \
                      coverage. The corpus never shrinks; if it stops growing, steer the campaign.",
        constraints,
        examples: vec![build_example("current corpus size", json!({}), json!({"size": 42}))],
        ..CampaignToolSpec::new(
            "get_corpus_size",
            ToolSchemas::from_contract_json(include_str!("../schemas/get_corpus_size.json")),
            |campaign, _, _| {
                to_output(&CorpusSizeOutput {
                    size: campaign.corpus.current_snapshot(&campaign.shared).len(),
                })
            },
        )
    }
}

pub(super) fn build_spec() -> CampaignToolSpec {
    let mut constraints = read_constraints();
    constraints.rules = vec![
        COUNTING_RULE.into(),
        "An index never changes: sequences are listed in discovery order.".into(),
        "An offset at or past the end returns an empty page.".into(),
    ];
    CampaignToolSpec {
        title: "Inspect the corpus",
        description: "Returns one page of the corpus transactions, ordered by index. A `call` can be passed to \
                      inject_transaction verbatim, except `*fallback*(…)`, calldata that matches no function, and \
                      `*wait*`, a delay without a call.",
        constraints,
        examples: vec![build_example(
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
        ..CampaignToolSpec::new(
            "inspect_corpus_transactions",
            ToolSchemas::from_contract_json(include_str!(
                "../schemas/inspect_corpus_transactions.json"
            )),
            inspect_corpus,
        )
    }
}

fn inspect_corpus(
    campaign: &CampaignView,
    arguments: Value,
    _: &CallContext,
) -> Result<ToolOutput, ToolError> {
    let InspectCorpusInput { offset, limit } = parse_arguments(arguments)?;
    let corpus = campaign.corpus.current_snapshot(&campaign.shared);
    let page = corpus.iter_from(offset.as_index()).take(limit);
    to_output(&CorpusPageOutput {
        transactions: page
            .map(|it| TransactionOutput::from_corpus(&it, campaign.target()))
            .collect(),
        total: corpus.len(),
    })
}
