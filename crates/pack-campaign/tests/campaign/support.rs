//! Test campaigns, and tool calls as the pipeline makes them.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use contract::{CallContext, Caller, ContentBlock, ErrorCode, Tool, ToolError, ToolOutput};
use fuzz::campaign::{Campaign, CampaignCommand, CampaignOptions, CampaignState};
use fuzz::config::CampaignSettings;
use fuzz::deploy::deploy_target;
use fuzz::generate::ValueDictionary;
use fuzz::target::FuzzTarget;
use pack_campaign::{CampaignPack, CampaignSlot, CommandLog, LiveCampaign};
use serde_json::Value;
use solidity::{SolidityBuild, Toolchain};
use tempfile::TempDir;

/// Call limit that no test reaches.
const UNREACHABLE_CALL_LIMIT: u64 = u64::MAX / 2;
/// Call limit that suffices to find everything in the vault.
pub(crate) const SHORT_CALL_LIMIT: u64 = 20_000;
/// Maximum wait before a test fails.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// A campaign and the tools connected to it.
pub(crate) struct TestCampaign {
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) pack: CampaignPack,
    pub(crate) shared: Arc<CampaignState>,
    pub(crate) folder: TempDir,
    campaign: Option<Campaign>,
}

/// Setup of a test campaign. The default runs two workers on the vault until they are stopped.
pub(crate) struct CampaignSetup {
    pub(crate) build: SolidityBuild,
    pub(crate) contract: &'static str,
    pub(crate) settings: CampaignSettings,
    pub(crate) workers: usize,
    pub(crate) commands: Vec<(u64, CampaignCommand)>,
    /// Starts paused, so that the campaign cannot end before it is steered.
    pub(crate) is_paused: bool,
}

impl Default for CampaignSetup {
    fn default() -> Self {
        Self {
            build: build_vault(),
            contract: "Vault",
            settings: CampaignSettings {
                test_limit: UNREACHABLE_CALL_LIMIT,
                seed: Some(7),
                ..CampaignSettings::default()
            },
            workers: 2,
            commands: Vec::new(),
            is_paused: false,
        }
    }
}

impl CampaignSetup {
    /// Returns a setup for one of the fuzzer's own test contracts.
    pub(crate) fn for_contract(contract: &'static str) -> Self {
        let targets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/tests/targets.json");
        let mut build = load_build(&targets);
        let path = format!("{contract}.sol");
        build.contracts.retain(|it| it.source == path);
        build.sources.retain(|it| it.path == path);
        Self { build, contract, ..Self::default() }
    }

    pub(crate) fn target(&self) -> Arc<FuzzTarget> {
        let index = self.build.contracts.iter().position(|it| it.name == self.contract).unwrap();
        Arc::new(deploy_target(Arc::new(self.build.clone()), index, &self.settings).unwrap())
    }

    pub(crate) fn start(self) -> Campaign {
        let target = self.target();
        let start = if self.is_paused { Campaign::start_paused } else { Campaign::start };
        start(CampaignOptions {
            dictionary: ValueDictionary::from_target(&target, &self.settings),
            target,
            settings: Arc::new(self.settings),
            workers: self.workers,
            corpus: Vec::new(),
            commands: self.commands,
            recorder: Box::new(()),
        })
        .unwrap()
    }
}

/// Returns the build that `vouch fuzz --demo` fuzzes.
fn build_vault() -> SolidityBuild {
    // Written in this order, because a source newer than its build would be rejected.
    let folder = tempfile::tempdir().unwrap();
    let compiled = folder.path().join("Vault.json");
    fs::write(
        folder.path().join("Vault.sol"),
        include_str!("../../../app/src/campaign/demo/Vault.sol"),
    )
    .unwrap();
    fs::write(&compiled, include_str!("../../../app/src/campaign/demo/Vault.json")).unwrap();
    load_build(&compiled)
}

fn load_build(path: &Path) -> SolidityBuild {
    solidity::load_build(path, &Toolchain::default()).unwrap()
}

