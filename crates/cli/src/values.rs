//! Value parsers for types of `app` that have a fixed set of names: the help lists the names.

use std::str::FromStr;

use app::clients::Client;
use app::config::{Pack, UpstreamPolicy};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// Parses the name of an MCP client.
pub(crate) fn client() -> impl TypedValueParser<Value = Client> {
    by_name(Client::ALL.map(|client| PossibleValue::new(client.name())))
}

/// Parses the name of a tool pack.
pub(crate) fn pack() -> impl TypedValueParser<Value = Pack> {
    let help = |pack| match pack {
        Pack::Repo => "hello, read_repo_file, write_memory_entry",
        Pack::Context => "context_search, read_file, grep_codebase",
        Pack::Campaign => "Those that watch and steer a fuzz campaign",
    };
    by_name(Pack::ALL.map(|pack| PossibleValue::new(pack.name()).help(help(pack))))
}

/// Parses the name of an upstream policy.
pub(crate) fn upstream_policy() -> impl TypedValueParser<Value = UpstreamPolicy> {
    let help = |policy| match policy {
        UpstreamPolicy::Default => "Tools that break a rule are refused",
        UpstreamPolicy::Strict => "Warnings count as well",
        UpstreamPolicy::Observe => "They are let through unchanged, and marked",
    };
    by_name(UpstreamPolicy::ALL.map(|policy| PossibleValue::new(policy.name()).help(help(policy))))
}

fn by_name<T, const N: usize>(values: [PossibleValue; N]) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = String> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(values).try_map(|text| text.parse::<T>())
}
