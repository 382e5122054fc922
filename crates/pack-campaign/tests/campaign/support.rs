//! Campaigns that tests look at and steer, and calls of tools as the pipeline makes them.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use contract::{CallContext, Caller, Code, Content, Output, Tool, ToolError};
use fuzz::campaign::{Campaign, Command, Shared, Start};
use fuzz::config::Settings;
use fuzz::deploy::deploy;
use fuzz::generate::Dictionary;
use fuzz::target::Target;
use pack_campaign::{CampaignPack, CommandLog, Live, Seat};
use serde_json::Value;
use solidity::{Build, Toolchain};
use tempfile::TempDir;

/// No test makes so many calls.
const NEVER: u64 = u64::MAX / 2;
/// Enough for all that the vault can show.
pub(crate) const SOON: u64 = 20_000;
/// A wait that takes longer has gone wrong.
const PATIENCE: Duration = Duration::from_secs(60);

/// One campaign with the tools that see it.
pub(crate) struct Scene {
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) pack: CampaignPack,
    pub(crate) shared: Arc<Shared>,
    pub(crate) folder: TempDir,
    campaign: Option<Campaign>,
}

/// What differs from a campaign on the vault that two workers go on with until they are stopped.
pub(crate) struct Setting {
    pub(crate) build: Build,
    pub(crate) contract: &'static str,
    pub(crate) settings: Settings,
    pub(crate) workers: usize,
    pub(crate) commands: Vec<(u64, Command)>,
    /// Its workers wait from the first call on, so that it cannot end before it is steered.
    pub(crate) is_paused: bool,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            build: vault(),
            contract: "Vault",
            settings: Settings { test_limit: NEVER, seed: Some(7), ..Settings::default() },
            workers: 2,
            commands: Vec::new(),
            is_paused: false,
        }
    }
}

impl Setting {
    /// A contract of the fuzzer's own targets.
    pub(crate) fn of(contract: &'static str) -> Self {
        let targets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/tests/targets.json");
        let mut build = load(&targets);
        let path = format!("{contract}.sol");
        build.contracts.retain(|it| it.source == path);
        build.sources.retain(|it| it.path == path);
        Self { build, contract, ..Self::default() }
    }

    pub(crate) fn target(&self) -> Arc<Target> {
        let index = self.build.contracts.iter().position(|it| it.name == self.contract).unwrap();
        Arc::new(deploy(Arc::new(self.build.clone()), index, &self.settings).unwrap())
    }

    pub(crate) fn start(self) -> Campaign {
        let target = self.target();
        let start = if self.is_paused { Campaign::start_paused } else { Campaign::start };
        start(Start {
            dictionary: Dictionary::of(&target, &self.settings),
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

/// What `vouch fuzz --demo` fuzzes.
fn vault() -> Build {
    // Unpacked in this order, because a source that is newer than its build would be refused.
    let folder = tempfile::tempdir().unwrap();
    let compiled = folder.path().join("Vault.json");
    fs::write(
        folder.path().join("Vault.sol"),
        include_str!("../../../app/src/campaign/demo/Vault.sol"),
    )
    .unwrap();
    fs::write(&compiled, include_str!("../../../app/src/campaign/demo/Vault.json")).unwrap();
    load(&compiled)
}

fn load(path: &Path) -> Build {
    solidity::load(path, &Toolchain::default()).unwrap()
}

impl Scene {
    /// A campaign that goes on until the test ends.
    pub(crate) fn running(setting: Setting) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let campaign = setting.start();
        let shared = Arc::clone(campaign.shared());
        let seat = Arc::new(Seat::new("vault"));
        seat.begin(Live {
            shared: Arc::clone(&shared),
            output: Some(folder.path().to_owned()),
            scene: None,
            log: CommandLog::open(folder.path()).unwrap(),
        });
        Self::of(seat, shared, folder, campaign)
    }

    pub(crate) fn of(
        seat: Arc<Seat>,
        shared: Arc<Shared>,
        folder: TempDir,
        campaign: Campaign,
    ) -> Self {
        let pack = CampaignPack::new(vec![seat]);
        let tools = pack.tools().unwrap();
        Self { tools, pack, shared, folder, campaign: Some(campaign) }
    }

    /// The vault's, after it has found something; its workers wait, so that nothing changes.
    pub(crate) fn paused() -> Self {
        let scene = Self::running(Setting::default());
        until("something is found", || scene.shared.corpus_size() > 3);
        scene.shared.pause();
        let counts = || {
            (scene.shared.calls_by_worker(), scene.shared.corpus_size(), scene.shared.events.len())
        };
        let mut before = counts();
        until("the workers wait", || {
            std::thread::sleep(Duration::from_millis(150));
            std::mem::replace(&mut before, counts()) == before
        });
        scene
    }

    /// The vault's, after its end.
    pub(crate) fn ended() -> Self {
        let mut setting = Setting::default();
        setting.settings.test_limit = SOON;
        let scene = Self::running(setting);
        until("it ends", || scene.shared.has_ended());
        scene
    }

    pub(crate) fn tool(&self, name: &str) -> &dyn Tool {
        find(&self.tools, name)
    }

    pub(crate) fn call(&self, name: &str, arguments: Value) -> Result<Value, ToolError> {
        call(self.tool(name), arguments).map(|output| output.structured.unwrap())
    }

    /// The answer, which must be one.
    #[track_caller]
    pub(crate) fn ask(&self, name: &str, arguments: Value) -> Value {
        self.call(name, arguments).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// `CODE: message` of a refusal, which must be one.
    #[track_caller]
    pub(crate) fn refusal(&self, name: &str, arguments: Value) -> String {
        match self.call(name, arguments) {
            Ok(answer) => panic!("{name} answered {answer}"),
            Err(error) => error.to_string(),
        }
    }

    /// The lines of the log of commands.
    pub(crate) fn log(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.folder.path().join("mcp-commands.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.shared.kill();
        if let Some(campaign) = self.campaign.take() {
            campaign.wait();
        }
    }
}

pub(crate) fn find<'a>(tools: &'a [Arc<dyn Tool>], name: &str) -> &'a dyn Tool {
    &**tools.iter().find(|tool| tool.contract().name == name).unwrap()
}

/// Defaults, input schema, rules, work, output schema: as the pipeline does it.
pub(crate) fn call(tool: &dyn Tool, mut arguments: Value) -> Result<Output, ToolError> {
    let contract = tool.contract();
    contract.input.fill_defaults(&mut arguments);
    contract.input.validate(&arguments).map_err(|violation| {
        tool.reword(&violation)
            .unwrap_or_else(|| ToolError::new(Code::InvalidInput, violation.message))
    })?;
    tool.check(&arguments)?;
    let output = tool.call(arguments, &CallContext::new(Caller::new("test")))?;
    contract.output.as_ref().unwrap().validate(output.structured.as_ref().unwrap()).unwrap();
    Ok(output)
}

pub(crate) fn text(output: &Output) -> &str {
    match output.content.as_slice() {
        [Content::Text(text)] => text,
        other => panic!("{other:?} is not one text"),
    }
}

#[track_caller]
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "nobody saw that {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
