//! Contracts as a Markdown document.

use std::fmt::Write;

use crate::{Contract, ErrorCode, SideEffects};

/// Codes that every tool can return.
const COMMON_CODES: [ErrorCode; 6] = [
    ErrorCode::InvalidInput,
    ErrorCode::RateLimited,
    ErrorCode::ExecutionTimeout,
    ErrorCode::TooLarge,
    ErrorCode::StorageUnavailable,
    ErrorCode::InternalError,
];

/// Returns one document with a section per contract, a summary of the constraints, and the error codes.
pub fn to_markdown<'a>(contracts: impl IntoIterator<Item = &'a Contract>) -> String {
    let contracts: Vec<_> = contracts.into_iter().collect();
    let mut out = String::from("# Tool contracts\n\n");
    for contract in &contracts {
        write_section(contract, &mut out).expect("writing to a string never fails");
    }
    write_summary(&contracts, &mut out).expect("writing to a string never fails");
    out
}

fn write_section(contract: &Contract, out: &mut String) -> std::fmt::Result {
    let limits = &contract.constraints;
    writeln!(out, "## {}\n\n{}\n", contract.name, contract.description)?;
    writeln!(out, "Digest: `{}`\n", contract.digest())?;
    writeln!(out, "### Input Schema\n{}\n", json_block(contract.input.as_value()))?;
    if let Some(output) = &contract.output {
        writeln!(out, "### Output Schema\n{}\n", json_block(output.as_value()))?;
    }
    writeln!(out, "### Constraints\n- Access: {}", limits.access)?;
    writeln!(out, "- Side effects: {}", side_effects_label(limits.side_effects))?;
    writeln!(out, "- Approval by a person: {}", yes_no(limits.approval))?;
    writeln!(out, "- Rate limit: {} calls/minute for each caller", limits.rate_per_minute)?;
    writeln!(out, "- Time limit: {} ms", limits.timeout.as_millis())?;
    writeln!(out, "- Arguments: at most {} bytes", limits.max_input_bytes)?;
    writeln!(out, "- Result: at most {} bytes", limits.max_output_bytes)?;
    for rule in &limits.rules {
        writeln!(out, "- {rule}")?;
    }
    writeln!(out, "\n### Errors\n")?;
    for code in COMMON_CODES
        .iter()
        .chain(contract.errors.iter().filter(|code| !COMMON_CODES.contains(code)))
    {
        writeln!(out, "- `{code}` ({}): {}", code.http_status(), code.meaning())?;
    }
    for example in &contract.examples {
        let title = example.title.as_deref().map(|title| format!(": {title}")).unwrap_or_default();
        writeln!(out, "\n### Example{title}\n\nInput\n{}", json_block(&example.input))?;
        if let Some(output) = &example.output {
            writeln!(out, "\nOutput\n{}", json_block(output))?;
        }
    }
    writeln!(out, "\n---\n")
}

fn write_summary(contracts: &[&Contract], out: &mut String) -> std::fmt::Result {
    writeln!(out, "## Constraint summary\n")?;
    writeln!(out, "| Tool | Access | Side effects | Approval required | Calls/min | Time limit |")?;
    writeln!(out, "|---|---|---|---|---|---|")?;
    for contract in contracts {
        let limits = &contract.constraints;
        writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} ms |",
            contract.name,
            limits.access,
            side_effects_label(limits.side_effects),
            yes_no(limits.approval),
            limits.rate_per_minute,
            limits.timeout.as_millis(),
        )?;
    }
    writeln!(out, "\n## Error codes\n\n| Code | Status | When |\n|---|---|---|")?;
    for code in ErrorCode::ALL {
        writeln!(out, "| `{code}` | {} | {} |", code.http_status(), code.meaning())?;
    }
    Ok(())
}

fn json_block(value: &serde_json::Value) -> String {
    format!("```json\n{value:#}\n```")
}

fn side_effects_label(effects: SideEffects) -> &'static str {
    match effects {
        SideEffects::None => "none",
        SideEffects::Append => "append",
        SideEffects::Write => "write",
    }
}

fn yes_no(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}
