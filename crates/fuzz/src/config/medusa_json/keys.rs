//! The keys of Medusa's file: those that set something, those without effect, and those that ask for what happens anyway.

use std::time::Duration;

use alloy_primitives::U256;

use super::arguments::MedusaValue;
use super::{CODE_SIZE, MedusaConfigError, MedusaDraft, MedusaTests};
use crate::config::FunctionFilter;
use crate::config::echidna_yaml::{assign, read_senders, read_strings, reject_duplicates};
use crate::config::field::ConfigField;

type SetField = fn(&mut MedusaDraft<'_>, ConfigField<'_>) -> Result<(), MedusaConfigError>;

/// All keys that set something.
pub(super) const KEYS: &[(&str, SetField)] = &[
    ("fuzzing.workers", |it, field| {
        assign(&mut it.settings.workers, field.read_positive().map(Some))
    }),
    ("fuzzing.timeout", |it, field| {
        let seconds = field.read_count()?;
        it.settings.timeout = (seconds > 0).then(|| Duration::from_secs(seconds));
        Ok(())
    }),
    ("fuzzing.testLimit", |it, field| {
        let limit = field.read_count()?;
        it.settings.test_limit = if limit == 0 { u64::MAX } else { limit };
        Ok(())
    }),
    ("fuzzing.shrinkLimit", |it, field| assign(&mut it.settings.shrink_limit, field.read_count())),
    ("fuzzing.callSequenceLength", |it, field| {
        assign(&mut it.settings.sequence_length, field.read_positive())
    }),
    ("fuzzing.corpusDirectory", |it, field| {
        let folder = field.read_string()?;
        it.settings.corpus_dir = (!folder.is_empty()).then(|| folder.into());
        Ok(())
    }),
    ("fuzzing.coverageEnabled", |it, field| assign(&mut it.settings.coverage, field.read_bool())),
    ("fuzzing.coverageFormats", |it, field| {
        let formats = field.read_list("a list of formats", ConfigField::read_choice);
        assign(&mut it.settings.coverage_formats, formats)
    }),
    ("fuzzing.coverageExclusions", |it, field| {
        assign(&mut it.settings.coverage_excludes, read_strings(field))
    }),
    ("fuzzing.targetContracts", |it, field| {
        assign(&mut it.config.target_contracts, read_strings(field))
    }),
    ("fuzzing.predeployedContracts", |it, field| {
        let entries = field.map_entries();
        let entries =
            entries.ok_or_else(|| field.invalid_value("a map of contracts to addresses"))?;
        reject_duplicates(entries)?;
        let address = |entry: &crate::config::yaml::YamlEntry| {
            let field = ConfigField { key: field.key, node: &entry.value };
            Ok((entry.key.clone(), field.read_deploy_address()?))
        };
        assign(&mut it.config.predeployed, entries.iter().map(address).collect())
    }),
    ("fuzzing.targetContractsBalances", |it, field| {
        assign(&mut it.config.balances, field.read_list("a list of numbers", read_balance))
    }),
    ("fuzzing.constructorArgs", |it, field| {
        const EXPECTED: &str = "a map of contracts to maps of arguments";
        let contracts = field.map_entries().ok_or_else(|| field.invalid_value(EXPECTED))?;
        reject_duplicates(contracts)?;
        for contract in contracts {
            let values = ConfigField { key: field.key, node: &contract.value };
            let entries = values.map_entries().ok_or_else(|| values.invalid_value(EXPECTED))?;
            reject_duplicates(entries)?;
            let values =
                entries.iter().map(|it| (it.key.clone(), MedusaValue::from_node(&it.value)));
            it.config.constructor_args.insert(contract.key.clone(), values.collect());
        }
        Ok(())
    }),
    ("fuzzing.deployerAddress", |it, field| {
        assign(&mut it.settings.deployer, field.read_address())
    }),
    ("fuzzing.senderAddresses", |it, field| assign(&mut it.settings.senders, read_senders(field))),
    ("fuzzing.blockNumberDelayMax", |it, field| {
        assign(&mut it.settings.max_block_delay, field.read_count())
    }),
    ("fuzzing.blockTimestampDelayMax", |it, field| {
        assign(&mut it.settings.max_time_delay, field.read_count())
    }),
    ("fuzzing.transactionGasLimit", |it, field| {
        let gas = field.read_positive()?.get() as u64;
        (it.settings.call_gas, it.settings.property_gas) = (gas, gas);
        Ok(())
    }),
    ("fuzzing.testing.stopOnFailedTest", |it, field| {
        assign(&mut it.settings.stop_on_fail, field.read_bool())
    }),
    ("fuzzing.testing.testAllContracts", |it, field| {
        assign(&mut it.settings.all_contracts, field.read_bool())
    }),
    ("fuzzing.testing.testViewMethods", |it, field| {
        it.settings.exclude_view_pure = !field.read_bool()?;
        Ok(())
    }),
    // Its place in earlier versions of Medusa.
    ("fuzzing.testing.assertionTesting.testViewMethods", |it, field| {
        it.settings.exclude_view_pure = !field.read_bool()?;
        Ok(())
    }),
    ("fuzzing.testing.targetFunctionSignatures", |it, field| set_filter(it, field, false)),
    ("fuzzing.testing.excludeFunctionSignatures", |it, field| set_filter(it, field, true)),
    ("fuzzing.testing.assertionTesting.enabled", |it, field| {
        assign(&mut it.config.assertions.is_enabled, field.read_bool())
    }),
    ("fuzzing.testing.propertyTesting.enabled", |it, field| {
        assign(&mut it.config.properties.is_enabled, field.read_bool())
    }),
    ("fuzzing.testing.propertyTesting.testPrefixes", |it, field| {
        set_prefixes(&mut it.config.properties, field)
    }),
    ("fuzzing.testing.optimizationTesting.enabled", |it, field| {
        assign(&mut it.config.optimizations.is_enabled, field.read_bool())
    }),
    ("fuzzing.testing.optimizationTesting.testPrefixes", |it, field| {
        set_prefixes(&mut it.config.optimizations, field)
    }),
    ("fuzzing.chainConfig.codeSizeCheckDisabled", |it, field| {
        if !field.read_bool()? {
            it.settings.code_size = CODE_SIZE;
        }
        Ok(())
    }),
    ("fuzzing.chainConfig.forkConfig.forkModeEnabled", |it, field| {
        assign(&mut it.config.fork.is_enabled, field.read_bool())
    }),
    ("fuzzing.chainConfig.forkConfig.rpcUrl", |it, field| {
        assign(&mut it.config.fork.url, field.read_string())
    }),
    // Medusa's default is 1, and no block can be left out.
    ("fuzzing.chainConfig.forkConfig.rpcBlock", |it, field| {
        assign(&mut it.config.fork.block, field.read_count())
    }),
    ("compilation.platformConfig.target", |it, field| {
        let target = field.read_string()?;
        it.config.compile_target = (!matches!(target.as_str(), "" | ".")).then_some(target);
        Ok(())
    }),
];

