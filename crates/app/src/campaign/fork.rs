//! Decides which remote chain a campaign forks, and opens it.
//!
//! A flag is the user's own will. Everything else needs trust in the folder: variables of the environment, the files of
//! Echidna and Medusa, `foundry.toml` with its endpoints and `.env`, and cheat codes that open chains. An untrusted folder
//! causes no request, and no variable is read for it.
//!
//! A fork without a block starts from the latest one. The corpus folder remembers which one that was (`fork.json`), so that
//! a later run repeats it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::fuzz::chain::{RemoteBlock, RemoteChains, RemoteState};
use ::fuzz::config::foundry_rpc::{FoundryRpcSettings, interpolate_variables};
use ::fuzz::config::{CampaignSettings, RpcEndpoint};
use remote_chain::{PinnedBlock, RpcChains, RpcLimits, RpcOptions, RpcUrl};
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};

use super::target_trust::TargetTrust;
use crate::context::{AppContext, NoticeSink};
use crate::env::{EnvVar, Environment};
use crate::failure::{Failure, FailureExt, FailureKind, Result};
use crate::solc;

/// File in the corpus folder with the blocks that forks start from.
const RECORD_NAME: &str = "fork.json";
/// Maximum size of that file.
const MAX_RECORD: u64 = 1 << 20;

/// The chain to fork, and what cheat codes may open.
#[derive(Clone, Debug, Default)]
pub struct ForkPlan {
    endpoint: Option<RpcEndpoint>,
    block: Option<u64>,
    endpoints: BTreeMap<String, std::result::Result<RpcUrl, String>>,
    allows_cheatcodes: bool,
    cache: Option<PathBuf>,
    /// Record of an earlier run.
    record: Option<PathBuf>,
    chains: Option<RpcChains>,
}

/// Where the settings of a fork may come from, apart from flags.
pub(super) struct ForkSources<'a> {
    pub(super) app: &'a AppContext,
    /// The target's folder; `None` for the built-in demo.
    pub(super) target: Option<(&'a TargetTrust, &'a Path)>,
    /// Profile of `foundry.toml`.
    pub(super) profile: Option<&'a str>,
    /// Corpus file to replay.
    pub(super) replay: Option<&'a Path>,
}

/// The block of each fork, by its endpoint.
#[derive(Debug, Default, Serialize, Deserialize)]
struct ForkRecord {
    forks: BTreeMap<String, PinnedBlock>,
}

impl ForkPlan {
    /// Plans a fork. `files` has what files of Echidna or Medusa say, `settings` also the flags.
    ///
    /// Returns an error for contradictions, and adds remarks on what was left out.
    pub(super) fn new(
        sources: &ForkSources<'_>,
        files: (Option<RpcEndpoint>, Option<u64>),
        settings: &CampaignSettings,
        remarks: &mut Vec<String>,
    ) -> Result<Self> {
        let environment = &sources.app.environment;
        let foundry = sources.read_foundry_settings(remarks)?;
        let is_trusted = sources.target.is_some_and(|(trust, _)| trust.is_granted());
        let of_echidna = sources.read_echidna_variables(is_trusted, remarks)?;
        let foundry_endpoint = foundry.as_ref().and_then(|it| it.rpc.eth_rpc_url.clone());
        let echidna = (of_echidna.0.or(files.0), of_echidna.1.or(files.1));
        let (endpoint, block) = match (&settings.rpc_url, echidna.0) {
            (Some(flag), _) => (Some(flag.clone()), None),
            (None, Some(endpoint)) => (Some(endpoint), echidna.1),
            (None, None) => {
                (foundry_endpoint, foundry.as_ref().and_then(|it| it.rpc.fork_block_number))
            }
        };
        let block = settings.rpc_block.or(block);
        if endpoint.is_none() && settings.rpc_block.is_some() {
            return Err(Failure::usage("`--rpc-block` has no effect without an endpoint")
                .with_hint("pass `--rpc-url URL`"));
        }
        let corpus = settings.corpus_dir.as_deref().map(|folder| folder.join(RECORD_NAME));
        let replayed = || Some(sources.replay?.parent()?.parent()?.join(RECORD_NAME));
        let endpoints = foundry.map(|it| it.resolve_endpoints(environment)).unwrap_or_default();
        Ok(Self {
            endpoint,
            block,
            allows_cheatcodes: sources.allows_cheatcodes(),
            endpoints,
            cache: solc::cache_folder(environment),
            record: corpus
                .filter(|file| is_plain_file(file))
                .or_else(|| replayed().filter(|file| is_plain_file(file))),
            chains: None,
        })
    }

