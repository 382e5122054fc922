//! `inject_transaction`: gives every worker a sequence to run and to try variations of.

use contract::{CallContext, Output, SideEffects, ToolError, parse, to_output};
use fuzz::campaign::{Command, Injection};
use serde::Serialize;
use serde_json::{Value, json};

use super::sequence::{Input, Sequence, reword};
use super::{Spec, example, steering};
use crate::running::Running;
use crate::schema::Schemas;
use crate::text;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Injected {
    success: bool,
    message: String,
    injected_count: usize,
}

pub(super) fn spec() -> Spec {
    let mut constraints = steering(SideEffects::Append);
    constraints.idempotent = false;
    constraints.max_input_bytes = 8 << 20;
    constraints.rules = vec![
        "`?` in place of a value leaves that value to the fuzzer, anew each time.".into(),
        "Integers: decimal, hex, 1e18, or with a unit such as `2 ether`. Arrays: [1, 2]. Tuples: {1, 2}. Strings: \
         \"text\", with \\x29 for `)`. Bytes: 0x1234."
            .into(),
        "An overloaded function is chosen by its arguments; put a type in front of a value to decide, such as \
         `uint8 1`."
            .into(),
        "`value` goes with payable calls only, and is refused if there is none.".into(),
        "The command is in mcp-commands.jsonl of the corpus folder before it takes effect.".into(),
    ];
    Spec {
        title: "Inject a sequence",
        description: "Has every worker run this sequence of calls within a few seconds, and then variations of it. If \
                      it shows something new it enters the corpus, and the fuzzer builds on it. Write calls as in \
                      Solidity, such as \"transfer(0x1234567890abcdef1234567890abcdef12345678, 100)\", with ? where \
                      the fuzzer is to choose. read_logs with eventType TransactionExecuted shows how the calls went. \
                      To see what a sequence would do first, use execute_sequence.",
        constraints,
        steers: true,
        examples: vec![
            example(
                "two calls",
                json!({
                    "sequence": ["deposit(100)", "move(0x0000000000000000000000000000000000010000, 100)"],
                    "sender": "0x0000000000000000000000000000000000010000",
                }),
                json!({"success": true, "message": "Injected 2 transactions to 4 workers", "injectedCount": 2}),
            ),
            example(
                "an amount that the fuzzer chooses",
                json!({"sequence": ["deposit(?)"]}),
                json!({"success": true, "message": "Injected 1 transaction to 4 workers", "injectedCount": 1}),
            ),
        ],
        check: |running, arguments| {
            let input: Input = parse(arguments.clone())?;
            input.read(running.target()).map(drop)
        },
        reword,
        ..Spec::new(
            "inject_transaction",
            Schemas::agreed(include_str!("../schemas/inject_transaction.json")),
            run,
        )
    }
}

fn run(running: &Running, arguments: Value, ctx: &CallContext) -> Result<Output, ToolError> {
    let Sequence { steps, sender, value } = parse::<Input>(arguments)?.read(running.target())?;
    ctx.check_cancelled()?;
    let injected_count = steps.len();
    running.give(Command::Inject(Injection { steps, sender, value }))?;
    let workers = running.shared.workers();
    let mut message = format!(
        "Injected {} to {}",
        counted(injected_count, "transaction"),
        counted(workers, "worker")
    );
    if running.shared.is_paused() {
        message.push_str("; the campaign is paused, and runs them after resume_campaign");
    }
    if !value.is_zero() && !running.shared.settings.senders.contains(&sender) {
        let sender = text::address(sender);
        message.push_str(&format!(
            "; {sender} is none of the campaign's senders, so it may have no wei to send"
        ));
    }
    to_output(&Injected { success: true, message, injected_count })
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