const PANICS: &str = "`--test-mode overflow` finds overflows; other panics are not failures";
const COMPILER: &str = "crytic-compile is not used; pragmas and `--solc` choose the compiler";
const GENESIS: &str = "the chain begins empty";

/// Keys without effect, the values that request nothing, and the reason.
pub(super) const UNSUPPORTED: &[(&str, &[&str], &str)] = &[
    ("fuzzing.testing.stopOnFailedContractMatching", &["false"], "unknown code is called anyway"),
    ("fuzzing.testing.assertionTesting.panicCodeConfig.failOnAssertion", &["true"], PANICS),
    (
        "fuzzing.testing.assertionTesting.panicCodeConfig.failOnCompilerInsertedPanic",
        &["false"],
        PANICS,
    ),
    (
        "fuzzing.testing.assertionTesting.panicCodeConfig.failOnArithmeticUnderflow",
        &["false"],
        PANICS,
    ),
    ("fuzzing.testing.assertionTesting.panicCodeConfig.failOnDivideByZero", &["false"], PANICS),
    (
        "fuzzing.testing.assertionTesting.panicCodeConfig.failOnEnumTypeConversionOutOfBounds",
        &["false"],
        PANICS,
    ),
    (
        "fuzzing.testing.assertionTesting.panicCodeConfig.failOnIncorrectStorageAccess",
        &["false"],
        PANICS,
    ),
    ("fuzzing.testing.assertionTesting.panicCodeConfig.failOnPopEmptyArray", &["false"], PANICS),
    (
        "fuzzing.testing.assertionTesting.panicCodeConfig.failOnOutOfBoundsArrayAccess",
        &["false"],
        PANICS,
    ),
    (
        "fuzzing.testing.assertionTesting.panicCodeConfig.failOnAllocateTooMuchMemory",
        &["false"],
        PANICS,
    ),
    (
        "fuzzing.testing.assertionTesting.panicCodeConfig.failOnCallUninitializedVariable",
        &["false"],
        PANICS,
    ),
    ("fuzzing.revertReporterEnabled", &["false"], "reverts are always counted"),
    (
        "fuzzing.chainConfig.cheatCodes.cheatCodesEnabled",
        &["true"],
        "cheat codes are always enabled",
    ),
    (
        "fuzzing.chainConfig.cheatCodes.enableFFI",
        &["false"],
        "a configuration file cannot allow programs; pass `--allow-ffi`",
    ),
    ("fuzzing.chainConfig.contractAddressOverrides", &["{}"], "use `predeployedContracts`"),
    ("fuzzing.chainConfig.genesisStateFile", &[""], GENESIS),
    ("fuzzing.chainConfig.genesisContractMappings", &["{}"], GENESIS),
    ("compilation.platform", &["crytic-compile", "solc"], COMPILER),
    ("compilation.platformConfig.solcVersion", &[""], COMPILER),
    ("compilation.platformConfig.exportDirectory", &[""], COMPILER),
    ("compilation.platformConfig.args", &["[]"], COMPILER),
    ("slither.args", &["[]"], "Slither is not used"),
    ("logging.logDirectory", &[""], "`VOUCH_LOG` configures logging"),
];

