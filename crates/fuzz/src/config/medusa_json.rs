//! Reads Medusa's configuration file, with its key names and defaults.
//!
//! As with Echidna's file, a value of the wrong type is an error and a key without effect is a warning. What depends on
//! the compiled contracts, such as constructor arguments by name, is applied afterwards ([`MedusaConfig::adapt_to`]).
//!
//! JSON is read as YAML, of which it is a part: the tree has line numbers, and numbers keep their spelling.

mod arguments;
mod keys;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use alloy_primitives::{Address, U256};
use solidity::{SolidityBuild, SolidityContract};

pub use self::arguments::MedusaValue;
use super::echidna_yaml::{
    ConfigWarning, ConfigWarningKind, EchidnaConfigError, MAX_BYTES, find_nearest, format_inline,
    reject_duplicates,
};
use super::field::ConfigField;
use super::yaml::{self, YamlEntry, YamlValue};
use super::{CampaignSettings, CoverageFormat, RpcEndpoint, TestMode};
use crate::abi::AbiType;
use crate::deploy::DeployError;

/// Reason for which a configuration is rejected. The same as for Echidna's file.
pub type MedusaConfigError = EchidnaConfigError;

/// Medusa's gas limit, delays and number of workers.
const GAS: u64 = 12_500_000;
const MAX_BLOCK_DELAY: u64 = 60_480;
const MAX_TIME_DELAY: u64 = 604_800;
const WORKERS: usize = 10;
/// The limit of a deployed contract if `codeSizeCheckDisabled` is false (EIP-170).
const CODE_SIZE: u64 = 24_576;

/// A configuration, as far as it does not depend on the compiled contracts.
#[derive(Clone, Debug, PartialEq)]
pub struct MedusaConfig {
    /// Contracts to deploy and call, in this order. The last one is the contract under test.
    pub target_contracts: Vec<String>,
    /// Path of what is compiled, relative to the file.
    pub compile_target: Option<String>,
    predeployed: Vec<(String, Address)>,
    balances: Vec<U256>,
    constructor_args: BTreeMap<String, Vec<(String, MedusaValue)>>,
    assertions: MedusaTests,
    properties: MedusaTests,
    optimizations: MedusaTests,
    fork: MedusaFork,
}

/// `chainConfig.forkConfig`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct MedusaFork {
    is_enabled: bool,
    url: String,
    block: u64,
}

/// A kind of tests: whether it is enabled, and the beginnings of its names.
#[derive(Clone, Debug, PartialEq, Eq)]
struct MedusaTests {
    is_enabled: bool,
    prefixes: Vec<String>,
}

impl Default for MedusaConfig {
    fn default() -> Self {
        let tests = |prefixes: &[&str]| MedusaTests {
            is_enabled: true,
            prefixes: prefixes.iter().map(|it| (*it).to_owned()).collect(),
        };
        Self {
            target_contracts: Vec::new(),
            compile_target: None,
            predeployed: Vec::new(),
            balances: Vec::new(),
            constructor_args: BTreeMap::new(),
            assertions: tests(&[]),
            properties: tests(&["property_"]),
            optimizations: tests(&["optimize_"]),
            fork: MedusaFork { block: 1, ..MedusaFork::default() },
        }
    }
}

/// The settings and the configuration that keys write to.
struct MedusaDraft<'a> {
    settings: &'a mut CampaignSettings,
    config: MedusaConfig,
}

/// Applies a configuration, with Medusa's defaults, to existing settings. Settings that Medusa does not have stay
/// unchanged.
pub fn apply_config(
    settings: &mut CampaignSettings,
    text: &str,
) -> Result<(MedusaConfig, Vec<ConfigWarning>), MedusaConfigError> {
    if text.len() > MAX_BYTES {
        return Err(MedusaConfigError::TooLarge);
    }
    set_defaults(settings);
    let mut draft = MedusaDraft { settings, config: MedusaConfig::default() };
    let mut warnings = Vec::new();
    // YAML does not indent with tabs. In JSON, a line never begins inside a string.
    let spaced: Vec<_> = text.lines().map(indent_with_spaces).collect();
    if let Some(root) = yaml::parse_yaml(&spaced.join("\n"))? {
        let YamlValue::Map(entries) = &root.value else {
            return Err(MedusaConfigError::NotAMap { line: root.line });
        };
        draft.apply_entries("", entries, &mut warnings)?;
    }
    let config = draft.config;
    config.check()?;
    settings.deploy_contracts = config.deployments(settings.deployer);
    settings.contract_address = config.target_address(settings.deployer);
    settings.contract_balance = config.main_balance();
    settings.all_contracts |= config.target_contracts.len() > 1;
    if config.fork.is_enabled {
        let MedusaFork { url, block, .. } = &config.fork;
        settings.rpc_url = (!url.is_empty()).then(|| RpcEndpoint(url.clone()));
        settings.rpc_block = Some(*block);
    }
    settings.test_mode = TestMode::Property;
    if let Some(prefix) = config.properties.prefixes.first() {
        settings.prefix.clone_from(prefix);
    }
    Ok((config, warnings))
}

