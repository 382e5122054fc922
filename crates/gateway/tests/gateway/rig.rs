//! A gateway over adversaries, in a folder that outlives it.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use admit::Policy;
use contract::{Caller, Code, Content};
use gateway::{Adjust, Base, Gateway, GatewayError, LockFile, Options, UpstreamOptions};
use link::{Endpoint, Program, Reach, Sandbox};
use runtime::{Call, Catalog, Pipeline, PipelineOptions, Reply};
use serde_json::{Value, json};
use store::audit::AuditLog;
use store::{SqliteStore, StateDir, Store};
use testkit::adversary::{Served, adversary_command};

/// Against hanging only.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// How an upstream is reached, and which era it speaks: the four kinds that every behaviour must be the same over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) http: bool,
    pub(crate) era: &'static str,
}

pub(crate) const KINDS: [Kind; 4] = [
    Kind { http: false, era: "handshake" },
    Kind { http: false, era: "stateless" },
    Kind { http: true, era: "handshake" },
    Kind { http: true, era: "stateless" },
];

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.era, if self.http { "http" } else { "stdio" })
    }
}

/// The folder of a project: overlays, pins, state, and what each adversary counts.
pub(crate) struct Site {
    folder: tempfile::TempDir,
}

impl Site {
    pub(crate) fn new() -> Arc<Self> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("contracts")).unwrap();
        Arc::new(Self { folder })
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn overlay(&self, upstream: &str, tool: &str, overlay: &Value) {
        let folder = self.path("contracts").join(upstream);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{tool}.json")), overlay.to_string()).unwrap();
    }

    pub(crate) fn lock(&self) -> LockFile {
        LockFile::new(self.path("vouch.lock"), self.path(".lock-guard"))
    }

    fn state_file(&self, upstream: &str) -> String {
        self.path(&format!("{upstream}.state")).to_str().unwrap().to_owned()
    }

    /// What the adversary of this name has counted, in all its lives.
    pub(crate) fn counted(&self, upstream: &str) -> Value {
        let mut file = File::open(self.state_file(upstream)).unwrap();
        file.lock_shared().unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    /// How often a tool of this upstream was really called.
    pub(crate) fn ran(&self, upstream: &str, tool: &str) -> u64 {
        self.counted(upstream)["calls"][tool].as_u64().unwrap_or(0)
    }

    fn args(&self, upstream: &str, args: &[&str]) -> Vec<String> {
        let state = ["--state".to_owned(), self.state_file(upstream)];
        args.iter().map(|arg| (*arg).to_owned()).chain(state).collect()
    }

    pub(crate) fn program(&self, upstream: &str, args: &[&str]) -> Program {
        let mut command = adversary_command(self.args(upstream, args));
        Program {
            command: command.remove(0),
            args: command,
            env: BTreeMap::new(),
            folder: self.folder.path().to_owned(),
            sandbox: Sandbox::Off,
            keeper: vec![testkit::programs::supervisor().into()],
        }
    }

    pub(crate) async fn serve(&self, upstream: &str, args: &[&str]) -> Served {
        let args = self.args(upstream, args);
        Served::start(&args.iter().map(String::as_str).collect::<Vec<_>>()).await
    }
}

/// A gateway to be.
pub(crate) struct Setup {
    pub(crate) site: Arc<Site>,
    pub(crate) upstreams: Vec<UpstreamOptions>,
    pub(crate) served: Vec<Served>,
    pub(crate) separator: &'static str,
    pub(crate) adjust: Option<Adjust>,
    pub(crate) base: Base,
    pub(crate) options: PipelineOptions,
}

impl Setup {
    pub(crate) fn new() -> Self {
        Self::on(&Site::new())
    }

    pub(crate) fn on(site: &Arc<Site>) -> Self {
        Self {
            site: Arc::clone(site),
            upstreams: Vec::new(),
            served: Vec::new(),
            separator: "__",
            adjust: None,
            base: Box::new(|| Ok(Catalog::default())),
            options: PipelineOptions { live: true, ..PipelineOptions::default() },
        }
    }