/// Keys that ask for what happens anyway, or that concern only how Medusa works.
pub(super) const FULFILLED: &[&str] = &[
    "fuzzing.workerResetLimit",
    "fuzzing.pruneFrequency",
    // Keys of earlier versions.
    "fuzzing.blockGasLimit",
    "fuzzing.testing.traceAll",
    "fuzzing.testing.stopOnNoTests",
    "fuzzing.testing.verbosity",
    "fuzzing.chainConfig.skipAccountChecks",
    "fuzzing.chainConfig.forkConfig.poolSize",
    "slither.useSlither",
    "slither.cachePath",
    "slither.overwriteCache",
    "logging.level",
    "logging.noColor",
];

/// Returns all known keys.
pub(super) fn all() -> impl Iterator<Item = &'static str> {
    let known = KEYS.iter().map(|(name, _)| *name);
    known.chain(UNSUPPORTED.iter().map(|(name, ..)| *name)).chain(FULFILLED.iter().copied())
}

/// Sets the functions that are called, or that are not. Medusa allows only one of the lists.
fn set_filter(
    draft: &mut MedusaDraft<'_>,
    field: ConfigField<'_>,
    excludes: bool,
) -> Result<(), MedusaConfigError> {
    let functions = read_strings(field)?;
    if functions.is_empty() {
        return Ok(());
    }
    if !draft.settings.filter.functions.is_empty() {
        return Err(MedusaConfigError::Contradiction(
            "`targetFunctionSignatures` and `excludeFunctionSignatures` are mutually exclusive"
                .to_owned(),
        ));
    }
    draft.settings.filter = FunctionFilter { functions, excludes };
    Ok(())
}

fn set_prefixes(tests: &mut MedusaTests, field: ConfigField<'_>) -> Result<(), MedusaConfigError> {
    assign(&mut tests.prefixes, read_strings(field))
}

/// Reads wei: a number, or a string in any notation. An empty string is 0.
fn read_balance(field: ConfigField<'_>) -> Result<U256, MedusaConfigError> {
    match field.node.text() {
        Some("") => Ok(U256::ZERO),
        _ => field.read_number(),
    }
}
