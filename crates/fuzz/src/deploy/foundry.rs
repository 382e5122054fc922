//! Decides whether a contract is tested by Foundry's rules, and adapts the settings of its campaign and chain to them.

use alloy_json_abi::Function;
use alloy_primitives::{Address, U256, address};
use solidity::{SolidityBuild, SolidityContract};

use super::DeployError;
use crate::config::foundry::{FoundryTestSettings, InlineSettings};
use crate::config::{CampaignSettings, TestMode};

/// Account that deploys contracts by `CREATE2`.
pub(super) const CREATE2_DEPLOYER: Address = address!("0x4e59b44847b379578588920cA78FbF26c0B4956C");

/// Code of that account, which forge puts on every chain.
pub(super) const CREATE2_DEPLOYER_CODE: [u8; 69] = alloy_primitives::hex!(
    "7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe03601600081602082378035828234f58015156039578182fd5b8082525050506014600cf3"
);

/// Kind of a function of a test contract, by its name, as forge classifies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundryFunctionKind {
    SetUp,
    /// `test*` without arguments.
    Unit,
    /// `test*` with arguments.
    Fuzz,
    /// `invariant*` or `statefulFuzz*`.
    Invariant,
    /// `table*` with arguments.
    Table,
    AfterInvariant,
    Fixture,
    Other,
}

impl FoundryFunctionKind {
    pub fn from_signature(name: &str, has_inputs: bool) -> Self {
        match name {
            _ if name.starts_with("test") && has_inputs => Self::Fuzz,
            _ if name.starts_with("test") => Self::Unit,
            _ if name.starts_with("invariant") || name.starts_with("statefulFuzz") => {
                Self::Invariant
            }
            _ if name.starts_with("table") && has_inputs => Self::Table,
            "setUp" if !has_inputs => Self::SetUp,
            "afterInvariant" if !has_inputs => Self::AfterInvariant,
            _ if name.starts_with("fixture") => Self::Fixture,
            _ => Self::Other,
        }
    }

    pub(super) fn of(function: &Function) -> Self {
        Self::from_signature(&function.name, !function.inputs.is_empty())
    }

    pub fn is_test(self) -> bool {
        matches!(self, Self::Unit | Self::Fuzz | Self::Invariant | Self::Table)
    }

    /// Returns true if forge does not call the function as a target of an invariant, unless it is named.
    pub(super) fn is_reserved(self) -> bool {
        self != Self::Other
    }
}

/// Returns true if the contract is tested by Foundry's rules rather than by Echidna's.
///
/// That is the case for invariants, and in the mode `foundry` for every test. A contract with properties of Echidna keeps
/// Echidna's rules, which call the contract itself, unless it names its targets as Foundry does.
pub fn uses_foundry_rules(contract: &SolidityContract, settings: &CampaignSettings) -> bool {
    let has = |is_wanted: fn(FoundryFunctionKind) -> bool| {
        contract.abi.functions().any(|it| is_wanted(FoundryFunctionKind::of(it)))
    };
    let has_tests = match settings.test_mode {
        TestMode::Foundry => has(FoundryFunctionKind::is_test),
        TestMode::Property => has(|kind| kind == FoundryFunctionKind::Invariant),
        _ => false,
    };
    let prefix = settings.prefix.as_str();
    let names_targets =
        contract.abi.functions().any(|it| it.name == "targetContracts" && it.inputs.is_empty());
    let is_echidna = FoundryFunctionKind::from_signature(prefix, false).is_test()
        || !names_targets && contract.abi.functions().any(|it| it.name.starts_with(prefix));
    has_tests && !is_echidna
}

/// Settings of a campaign by Foundry's rules.
pub(super) struct FoundryCampaign {
    pub(super) settings: CampaignSettings,
    /// Settings of each invariant, by name.
    inline: InlineSettings,
    /// The number of calls follows from those of the tests.
    pub(super) derives_limit: bool,
    pub(super) warnings: Vec<String>,
}