fn indent_with_spaces(line: &str) -> String {
    let content = line.trim_start_matches(['\t', ' ']);
    format!("{}{content}", " ".repeat(line.len() - content.len()))
}

/// Sets Medusa's defaults.
fn set_defaults(settings: &mut CampaignSettings) {
    settings.workers = NonZeroUsize::new(WORKERS);
    settings.timeout = None;
    settings.test_limit = u64::MAX;
    settings.stop_on_fail = true;
    settings.sender_balance = U256::from(u128::MAX);
    settings.call_gas = GAS;
    settings.property_gas = GAS;
    settings.max_block_delay = MAX_BLOCK_DELAY;
    settings.max_time_delay = MAX_TIME_DELAY;
    settings.coverage_formats = vec![CoverageFormat::Html, CoverageFormat::Lcov];
    "property_".clone_into(&mut settings.prefix);
}

impl MedusaDraft<'_> {
    /// Applies the entries of the map at `parent`, which is empty or ends with a point.
    fn apply_entries(
        &mut self,
        parent: &str,
        entries: &[YamlEntry],
        warnings: &mut Vec<ConfigWarning>,
    ) -> Result<(), MedusaConfigError> {
        reject_duplicates(entries)?;
        for entry in entries {
            let key = format!("{parent}{}", entry.key);
            let field = ConfigField { key: &key, node: &entry.value };
            let warning = |kind| ConfigWarning { line: entry.line, key: key.clone(), kind };
            if let Some((_, set)) = keys::KEYS.iter().find(|(name, _)| *name == key) {
                if !entry.value.is_null() {
                    set(self, field)?;
                }
            } else if let Some((_, neutral, reason)) =
                keys::UNSUPPORTED.iter().find(|(name, ..)| *name == key)
            {
                let value = format_inline(&entry.value);
                if !entry.value.is_null() && !neutral.contains(&value.as_str()) {
                    warnings.push(warning(ConfigWarningKind::Unsupported { reason }));
                }
            } else if keys::FULFILLED.contains(&key.as_str()) {
                // It asks for what happens anyway.
            } else if keys::all().any(|known| known.starts_with(&format!("{key}."))) {
                if entry.value.is_null() {
                    continue;
                }
                let below = field.map_entries().ok_or_else(|| field.invalid_value("a map"))?;
                self.apply_entries(&format!("{key}."), below, warnings)?;
            } else {
                let nearest = nearest_key(&key);
                warnings.push(warning(ConfigWarningKind::Unknown { nearest }));
            }
        }
        Ok(())
    }
}

/// Returns the known key that was probably meant: one with a similar last part, preferably in the same map.
fn nearest_key(key: &str) -> Option<&'static str> {
    let split = |key: &'static str| key.rsplit_once('.').unwrap_or(("", key));
    let (parent, own) = key.rsplit_once('.').unwrap_or(("", key));
    let in_map = |is_same: bool| {
        let known = keys::all().flat_map(|key| {
            let maps = key.match_indices('.').map(move |(end, _)| &key[..end]);
            maps.chain([key])
        });
        let known = known.filter(move |known| (split(known).0 == parent) == is_same);
        find_nearest(own, known.map(move |known| (split(known).1, known)))
    };
    in_map(true).or_else(|| in_map(false))
}

impl MedusaConfig {
    /// Errors where Medusa does, if keys contradict each other.
    fn check(&self) -> Result<(), MedusaConfigError> {
        let contradiction = |problem: &str| MedusaConfigError::Contradiction(problem.to_owned());
        for (tests, key) in
            [(&self.properties, "propertyTesting"), (&self.optimizations, "optimizationTesting")]
        {
            if tests.is_enabled && tests.prefixes.is_empty() {
                return Err(contradiction(&format!(
                    "`fuzzing.testing.{key}.testPrefixes` must not be empty while it is enabled"
                )));
            }
        }
        if self.properties.prefixes.iter().any(|it| self.optimizations.prefixes.contains(it)) {
            return Err(contradiction(
                "property and optimization tests must have different `testPrefixes`",
            ));
        }
        Ok(())
    }

