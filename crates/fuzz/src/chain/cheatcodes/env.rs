//! Cheat codes that read environment variables. They are run only in a project that the user trusts.

use alloy_dyn_abi::DynSolValue;
use alloy_primitives::U256;

use super::args::CheatcodeArgs;
use super::table::CheatcodeEntry;
use super::values::{ValueKind, encode_value};
use super::{CheatcodeCall, CheatcodeError, CheatcodeResult, encoding, files};

/// Expands each type to its forms: one value or a list, with and without a default.
macro_rules! env_forms {
    ($($name:literal $solidity:literal $kind:ident;)*) => {
        &[
            ("envExists(string)", |call, args| {
                let exists = find_variable(call, &args.read_text()?, "envExists")?.is_some();
                Ok(encoding::encode_word(U256::from(exists)))
            }),
            $(
                (concat!($name, "(string)"), |call, args| {
                    read_value(call, args, ValueKind::$kind, $name)
                }),
                (concat!($name, "(string,string)"), |call, args| {
                    read_list(call, args, ValueKind::$kind, $name)
                }),
                (concat!("envOr(string,", $solidity, ")"), |call, args| {
                    read_value_or(call, args, ValueKind::$kind)
                }),
                (concat!("envOr(string,string,", $solidity, "[])"), |call, args| {
                    read_list_or(call, args, ValueKind::$kind)
                }),
            )*
        ]
    };
}

pub(super) const TABLE: &[CheatcodeEntry] = env_forms! {
    "envBool" "bool" Bool;
    "envUint" "uint256" Uint;
    "envInt" "int256" Int;
    "envAddress" "address" Address;
    "envBytes32" "bytes32" Bytes32;
    "envString" "string" String;
    "envBytes" "bytes" Bytes;
};

/// Returns the value of a variable, if it is set. Those that the contract set itself come first.
fn find_variable(
    call: &CheatcodeCall<'_>,
    name: &str,
    cheatcode: &str,
) -> Result<Option<String>, CheatcodeError> {
    let cheats = &call.context.chain.cheats;
    if let Some(value) = cheats.set_variables.as_ref().and_then(|set| set.get(name)) {
        return Ok(Some(value.clone()));
    }
    let access = files::require_access(call, cheatcode, "an environment variable")?;
    Ok(access.variables.get(name).cloned())
}

fn require_variable(
    call: &CheatcodeCall<'_>,
    name: &str,
    cheatcode: &str,
) -> Result<String, CheatcodeError> {
    find_variable(call, name, cheatcode)?.ok_or_else(|| {
        CheatcodeError::InvalidUse(format!("environment variable \"{name}\" not found"))
    })
}

fn read_value(
    call: &CheatcodeCall<'_>,
    args: &mut CheatcodeArgs<'_>,
    kind: ValueKind,
    cheatcode: &str,
) -> CheatcodeResult {
    let value = require_variable(call, &args.read_text()?, cheatcode)?;
    Ok(encode_value(&kind.parse(&value)?))
}

fn read_list(
    call: &CheatcodeCall<'_>,
    args: &mut CheatcodeArgs<'_>,
    kind: ValueKind,
    cheatcode: &str,
) -> CheatcodeResult {
    let value = require_variable(call, &args.read_text()?, cheatcode)?;
    Ok(encode_value(&parse_list(&value, &args.read_text()?, kind)?))
}

fn read_value_or(
    call: &CheatcodeCall<'_>,
    args: &mut CheatcodeArgs<'_>,
    kind: ValueKind,
) -> CheatcodeResult {
    let value = find_variable(call, &args.read_text()?, "envOr")?;
    let default = kind.read_from(args)?;
    Ok(encode_value(&value.map_or(Ok(default), |value| kind.parse(&value))?))
}

fn read_list_or(
    call: &CheatcodeCall<'_>,
    args: &mut CheatcodeArgs<'_>,
    kind: ValueKind,
) -> CheatcodeResult {
    let value = find_variable(call, &args.read_text()?, "envOr")?;
    let delimiter = args.read_text()?;
    let default = kind.read_list_from(args)?;
    Ok(encode_value(&value.map_or(Ok(default), |value| parse_list(&value, &delimiter, kind))?))
}

fn parse_list(
    value: &str,
    delimiter: &str,
    kind: ValueKind,
) -> Result<DynSolValue, CheatcodeError> {
    let items = value.split(delimiter).map(|item| kind.parse(item.trim()));
    Ok(DynSolValue::Array(items.collect::<Result<_, _>>()?))
}