    /// Opens the chain to fork, and lets cheat codes open others if they may; no-op if that was done.
    ///
    /// Several test contracts are deployed on the same blocks if it was opened before the first one.
    pub fn open(&mut self, settings: &mut CampaignSettings) -> Result<()> {
        if self.chains.is_some() || self.endpoint.is_none() && !self.allows_cheatcodes {
            return Ok(());
        }
        let pins = match &self.record {
            Some(file) => read_record(file)?.forks,
            None => BTreeMap::new(),
        };
        let chains = RpcChains::new(RpcOptions {
            cache: self.cache.clone(),
            disk: disk::system_disk(),
            endpoints: self.endpoints.clone(),
            pins,
            limits: RpcLimits::default(),
        });
        if let Some(RpcEndpoint(endpoint)) = &self.endpoint {
            let opened = chains
                .open(endpoint, self.block)
                .explain("failed to fork the chain")
                .hint("check `--rpc-url` and `--rpc-block`, and that the node is running")
                .map_err(|failure| failure.with_kind(FailureKind::Operation))?;
            settings.forks.base = Some(opened);
        }
        if self.allows_cheatcodes {
            settings.forks.chains = Some(Arc::new(chains.clone()));
        }
        self.chains = Some(chains);
        Ok(())
    }

    /// Returns warnings about the cache of fetched state since the last call.
    pub fn take_warnings(&self) -> Vec<String> {
        self.chains.as_ref().map(RpcChains::take_warnings).unwrap_or_default()
    }

    /// Writes the blocks of all forks into the corpus folder, so that a later run starts from the same ones.
    pub fn save_record(&self, settings: &CampaignSettings, notices: &dyn NoticeSink) {
        let Some(folder) = &settings.corpus_dir else { return };
        let mut forks = self.chains.as_ref().map(RpcChains::pins).unwrap_or_default();
        if let Some(base) = &settings.forks.base {
            forks.insert(base.endpoint().to_owned(), pin_block(base.as_ref()));
        }
        if forks.is_empty() {
            return;
        }
        if let Err(error) = write_record(folder, &ForkRecord { forks }) {
            notices
                .warn(format_args!("failed to write {RECORD_NAME} in the corpus folder: {error}"));
        }
    }
}

/// Describes the fork of a campaign, for the user.
pub fn describe_fork(fork: &dyn RemoteState) -> String {
    let RemoteBlock { number, hash, .. } = fork.block();
    let host = fork.endpoint().split('#').next().unwrap_or_default();
    format!("forking chain {} at block {number} ({hash}) of {host}", fork.chain_id())
}

fn pin_block(state: &dyn RemoteState) -> PinnedBlock {
    let block = state.block();
    PinnedBlock { chain_id: state.chain_id(), block: block.number, block_hash: block.hash }
}

/// `foundry.toml` of a trusted folder, and its `.env`.
struct FoundryFiles {
    rpc: FoundryRpcSettings,
    variables: BTreeMap<String, String>,
}

impl FoundryFiles {
    /// Returns the URLs of the endpoints.
    fn resolve_endpoints(
        self,
        environment: &Environment,
    ) -> BTreeMap<String, std::result::Result<RpcUrl, String>> {
        let Self { rpc, variables } = self;
        let find = |name: &str| find_variable(environment, &variables, name);
        let resolve = |RpcEndpoint(text): RpcEndpoint| {
            let text = interpolate_variables(&text, find)
                .map_err(|name| format!("the variable {name} is not set"))?;
            RpcUrl::parse(&text).map_err(|error| error.to_string())
        };
        rpc.endpoints.into_iter().map(|(name, text)| (name, resolve(text))).collect()
    }
}

/// Returns a variable of the environment, or of `.env`, which does not override it.
fn find_variable(
    environment: &Environment,
    file: &BTreeMap<String, String>,
    name: &str,
) -> Option<String> {
    let own = environment.read_secret(name).map(|secret| secret.expose_secret().to_owned());
    own.or_else(|| file.get(name).cloned())
}