    /// An upstream that is a child of ours.
    pub(crate) fn child(self, name: &str, args: &[&str]) -> Self {
        let program = self.site.program(name, args);
        self.program(name, program)
    }

    pub(crate) fn program(self, name: &str, program: Program) -> Self {
        self.upstream(name, Reach::Stdio(program))
    }

    /// An upstream that is reached by HTTP. The server itself is somebody else's.
    pub(crate) fn at(self, name: &str, url: &str) -> Self {
        let endpoint = Endpoint { url: url.to_owned(), headers: BTreeMap::new() };
        self.upstream(name, Reach::Http(endpoint))
    }

    /// An upstream of this kind, which lives as long as the rig.
    pub(crate) async fn of(mut self, kind: Kind, name: &str, args: &[&str]) -> Self {
        let args = [args, &["--era", kind.era]].concat();
        if !kind.http {
            return self.child(name, &args);
        }
        let served = self.site.serve(name, &args).await;
        let url = served.url.clone();
        self.served.push(served);
        self.at(name, &url)
    }

    fn upstream(mut self, name: &str, reach: Reach) -> Self {
        let link = link::Options::new(name, reach);
        self.upstreams.push(UpstreamOptions::new(link, Policy::default()));
        self
    }

    /// Changes the upstream that was added last.
    pub(crate) fn tune(mut self, tune: impl FnOnce(&mut UpstreamOptions)) -> Self {
        tune(self.upstreams.last_mut().expect("an upstream"));
        self
    }

    pub(crate) fn options(mut self, change: impl FnOnce(&mut PipelineOptions)) -> Self {
        change(&mut self.options);
        self
    }

    fn settings(&self) -> Options {
        let Self { site, upstreams, separator, adjust, .. } = self;
        Options {
            separator: (*separator).to_owned(),
            contracts: site.path("contracts"),
            contracts_shown: "contracts".to_owned(),
            lock: site.path("vouch.lock"),
            lock_guard: site.path(".lock-guard"),
            samples: None,
            adjust: adjust.clone(),
            upstreams: upstreams.clone(),
        }
    }

    /// Serves, without waiting for anybody.
    pub(crate) async fn begin(self) -> Rig {
        let settings = self.settings();
        let Self { site, served, base, options, .. } = self;
        let gateway = Gateway::new(settings, base).unwrap();
        let state = StateDir::open(site.path(".vouch")).unwrap();
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&state).unwrap());
        let audit = AuditLog::open(state.audit_log()).unwrap();
        let catalog = Catalog::default();
        let pipeline = Pipeline::new(catalog, Arc::clone(&store), audit, options).await.unwrap();
        gateway.keep(&pipeline);
        Rig { gateway, pipeline, store, site, served }
    }

    /// Serves, and waits until every upstream has been looked at.
    pub(crate) async fn start(self) -> Rig {
        let rig = self.begin().await;
        rig.gateway.settle(LIMIT).await;
        rig.gateway.publish(&rig.pipeline);
        for upstream in rig.gateway.upstreams() {
            assert!(upstream.view().admission.is_some(), "{:?}", upstream.view().failure);
        }
        rig
    }
}

/// A gateway that serves nobody, or why there is none.
pub(crate) fn gateway(setup: Setup) -> Result<Arc<Gateway>, GatewayError> {
    Gateway::new(setup.settings(), setup.base)
}

/// A running gateway.
pub(crate) struct Rig {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) pipeline: Arc<Pipeline>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) site: Arc<Site>,
    pub(crate) served: Vec<Served>,
}

impl Rig {
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Reply {
        self.call_as("tester", tool, arguments).await
    }

    pub(crate) async fn call_as(&self, principal: &str, tool: &str, arguments: Value) -> Reply {
        let call = self.pipeline.call(call(principal, tool, arguments));
        let reply = tokio::time::timeout(LIMIT, call).await;
        reply.unwrap_or_else(|_| panic!("`{tool}` hangs"))
    }

    /// As [`Rig::call`], told in one line.
    pub(crate) async fn tell(&self, tool: &str, arguments: Value) -> String {
        show(&self.call(tool, arguments).await)
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.pipeline.catalog().names().map(str::to_owned).collect()
    }

