//! clap value parsers for types of `app` with a fixed set of names, which the help lists.

use std::str::FromStr;

use app::clients::McpClient;
use app::config::{ToolPack, UpstreamPolicy};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// Returns a parser for the name of an MCP client.
pub(crate) fn client_parser() -> impl TypedValueParser<Value = McpClient> {
    named_value_parser(McpClient::ALL.map(|client| PossibleValue::new(client.name())))
}

/// Returns a parser for the name of a tool pack.
pub(crate) fn pack_parser() -> impl TypedValueParser<Value = ToolPack> {
    let help = |pack| match pack {
        ToolPack::Repo => "hello, read_repo_file, write_memory_entry",
        ToolPack::Context => "context_search, read_file, grep_codebase",
        ToolPack::Campaign => "Tools that observe and steer a fuzz campaign",
    };
    named_value_parser(ToolPack::ALL.map(|pack| PossibleValue::new(pack.name()).help(help(pack))))
}

/// Returns a parser for the name of an upstream policy.
pub(crate) fn upstream_policy_parser() -> impl TypedValueParser<Value = UpstreamPolicy> {
    let help = |policy| match policy {
        UpstreamPolicy::Default => "Refuse tools with errors",
        UpstreamPolicy::Strict => "Refuse tools with errors or warnings",
        UpstreamPolicy::Observe => "Admit all tools unchanged, and mark those with errors",
    };
    named_value_parser(
        UpstreamPolicy::ALL.map(|policy| PossibleValue::new(policy.name()).help(help(policy))),
    )
}

fn named_value_parser<T, const N: usize>(
    values: [PossibleValue; N],
) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = String> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(values).try_map(|text| text.parse::<T>())
}