impl ForkSources<'_> {
    /// Returns true if cheat codes may open connections: the user trusts the tests of the project.
    fn allows_cheatcodes(&self) -> bool {
        self.target.is_some_and(|(trust, path)| trust.allows_connections(path))
    }

    /// Returns Echidna's variables.
    fn read_echidna_variables(
        &self,
        is_trusted: bool,
        remarks: &mut Vec<String>,
    ) -> Result<(Option<RpcEndpoint>, Option<u64>)> {
        let environment = &self.app.environment;
        let Some(url) = environment.get(EnvVar::EchidnaRpcUrl) else { return Ok((None, None)) };
        if !is_trusted {
            if self.target.is_some() {
                remarks.push(
                    "left out ECHIDNA_RPC_URL; run `vouch trust`, or pass `--rpc-url`".to_owned(),
                );
            }
            return Ok((None, None));
        }
        let block = environment.get(EnvVar::EchidnaRpcBlock);
        let block = block.map(|text| parse_block(EnvVar::EchidnaRpcBlock, text)).transpose()?;
        Ok((Some(RpcEndpoint(url.to_owned())), block))
    }

    /// Reads the endpoints of the target's project, with the variables that override them. `None` if there is no project,
    /// or it is not trusted.
    fn read_foundry_settings(&self, remarks: &mut Vec<String>) -> Result<Option<FoundryFiles>> {
        let Some((trust, target)) = self.target else { return Ok(None) };
        let profile = self.profile.unwrap_or("default");
        let Some(read) = trust.read_foundry_rpc(target, profile, remarks)? else {
            return Ok(None);
        };
        let environment = &self.app.environment;
        let mut rpc = read.settings;
        let variables = read.env.as_deref().map(parse_env_file).unwrap_or_default();
        if let Some(url) = environment.get(EnvVar::FoundryEthRpcUrl) {
            rpc.eth_rpc_url = Some(RpcEndpoint(url.to_owned()));
        } else if let Some(RpcEndpoint(text)) = &rpc.eth_rpc_url {
            let find = |name: &str| find_variable(environment, &variables, name);
            let resolved = interpolate_variables(text, find).map_err(|name| {
                Failure::usage(format!("`eth_rpc_url` of foundry.toml: {name} is not set"))
                    .with_hint("set the variable, or pass `--rpc-url`")
            })?;
            rpc.eth_rpc_url = Some(RpcEndpoint(resolved));
        }
        if let Some(text) = environment.get(EnvVar::FoundryForkBlockNumber) {
            rpc.fork_block_number = Some(parse_block(EnvVar::FoundryForkBlockNumber, text)?);
        }
        Ok(Some(FoundryFiles { rpc, variables }))
    }
}

fn parse_block(variable: EnvVar, text: &str) -> Result<u64> {
    let number = ::fuzz::config::number::parse_number(text);
    number.and_then(|number| u64::try_from(number).ok()).ok_or_else(|| {
        Failure::usage(format!("invalid {}: expected a block number", variable.name()))
            .with_hint("set it to a number, or unset it")
    })
}

/// Parses `NAME=value` lines, as forge reads `.env`.
pub(super) fn parse_env_file(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let pairs = lines.filter_map(|line| {
        let (name, value) = line.strip_prefix("export ").unwrap_or(line).split_once('=')?;
        let value = value.trim();
        let quoted = ['"', '\'']
            .into_iter()
            .find_map(|quote| value.strip_prefix(quote).and_then(|rest| rest.split(quote).next()));
        let plain = value.split(" #").next().unwrap_or_default().trim();
        Some((name.trim().to_owned(), quoted.unwrap_or(plain).to_owned()))
    });
    pairs.collect()
}

/// Returns true for a file that is no link, which could lead to any file, and no pipe.
fn is_plain_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_file())
}

fn read_record(file: &Path) -> Result<ForkRecord> {
    let name = file.display();
    let failed = format!("failed to read {name}");
    let hint = "remove the file, and pass `--rpc-block` to choose the block";
    let mut text = String::new();
    match fs::File::open(file) {
        Ok(opened) => {
            let read = opened.take(MAX_RECORD).read_to_string(&mut text);
            read.explain(&failed).hint(hint)?;
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(ForkRecord::default()),
        Err(error) => return Err(error).explain(&failed).hint(hint),
    }
    serde_json::from_str(&text)
        .explain(format_args!("invalid content of {name}"))
        .hint(hint)
        .map_err(|failure| failure.with_kind(FailureKind::Usage))
}

/// Writes the record; a kill leaves the old one or the new one.
fn write_record(folder: &Path, record: &ForkRecord) -> io::Result<()> {
    let disk = disk::system_disk();
    let mut file = tempfile::Builder::new().prefix(".fork").tempfile_in(folder)?;
    serde_json::to_writer_pretty(&mut file, record)?;
    file.write_all(b"\n")?;
    disk.sync_all(file.as_file())?;
    let path = file.into_temp_path();
    disk.rename(&path, &folder.join(RECORD_NAME))?;
    // It has another name now.
    std::mem::forget(path);
    disk.sync_folder_at(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_env_files_like_forge() {
        let text =
            "# KEY=no\nA=1\nexport B = \"two words\" # note\nC='x' \nD=plain # note\nbroken\nE=\n";
        let parsed = parse_env_file(text);
        let shown: Vec<_> = parsed.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(shown, ["A=1", "B=two words", "C=x", "D=plain", "E="]);
    }
}