    pub(crate) fn offers(&self, tool: &str) -> bool {
        self.pipeline.catalog().get(tool).is_some()
    }

    /// Waits until the tool is offered, or is not any more.
    pub(crate) async fn until_offered(&self, tool: &str, is_offered: bool) {
        until(&format!("`{tool}` to be offered: {is_offered}"), || self.offers(tool) == is_offered)
            .await;
    }

    /// What admission says of one tool.
    pub(crate) fn state(&self, upstream: &str, tool: &str) -> String {
        let found = self.gateway.upstreams().iter().find(|found| found.name() == upstream);
        let view = found.expect("the upstream is there").view();
        let admission = view.admission.clone().expect("the upstream was looked at");
        admission.tool(tool).map_or("absent".to_owned(), judgement)
    }

    pub(crate) async fn close(self) -> Arc<Site> {
        self.gateway.close().await;
        self.pipeline.drain().await;
        for served in self.served {
            served.stop().await;
        }
        self.site
    }
}

/// The state, and the rules that speak against it.
pub(crate) fn judgement(tool: &admit::Judged) -> String {
    let mut text = tool.state.as_str().to_owned();
    if tool.observed {
        text += " (observed)";
    }
    let rules: Vec<String> = tool.reasons.iter().map(|reason| reason.rule.to_string()).collect();
    if !rules.is_empty() {
        text = format!("{text}: {}", rules.join(", "));
    }
    let classes: Vec<String> = tool
        .change
        .iter()
        .flat_map(|change| &change.classes)
        .map(|class| format!("{class:?}"))
        .collect();
    if !classes.is_empty() {
        text = format!("{text} [{}]", classes.join(", "));
    }
    text
}

pub(crate) fn call(principal: &str, tool: &str, arguments: Value) -> Call {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    Call::new(tool, arguments, Caller::new(principal))
}

/// The whole reply on one line, but for what differs from run to run.
pub(crate) fn show(reply: &Reply) -> String {
    match reply {
        Reply::Done(output) => {
            let content: Vec<Value> = output.content.iter().map(Content::to_block).collect();
            let kind = if output.is_error { "ERROR" } else { "data" };
            let structured = output.structured.as_ref().map(Value::to_string);
            format!("{kind} {} {}", structured.unwrap_or("-".into()), json!(content))
        }
        Reply::Failed(error) => {
            let mut details = error.details.clone();
            for (name, stays) in
                [("callId", true), ("hint", false), ("approvalId", true), ("expiresAt", false)]
            {
                if details.shift_remove(name).is_some() && stays {
                    details.insert(name.to_owned(), json!("…"));
                }
            }
            let mut message = error.message.clone();
            if let Some(id) = error.details.get("approvalId").and_then(Value::as_str) {
                message = message.replace(id, "…");
            }
            format!("{} {message} {}", error.code, Value::Object(details))
        }
        Reply::InputRequired { questions, .. } => {
            format!("asks {:?}", questions.iter().map(|question| &question.key).collect::<Vec<_>>())
        }
        Reply::Refused(refusal) => format!("refused {refusal:?}"),
    }
}

pub(crate) fn code(reply: &Reply) -> Option<Code> {
    reply.code()
}

pub(crate) fn structured(reply: &Reply) -> &Value {
    match reply {
        Reply::Done(output) if !output.is_error => output.structured.as_ref().expect("structured"),
        other => panic!("no data: {other:?}"),
    }
}

pub(crate) async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let ends = tokio::time::Instant::now() + LIMIT;
    while !condition() {
        assert!(tokio::time::Instant::now() < ends, "waited in vain for {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Client allowlists by principal.
pub(crate) fn only(tools: &'static [&'static str]) -> Arc<dyn runtime::ToolFilter> {
    Arc::new(move |tool: &str| tools.contains(&tool))
}

pub(crate) fn clients(
    table: &[(&str, &'static [&'static str])],
) -> HashMap<String, Arc<dyn runtime::ToolFilter>> {
    table.iter().map(|(name, tools)| ((*name).to_owned(), only(tools))).collect()
}
