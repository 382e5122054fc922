//! Reads `foundry.toml`: the default profile, and the chosen profile over it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::Deserialize;

use crate::{LoadError, SolcVersion, bounded_file};

/// Name of the profile that the others are based on.
const DEFAULT_PROFILE: &str = "default";

/// Folder of the sources if there is no `src`, as for Foundry.
const OTHER_SOURCES: &str = "contracts";

/// Relevant settings of a profile, with Foundry's defaults.
#[derive(Clone, Debug)]
pub(crate) struct FoundryConfig {
    pub(crate) src: String,
    pub(crate) test: String,
    pub(crate) script: String,
    pub(super) out: String,
    pub(super) build_info_path: Option<String>,
    pub(crate) libs: Vec<String>,
    pub(crate) remappings: Vec<String>,
    pub(crate) detects_remappings: bool,
    pub(super) allow_paths: Vec<String>,
    pub(super) include_paths: Vec<String>,
    /// Patterns of files that are not compiled.
    pub(super) skip: Vec<String>,
    solc: Option<String>,
    pub(crate) optimizer: Option<bool>,
    pub(crate) optimizer_runs: Option<u64>,
    pub(crate) optimizer_details: Option<serde_json::Map<String, serde_json::Value>>,
    pub(crate) evm_version: Option<String>,
    pub(crate) via_ir: bool,
    pub(crate) bytecode_hash: Option<String>,
    pub(crate) appends_cbor: Option<bool>,
    pub(crate) uses_literal_content: bool,
    pub(crate) revert_strings: Option<String>,
    /// Keys that change what Foundry compiles and have no effect here.
    ineffective: Vec<&'static str>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct FoundryConfigFile {
    profile: BTreeMap<String, FoundryProfile>,
    /// The default profile in the notation of old versions.
    default: Option<FoundryProfile>,
}

/// The keys of one profile that are set.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
struct FoundryProfile {
    src: Option<String>,
    test: Option<String>,
    script: Option<String>,
    out: Option<String>,
    build_info_path: Option<String>,
    libs: Option<Vec<String>>,
    remappings: Option<Vec<String>>,
    auto_detect_remappings: Option<bool>,
    allow_paths: Option<Vec<String>>,
    include_paths: Option<Vec<String>>,
    skip: Option<TextOrList>,
    #[serde(alias = "solc_version")]
    solc: Option<String>,
    optimizer: Option<bool>,
    #[serde(alias = "optimizer-runs")]
    optimizer_runs: Option<u64>,
    optimizer_details: Option<serde_json::Map<String, serde_json::Value>>,
    evm_version: Option<String>,
    #[serde(alias = "via-ir")]
    via_ir: Option<bool>,
    bytecode_hash: Option<String>,
    cbor_metadata: Option<bool>,
    use_literal_content: Option<bool>,
    revert_strings: Option<String>,
    extends: Option<serde::de::IgnoredAny>,
    compilation_restrictions: Option<serde::de::IgnoredAny>,
    additional_compiler_profiles: Option<serde::de::IgnoredAny>,
}

#[derive(Clone, Deserialize)]
#[serde(untagged)]
enum TextOrList {
    Text(String),
    List(Vec<String>),
}

impl FoundryProfile {
    /// Returns this profile, with the settings of `base` that it does not set.
    fn over(self, base: Self) -> Self {
        Self {
            src: self.src.or(base.src),
            test: self.test.or(base.test),
            script: self.script.or(base.script),
            out: self.out.or(base.out),
            build_info_path: self.build_info_path.or(base.build_info_path),
            libs: self.libs.or(base.libs),
            remappings: self.remappings.or(base.remappings),
            auto_detect_remappings: self.auto_detect_remappings.or(base.auto_detect_remappings),
            allow_paths: self.allow_paths.or(base.allow_paths),
            include_paths: self.include_paths.or(base.include_paths),
            skip: self.skip.or(base.skip),
            solc: self.solc.or(base.solc),
            optimizer: self.optimizer.or(base.optimizer),
            optimizer_runs: self.optimizer_runs.or(base.optimizer_runs),
            optimizer_details: self.optimizer_details.or(base.optimizer_details),
            evm_version: self.evm_version.or(base.evm_version),
            via_ir: self.via_ir.or(base.via_ir),
            bytecode_hash: self.bytecode_hash.or(base.bytecode_hash),
            cbor_metadata: self.cbor_metadata.or(base.cbor_metadata),
            use_literal_content: self.use_literal_content.or(base.use_literal_content),
            revert_strings: self.revert_strings.or(base.revert_strings),
            extends: self.extends.or(base.extends),
            compilation_restrictions: self
                .compilation_restrictions
                .or(base.compilation_restrictions),
            additional_compiler_profiles: self
                .additional_compiler_profiles
                .or(base.additional_compiler_profiles),
        }
    }
}

impl Default for FoundryConfig {
    fn default() -> Self {
        FoundryProfile::default().into()
    }
}