    /// Returns the addresses of contracts that are deployed before the one under test: where Medusa says, or would
    /// deploy them.
    fn deployments(&self, deployer: Address) -> Vec<(Address, String)> {
        let fixed = self.predeployed.iter().map(|(name, address)| (*address, name.clone()));
        let before = self.target_contracts.iter().rev().skip(1).rev().enumerate();
        let first = self.predeployed.len() as u64;
        let before =
            before.map(|(number, name)| (deployer.create(first + number as u64), name.clone()));
        fixed.chain(before).collect()
    }

    /// Returns the address of the contract under test.
    fn target_address(&self, deployer: Address) -> Address {
        let before = self.target_contracts.len().saturating_sub(1) + self.predeployed.len();
        deployer.create(before as u64)
    }

    /// Returns the wei that the constructor of the contract under test receives.
    fn main_balance(&self) -> U256 {
        let position = self.target_contracts.len().saturating_sub(1);
        self.balances.get(position).copied().unwrap_or_default()
    }

    /// Applies what depends on the contracts: test mode, prefix and constructor arguments. Returns remarks.
    pub fn adapt_to(
        &self,
        build: &SolidityBuild,
        contract: usize,
        settings: &mut CampaignSettings,
    ) -> Result<Vec<String>, DeployError> {
        let addresses: BTreeMap<_, _> = settings
            .deploy_contracts
            .iter()
            .map(|(address, name)| (name.as_str(), *address))
            .chain([(build.contracts[contract].name.as_str(), settings.contract_address)])
            .collect();
        for (name, values) in &self.constructor_args {
            let Some(found) = build.contracts.iter().find(|it| it.name == *name) else { continue };
            let written = arguments::write_arguments(found, values, &addresses)?;
            settings.constructor_args.named.insert(name.clone(), written);
        }
        let mut remarks = self.choose_mode(&build.contracts[contract], settings);
        let others = self.balances.len().min(self.target_contracts.len().saturating_sub(1));
        if self.balances[..others].iter().any(|wei| !wei.is_zero()) {
            remarks.push(
                "`fuzzing.targetContractsBalances` applies to the last target contract only"
                    .to_owned(),
            );
        }
        if let Some((under_test, others)) = self.target_contracts.split_last()
            && !others.is_empty()
        {
            let others = others.join(", ");
            remarks.push(format!(
                "tests are those of {under_test}; the functions of {others} are called too"
            ));
        }
        Ok(remarks)
    }

    /// Chooses the kind of tests that the contract has. Medusa runs all kinds at once. Returns remarks on the others.
    fn choose_mode(
        &self,
        contract: &SolidityContract,
        settings: &mut CampaignSettings,
    ) -> Vec<String> {
        // Another mode was chosen by a flag.
        if settings.test_mode != TestMode::Property {
            return Vec::new();
        }
        let kinds = [
            (TestMode::Property, &self.properties, AbiType::Bool),
            (TestMode::Optimization, &self.optimizations, AbiType::Int(256)),
        ];
        let mut found = Vec::new();
        for (mode, tests, returned) in kinds {
            for prefix in tests.prefixes.iter().filter(|_| tests.is_enabled) {
                let count = contract.abi.functions().filter(|function| {
                    let outputs = function.outputs.iter().map(|it| AbiType::from_param(it).ok());
                    function.name.starts_with(prefix.as_str())
                        && function.inputs.is_empty()
                        && outputs.eq([Some(returned.clone())])
                });
                found.push((mode, prefix, count.count()));
            }
        }
        found.retain(|(.., count)| *count > 0);
        if self.assertions.is_enabled {
            found.push((TestMode::Assertion, &settings.prefix, 0));
        }
        let mut found = found.into_iter();
        let Some((mode, prefix, _)) = found.next() else { return Vec::new() };
        let prefix = prefix.clone();
        let remark = |(mode, prefix, count): (TestMode, &String, usize)| match mode {
            TestMode::Assertion => {
                "assertions are not tested in the same run; pass `--test-mode assertion`".to_owned()
            }
            mode => format!(
                "{count} {mode} tests `{prefix}*` are not run in the same run; pass `--test-mode {mode} --prefix {prefix}`"
            ),
        };
        let remarks = found.map(remark).collect();
        settings.test_mode = mode;
        settings.prefix = prefix;
        remarks
    }
}