impl FoundryCampaign {
    /// Adapts the settings of a campaign. What the user set is kept.
    pub(super) fn new(
        build: &SolidityBuild,
        contract: usize,
        settings: &CampaignSettings,
    ) -> Result<Self, DeployError> {
        let contract = &build.contracts[contract];
        let source = build.sources.iter().find(|source| source.path == contract.source);
        let text = source.map_or("", |source| &*source.text);
        let inline = InlineSettings::read(text, &contract.name, &settings.foundry.profile);
        let (settings, warnings) = (settings.clone(), Vec::new());
        let mut campaign = Self { settings, inline, derives_limit: false, warnings };
        campaign.adapt_chain();
        campaign.adapt_limits(contract)?;
        Ok(campaign)
    }

    /// Returns the settings of one test.
    pub(super) fn test_settings(
        &mut self,
        contract: &str,
        function: &str,
    ) -> Result<FoundryTestSettings, DeployError> {
        let base = &self.settings.foundry.tests;
        self.inline
            .apply_to_test(base, function, &mut self.warnings)
            .map_err(|source| DeployError::InvalidComment { contract: contract.to_owned(), source })
    }

    /// Sets accounts, balances and gas to those of forge.
    ///
    /// The address of the test contract is not forge's, because a reproducer needs that one for itself.
    fn adapt_chain(&mut self) {
        let Self { settings, .. } = self;
        let plain = CampaignSettings::default();
        let foundry = settings.foundry.clone();
        let set = |key: &str, is_default: bool| is_default && !foundry.given.contains(key);
        if set("deployer", settings.deployer == plain.deployer) {
            settings.deployer = foundry.sender;
        }
        if set("psender", settings.property_sender == plain.property_sender) {
            settings.property_sender = foundry.sender;
        }
        // Forge sends no value, because the accounts that it makes up own nothing.
        if set("balanceAddr", settings.sender_balance == plain.sender_balance) {
            settings.sender_balance = U256::ZERO;
        }
        if set("testMaxGas", settings.call_gas == plain.call_gas) {
            settings.call_gas = foundry.gas_limit;
        }
        if set("propMaxGas", settings.property_gas == plain.property_gas) {
            settings.property_gas = foundry.gas_limit;
        }
    }

    /// Sets the length of sequences, the number of calls, and delays.
    fn adapt_limits(&mut self, contract: &SolidityContract) -> Result<(), DeployError> {
        let (mut invariants, mut units) = (None, 0_u64);
        for function in contract.abi.functions() {
            if !self.settings.foundry.filter.allows_name(&function.signature()) {
                continue;
            }
            let kind = FoundryFunctionKind::of(function);
            if !kind.is_test() {
                continue;
            }
            let own = self.test_settings(&contract.name, &function.name)?;
            match kind {
                FoundryFunctionKind::Invariant => {
                    let largest = invariants.get_or_insert(own);
                    largest.invariant_depth = largest.invariant_depth.max(own.invariant_depth);
                    largest.invariant_runs = largest.invariant_runs.max(own.invariant_runs);
                    largest.max_time_delay = largest.max_time_delay.max(own.max_time_delay);
                    largest.max_block_delay = largest.max_block_delay.max(own.max_block_delay);
                }
                FoundryFunctionKind::Fuzz => units = units.saturating_add(own.fuzz_runs),
                _ => units = units.saturating_add(1),
            }
        }
        let Self { settings, .. } = self;
        let plain = CampaignSettings::default();
        let given = settings.foundry.given.clone();
        let set = |key: &str, is_default: bool| is_default && !given.contains(key);
        let own = invariants.unwrap_or(settings.foundry.tests);
        if set("seqLen", settings.sequence_length == plain.sequence_length) {
            settings.sequence_length = own.invariant_depth;
        }
        if set("testLimit", settings.test_limit == plain.test_limit) {
            let depth = u64::try_from(own.invariant_depth.get()).unwrap_or(u64::MAX);
            let calls = invariants.map_or(0, |own| own.invariant_runs.saturating_mul(depth));
            settings.test_limit = calls.saturating_add(units);
            self.derives_limit = true;
        }
        if set("maxTimeDelay", settings.max_time_delay == plain.max_time_delay) {
            settings.max_time_delay = own.max_time_delay;
        }
        if set("maxBlockDelay", settings.max_block_delay == plain.max_block_delay) {
            settings.max_block_delay = own.max_block_delay;
        }
        Ok(())
    }
}