impl From<FoundryProfile> for FoundryConfig {
    fn from(profile: FoundryProfile) -> Self {
        let folder = |named: Option<String>, default: &str| {
            let named = named.unwrap_or_else(|| default.to_owned());
            let plain = named.trim_start_matches("./").trim_end_matches('/');
            if plain.is_empty() { ".".to_owned() } else { plain.to_owned() }
        };
        let ineffective = [
            ("extends", profile.extends.is_some()),
            ("compilation_restrictions", profile.compilation_restrictions.is_some()),
        ];
        Self {
            src: folder(profile.src, "src"),
            test: folder(profile.test, "test"),
            script: folder(profile.script, "script"),
            out: profile.out.unwrap_or_else(|| "out".to_owned()),
            build_info_path: profile.build_info_path,
            libs: match profile.libs {
                Some(libs) => libs.into_iter().map(|it| folder(Some(it), "lib")).collect(),
                None => vec!["lib".to_owned()],
            },
            remappings: profile.remappings.unwrap_or_default(),
            detects_remappings: profile.auto_detect_remappings.unwrap_or(true),
            allow_paths: profile.allow_paths.unwrap_or_default(),
            include_paths: profile.include_paths.unwrap_or_default(),
            skip: match profile.skip {
                Some(TextOrList::Text(one)) => vec![one],
                Some(TextOrList::List(all)) => all,
                None => Vec::new(),
            },
            solc: profile.solc,
            optimizer: profile.optimizer,
            optimizer_runs: profile.optimizer_runs,
            optimizer_details: profile.optimizer_details,
            evm_version: profile.evm_version,
            via_ir: profile.via_ir.unwrap_or_default(),
            bytecode_hash: profile.bytecode_hash,
            appends_cbor: profile.cbor_metadata,
            uses_literal_content: profile.use_literal_content.unwrap_or_default(),
            revert_strings: profile.revert_strings.filter(|it| it != "default"),
            ineffective: ineffective
                .into_iter()
                .filter_map(|(key, is_set)| is_set.then_some(key))
                .collect(),
        }
    }
}

fn describe_invalid(path: PathBuf, text: &str, error: &toml::de::Error) -> LoadError {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    LoadError::InvalidConfig { path, line, reason: error.message().to_owned() }
}

impl FoundryConfig {
    /// Reads `foundry.toml`. Returns `None` if it does not exist. A profile that it does not have is the default one, as
    /// for Foundry.
    pub(crate) fn read(root: &Path, profile: Option<&str>) -> Result<Option<Self>, LoadError> {
        let path = root.join("foundry.toml");
        if !path.is_file() {
            return Ok(None);
        }
        let text = bounded_file::read_contained_text(root, &path)?;
        let mut file: FoundryConfigFile =
            toml::from_str(&text).map_err(|error| describe_invalid(path, &text, &error))?;
        let base = file.profile.remove(DEFAULT_PROFILE).or(file.default).unwrap_or_default();
        let chosen = profile.and_then(|name| file.profile.remove(name));
        let mut settings = match chosen {
            Some(chosen) => chosen.over(base),
            None => base,
        };
        if settings.src.is_none() && !root.join("src").is_dir() && root.join(OTHER_SOURCES).is_dir()
        {
            settings.src = Some(OTHER_SOURCES.to_owned());
        }
        Ok(Some(settings.into()))
    }

    /// Returns the compiler version that the project demands.
    pub(crate) fn pinned_version(&self) -> Option<SolcVersion> {
        SolcVersion::parse(self.solc.as_deref()?)
    }

    /// Returns a remark for each setting that changes what Foundry compiles and has no effect here.
    pub(crate) fn list_ineffective(&self) -> Vec<String> {
        let mut remarks: Vec<_> = self
            .ineffective
            .iter()
            .map(|key| format!("`{key}` in foundry.toml has no effect on the built-in driver"))
            .collect();
        if let Some(solc) = self.solc.as_ref().filter(|_| self.pinned_version().is_none()) {
            remarks.push(format!(
                "`solc = \"{}\"` in foundry.toml has no effect: it is not a version; pass it with `--solc`",
                solc.escape_debug()
            ));
        }
        remarks
    }

    /// Returns the matcher of files that are not compiled.
    pub(super) fn skip_patterns(&self) -> Result<GlobSet, LoadError> {
        let mut set = GlobSetBuilder::new();
        for pattern in &self.skip {
            let invalid = |source| LoadError::InvalidSkip { pattern: pattern.clone(), source };
            let pattern = match pattern.as_str() {
                "test" | "tests" => "*.t.sol",
                "script" | "scripts" => "*.s.sol",
                pattern => pattern.trim_start_matches("./"),
            };
            set.add(GlobBuilder::new(pattern).literal_separator(false).build().map_err(invalid)?);
        }
        set.build()
            .map_err(|source| LoadError::InvalidSkip { pattern: self.skip.join(", "), source })
    }
}