impl TestCampaign {
    /// Starts a campaign that runs until the test ends.
    pub(crate) fn running(setting: CampaignSetup) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let campaign = setting.start();
        let shared = Arc::clone(campaign.shared());
        let slot = Arc::new(CampaignSlot::new("vault"));
        slot.set_live(LiveCampaign {
            shared: Arc::clone(&shared),
            output: Some(folder.path().to_owned()),
            scene: None,
            log: CommandLog::open(folder.path()).unwrap(),
        });
        Self::from_slot(slot, shared, folder, campaign)
    }

    pub(crate) fn from_slot(
        slot: Arc<CampaignSlot>,
        shared: Arc<CampaignState>,
        folder: TempDir,
        campaign: Campaign,
    ) -> Self {
        let pack = CampaignPack::new(vec![slot]);
        let tools = pack.tools().unwrap();
        Self { tools, pack, shared, folder, campaign: Some(campaign) }
    }

    /// Returns a vault campaign that has found something and is paused, so that nothing changes.
    pub(crate) fn paused() -> Self {
        let scene = Self::running(CampaignSetup::default());
        wait_until("the corpus grows", || scene.shared.corpus_sequences() > 3);
        scene.shared.pause();
        wait_until("the workers pause", || scene.shared.is_quiescent());
        scene
    }

    /// Returns a vault campaign that has ended.
    pub(crate) fn ended() -> Self {
        let mut setting = CampaignSetup::default();
        setting.settings.test_limit = SHORT_CALL_LIMIT;
        let scene = Self::running(setting);
        wait_until("the campaign ends", || scene.shared.has_ended());
        scene
    }

    pub(crate) fn tool(&self, name: &str) -> &dyn Tool {
        find_tool(&self.tools, name)
    }

    pub(crate) fn call(&self, name: &str, arguments: Value) -> Result<Value, ToolError> {
        call_tool(self.tool(name), arguments).map(|output| output.structured.unwrap())
    }

    /// Returns the structured output; panics on an error.
    #[track_caller]
    pub(crate) fn call_ok(&self, name: &str, arguments: Value) -> Value {
        self.call(name, arguments).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Returns the error as `CODE: message`; panics if the call succeeds.
    #[track_caller]
    pub(crate) fn call_err(&self, name: &str, arguments: Value) -> String {
        match self.call(name, arguments) {
            Ok(answer) => panic!("{name} returned {answer}"),
            Err(error) => error.to_string(),
        }
    }

    /// Returns the lines of the command log.
    pub(crate) fn command_log_lines(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.folder.path().join("mcp-commands.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Drop for TestCampaign {
    fn drop(&mut self) {
        self.shared.kill();
        if let Some(campaign) = self.campaign.take() {
            campaign.wait();
        }
    }
}

pub(crate) fn find_tool<'a>(tools: &'a [Arc<dyn Tool>], name: &str) -> &'a dyn Tool {
    &**tools.iter().find(|tool| tool.contract().name == name).unwrap()
}

/// Calls a tool as the pipeline does: defaults, input schema, rules, work, output schema.
pub(crate) fn call_tool(tool: &dyn Tool, mut arguments: Value) -> Result<ToolOutput, ToolError> {
    let contract = tool.contract();
    contract.input.fill_defaults(&mut arguments);
    contract.input.validate(&arguments).map_err(|violation| {
        tool.reword_violation(&violation)
            .unwrap_or_else(|| ToolError::new(ErrorCode::InvalidInput, violation.message))
    })?;
    tool.check_arguments(&arguments)?;
    let output = tool.call(arguments, &CallContext::new(Caller::new("test")))?;
    contract.output.as_ref().unwrap().validate(output.structured.as_ref().unwrap()).unwrap();
    Ok(output)
}

pub(crate) fn text_content(output: &ToolOutput) -> &str {
    match output.content.as_slice() {
        [ContentBlock::Text(text)] => text,
        other => panic!("{other:?} is not one text"),
    }
}

#[track_caller]
pub(crate) fn wait_until(event: &str, mut is_done: impl FnMut() -> bool) {
    let end = Instant::now() + MAX_WAIT;
    while !is_done() {
        assert!(Instant::now() < end, "timed out waiting until {event}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
