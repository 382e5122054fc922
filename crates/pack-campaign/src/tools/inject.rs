//! `inject_transaction`: makes every worker run a sequence and try variations of it.

use contract::{CallContext, SideEffects, ToolError, ToolOutput, parse_arguments, to_output};
use fuzz::campaign::{CampaignCommand, SequenceInjection};
use serde::Serialize;
use serde_json::{Value, json};

use super::sequence::{CallSequence, SequenceInput, reword_call_pattern};
use super::{CampaignToolSpec, build_example, steering_constraints};
use crate::schema::ToolSchemas;
use crate::text;
use crate::view::CampaignView;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InjectTransactionOutput {
    success: bool,
    message: String,
    injected_count: usize,
}

pub(super) fn build_spec() -> CampaignToolSpec {
    let mut constraints = steering_constraints(SideEffects::Append);
    constraints.idempotent = false;
    constraints.max_input_bytes = 8 << 20;
    constraints.rules = vec![
        "The fuzzer replaces each `?` with a new value every time.".into(),
        "Integers: decimal, hex, 1e18, or with a unit such as `2 ether`. Arrays: [1, 2]. Tuples: {1, 2}. Strings: \
         \"text\", with \\x29 for `)`. Bytes: 0x1234."
            .into(),
        "An overloaded function is chosen by its arguments; to disambiguate, prefix a value with its type, such as \
         `uint8 1`."
            .into(),
        "`value` is sent with payable calls only, and is refused if no call is payable.".into(),
        "The command is written to mcp-commands.jsonl in the corpus folder before it takes effect.".into(),
    ];
    CampaignToolSpec {
        title: "Inject a sequence",
        description: "Makes every worker run this sequence of calls within a few seconds, and then variations of it. \
                      If it reaches new coverage, it enters the corpus and the fuzzer builds on it. Write calls as in \
                      Solidity, such as \"transfer(0x1234567890abcdef1234567890abcdef12345678, 100)\", with ? for \
                      values that the fuzzer chooses. Use read_logs with eventType TransactionExecuted for the results \
                      of the calls. To see what a sequence would do first, use execute_sequence.",
        constraints,
        steers: true,
        examples: vec![
            build_example(
                "two calls",
                json!({
                    "sequence": ["deposit(100)", "move(0x0000000000000000000000000000000000010000, 100)"],
                    "sender": "0x0000000000000000000000000000000000010000",
                }),
                json!({"success": true, "message": "Injected 2 transactions to 4 workers", "injectedCount": 2}),
            ),
            build_example(
                "an amount chosen by the fuzzer",
                json!({"sequence": ["deposit(?)"]}),
                json!({"success": true, "message": "Injected 1 transaction to 4 workers", "injectedCount": 1}),
            ),
        ],
        check: |campaign, arguments| {
            let input: SequenceInput = parse_arguments(arguments.clone())?;
            input.parse_sequence(campaign.target()).map(drop)
        },
        reword: reword_call_pattern,
        ..CampaignToolSpec::new(
            "inject_transaction",
            ToolSchemas::from_contract_json(include_str!("../schemas/inject_transaction.json")),
            inject_transaction,
        )
    }
}

fn inject_transaction(
    campaign: &CampaignView,
    arguments: Value,
    ctx: &CallContext,
) -> Result<ToolOutput, ToolError> {
    let CallSequence { steps, sender, value } =
        parse_arguments::<SequenceInput>(arguments)?.parse_sequence(campaign.target())?;
    ctx.check_cancelled()?;
    let injected_count = steps.len();
    campaign.give_command(CampaignCommand::Inject(SequenceInjection { steps, sender, value }))?;
    let workers = campaign.shared.worker_count();
    let mut message = format!(
        "Injected {} to {}",
        format_count(injected_count, "transaction"),
        format_count(workers, "worker")
    );
    if campaign.shared.is_paused() {
        message.push_str("; the campaign is paused and runs them after resume_campaign");
    }
    if !value.is_zero() && !campaign.shared.settings.senders.contains(&sender) {
        let sender = text::format_address(sender);
        message.push_str(&format!(
            "; {sender} is not one of the campaign's senders, so it may have no wei to send"
        ));
    }
    to_output(&InjectTransactionOutput { success: true, message, injected_count })
}

fn format_count(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
