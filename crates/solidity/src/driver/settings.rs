//! Compiler settings: those of the command line, over those of the project.

use serde_json::{Value, json};

use super::pragma::SolcVersion;
use crate::CompileOptions;
use crate::project::FoundryConfig;

/// EVM version that Foundry compiles for if none is configured.
const FOUNDRY_EVM: &str = "osaka";
/// Optimizer runs if none are configured.
const DEFAULT_RUNS: u64 = 200;

/// EVM versions, each with the first compiler that supports it.
const EVM_VERSIONS: [(&str, [u32; 3]); 14] = [
    ("homestead", [0, 0, 0]),
    ("tangerineWhistle", [0, 4, 21]),
    ("spuriousDragon", [0, 4, 21]),
    ("byzantium", [0, 4, 21]),
    ("constantinople", [0, 4, 22]),
    ("petersburg", [0, 5, 5]),
    ("istanbul", [0, 5, 14]),
    ("berlin", [0, 8, 5]),
    ("london", [0, 8, 7]),
    ("paris", [0, 8, 18]),
    ("shanghai", [0, 8, 20]),
    ("cancun", [0, 8, 24]),
    ("prague", [0, 8, 27]),
    ("osaka", [0, 8, 29]),
];

/// Settings of a compilation.
#[derive(Clone, Debug, Default)]
pub(crate) struct SolcSettings {
    /// Whether the optimizer is enabled, and its runs. `None` is the compiler's default.
    optimizer: Option<(bool, u64)>,
    optimizer_details: Option<Value>,
    /// EVM version, and whether an older one may take its place.
    evm_version: Option<(String, bool)>,
    via_ir: bool,
    bytecode_hash: Option<String>,
    appends_cbor: Option<bool>,
    uses_literal_content: bool,
    revert_strings: Option<String>,
}

impl SolcSettings {
    /// Returns the settings of a project, overridden by those of the command line.
    pub(crate) fn new(config: Option<&FoundryConfig>, options: &CompileOptions) -> Self {
        let mut settings = config.map(Self::from_config).unwrap_or_default();
        if let Some(runs) = options.optimizer_runs {
            settings.optimizer = Some((true, runs.into()));
        }
        if let Some(version) = &options.evm_version {
            settings.evm_version = Some((version.clone(), false));
        }
        settings.via_ir |= options.via_ir;
        settings
    }

    fn from_config(config: &FoundryConfig) -> Self {
        let runs = config.optimizer_runs;
        // Runs alone enable the optimizer, unless they are 0.
        let is_enabled = config.optimizer.unwrap_or(runs.is_some_and(|runs| runs > 0));
        let evm_version = config.evm_version.clone().unwrap_or_else(|| FOUNDRY_EVM.to_owned());
        Self {
            optimizer: Some((is_enabled, runs.unwrap_or(DEFAULT_RUNS))),
            optimizer_details: config.optimizer_details.clone().map(|it| to_camel_case(it.into())),
            evm_version: Some((evm_version, true)),
            via_ir: config.via_ir,
            bytecode_hash: config.bytecode_hash.clone(),
            appends_cbor: config.appends_cbor,
            uses_literal_content: config.uses_literal_content,
            revert_strings: config.revert_strings.clone(),
        }
    }

    /// Adds the settings to the standard JSON input of a compiler.
    ///
    /// Old compilers reject unknown settings, so only requested settings are present, and those that a version lacks are
    /// left out.
    pub(crate) fn add_to(&self, input: &mut Value, version: Option<SolcVersion>) {
        let has = |first: [u32; 3]| version.is_none_or(|version| version.0 >= first);
        if let Some((is_enabled, runs)) = self.optimizer {
            input["optimizer"] = json!({ "enabled": is_enabled, "runs": runs });
            if let Some(details) = self.optimizer_details.as_ref().filter(|_| has([0, 5, 5])) {
                input["optimizer"]["details"] = details.clone();
            }
        }
        if let Some(name) = self.evm_version(version) {
            input["evmVersion"] = json!(name);
        }
        if self.via_ir && has([0, 7, 5]) {
            input["viaIR"] = json!(true);
        }
        if let Some(hash) = self.bytecode_hash.as_ref().filter(|_| has([0, 6, 0])) {
            input["metadata"]["bytecodeHash"] = json!(hash);
        }
        if let Some(is_appended) = self.appends_cbor.filter(|_| has([0, 8, 18])) {
            input["metadata"]["appendCBOR"] = json!(is_appended);
        }
        if self.uses_literal_content {
            input["metadata"]["useLiteralContent"] = json!(true);
        }
        if let Some(kind) = self.revert_strings.as_ref().filter(|_| has([0, 6, 0])) {
            input["debug"]["revertStrings"] = json!(kind);
        }
    }

    /// Returns the EVM version for a compiler: the wanted one, or the newest one that it supports.
    fn evm_version(&self, version: Option<SolcVersion>) -> Option<&str> {
        let (wanted, may_be_older) = self.evm_version.as_ref()?;
        let known = EVM_VERSIONS.iter().position(|(name, _)| name.eq_ignore_ascii_case(wanted));
        match (known, version) {
            (Some(position), Some(version)) if *may_be_older => {
                let supported =
                    EVM_VERSIONS[..=position].iter().rfind(|(_, first)| version.0 >= *first);
                supported.map(|(name, _)| *name).filter(|_| version.0 >= [0, 4, 21])
            }
            _ => Some(wanted),
        }
    }
}

/// Converts keys such as `yul_details` to those of the compiler.
fn to_camel_case(value: Value) -> Value {
    let Value::Object(fields) = value else { return value };
    let fields = fields.into_iter().map(|(key, value)| {
        let mut name = String::new();
        for (number, word) in key.split('_').enumerate() {
            let mut chars = word.chars();
            match chars.next().filter(|_| number > 0) {
                Some(first) => name.extend(first.to_uppercase().chain(chars)),
                None => name.push_str(word),
            }
        }
        (name, to_camel_case(value))
    });
    Value::Object(fields.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evm_version_is_lowered_to_what_a_compiler_supports() {
        let config = FoundryConfig::default();
        let settings = SolcSettings::new(Some(&config), &CompileOptions::default());
        let version = |text| SolcVersion::parse(text);
        let cases = [
            ("0.8.37", Some("osaka")),
            ("0.8.28", Some("prague")),
            ("0.8.24", Some("cancun")),
            ("0.8.15", Some("london")),
            ("0.7.6", Some("istanbul")),
            ("0.4.22", Some("constantinople")),
            ("0.4.20", None),
        ];
        for (text, name) in cases {
            assert_eq!(settings.evm_version(version(text)), name, "{text}");
        }
        let options =
            CompileOptions { evm_version: Some("osaka".to_owned()), ..CompileOptions::default() };
        let exact = SolcSettings::new(Some(&config), &options);
        assert_eq!(exact.evm_version(version("0.8.15")), Some("osaka"), "as the user said");
    }
}
