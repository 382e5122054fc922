//! Test harness: a gateway over adversary servers, in a project folder that outlives it.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use admit::AdmissionPolicy;
use contract::{Caller, ContentBlock, ErrorCode};
use gateway::{
    BaseCatalogBuilder, ConstraintAdjuster, Gateway, GatewayError, GatewayOptions, LockFile,
    UpstreamOptions,
};
use link::{HttpEndpoint, SandboxPolicy, StdioProgram, UpstreamEndpoint};
use runtime::{Catalog, Pipeline, PipelineOptions, ToolCall, ToolReply};
use serde_json::{Value, json};
use store::audit::{AuditKeyLocation, AuditLog, AuditOptions};
use store::{SqliteStore, StateDir, Store};
use testkit::adversary::{HttpAdversary, adversary_command};

/// Time limit that only guards against hanging.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// Transport and protocol era of an upstream. Behavior must be equal over all four kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UpstreamKind {
    pub(crate) http: bool,
    pub(crate) era: &'static str,
}

pub(crate) const KINDS: [UpstreamKind; 4] = [
    UpstreamKind { http: false, era: "handshake" },
    UpstreamKind { http: false, era: "stateless" },
    UpstreamKind { http: true, era: "handshake" },
    UpstreamKind { http: true, era: "stateless" },
];

impl std::fmt::Display for UpstreamKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.era, if self.http { "http" } else { "stdio" })
    }
}

/// A project folder with overlays, pins, state, and the call counts of each adversary.
pub(crate) struct ProjectFolder {
    folder: tempfile::TempDir,
}

impl ProjectFolder {
    pub(crate) fn new() -> Arc<Self> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("contracts")).unwrap();
        Arc::new(Self { folder })
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write_overlay(&self, upstream: &str, tool: &str, overlay: &Value) {
        let folder = self.path("contracts").join(upstream);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{tool}.json")), overlay.to_string()).unwrap();
    }

    pub(crate) fn lock_file(&self) -> LockFile {
        LockFile::new(self.path("vouch.lock"), self.path(".lock-guard"))
    }

    fn state_file(&self, upstream: &str) -> String {
        self.path(&format!("{upstream}.state")).to_str().unwrap().to_owned()
    }

    /// Returns the counts of an adversary over all its restarts.
    pub(crate) fn read_counts(&self, upstream: &str) -> Value {
        let mut file = File::open(self.state_file(upstream)).unwrap();
        file.lock_shared().unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    /// Gives the tool `good` of an adversary this definition from its next listing on.
    pub(crate) fn define_good(&self, upstream: &str, definition: &Value) {
        let mut file =
            File::options().read(true).write(true).open(self.state_file(upstream)).unwrap();
        file.lock().unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        let mut state: Value = serde_json::from_str(&text).unwrap();
        state["mutation"] = definition.to_string().into();
        file.rewind().unwrap();
        file.set_len(0).unwrap();
        file.write_all(state.to_string().as_bytes()).unwrap();
    }

    /// Returns how often a tool of this upstream was actually called.
    pub(crate) fn count_calls(&self, upstream: &str, tool: &str) -> u64 {
        self.read_counts(upstream)["calls"][tool].as_u64().unwrap_or(0)
    }

    fn adversary_args(&self, upstream: &str, args: &[&str]) -> Vec<String> {
        let state = ["--state".to_owned(), self.state_file(upstream)];
        args.iter().map(|arg| (*arg).to_owned()).chain(state).collect()
    }

    pub(crate) fn adversary_program(&self, upstream: &str, args: &[&str]) -> StdioProgram {
        let mut command = adversary_command(self.adversary_args(upstream, args));
        StdioProgram {
            command: command.remove(0),
            args: command,
            env: BTreeMap::new(),
            folder: self.folder.path().to_owned(),
            sandbox: SandboxPolicy::Off,
            supervisor: vec![testkit::programs::find_supervisor().into()],
        }
    }

    pub(crate) async fn serve_adversary(&self, upstream: &str, args: &[&str]) -> HttpAdversary {
        let args = self.adversary_args(upstream, args);
        HttpAdversary::start(&args.iter().map(String::as_str).collect::<Vec<_>>()).await
    }
}

/// Builder of a [`TestGateway`].
pub(crate) struct GatewaySetup {
    pub(crate) site: Arc<ProjectFolder>,
    pub(crate) upstreams: Vec<UpstreamOptions>,
    pub(crate) served: Vec<HttpAdversary>,
    pub(crate) separator: &'static str,
    pub(crate) adjust: Option<ConstraintAdjuster>,
    pub(crate) base: BaseCatalogBuilder,
    pub(crate) options: PipelineOptions,
}

impl GatewaySetup {
    pub(crate) fn new() -> Self {
        Self::in_project(&ProjectFolder::new())
    }

    pub(crate) fn in_project(site: &Arc<ProjectFolder>) -> Self {
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

    /// Adds an upstream that runs as a child process.
    pub(crate) fn with_child(self, name: &str, args: &[&str]) -> Self {
        let program = self.site.adversary_program(name, args);
        self.with_program(name, program)
    }

    pub(crate) fn with_program(self, name: &str, program: StdioProgram) -> Self {
        self.with_upstream(name, UpstreamEndpoint::Stdio(program))
    }

    /// Adds an upstream that is reached over HTTP. The caller runs the server.
    pub(crate) fn with_url(self, name: &str, url: &str) -> Self {
        let endpoint = HttpEndpoint { url: url.to_owned(), headers: BTreeMap::new() };
        self.with_upstream(name, UpstreamEndpoint::Http(endpoint))
    }

    /// Adds an upstream of this kind, which lives as long as the test gateway.
    pub(crate) async fn with_kind(mut self, kind: UpstreamKind, name: &str, args: &[&str]) -> Self {
        let args = [args, &["--era", kind.era]].concat();
        if !kind.http {
            return self.with_child(name, &args);
        }
        let served = self.site.serve_adversary(name, &args).await;
        let url = served.url.clone();
        self.served.push(served);
        self.with_url(name, &url)
    }

    fn with_upstream(mut self, name: &str, reach: UpstreamEndpoint) -> Self {
        let mut link = link::Options::new(name, reach);
        // Time limits of connections are tested in `link`; on a busy machine they would end other tests.
        link.connect_timeout = LIMIT;
        self.upstreams.push(UpstreamOptions::new(link, AdmissionPolicy::default()));
        self
    }

    /// Changes the options of the last added upstream.
    pub(crate) fn tune_upstream(mut self, tune: impl FnOnce(&mut UpstreamOptions)) -> Self {
        tune(self.upstreams.last_mut().expect("an upstream"));
        self
    }

    pub(crate) fn tune_pipeline(mut self, change: impl FnOnce(&mut PipelineOptions)) -> Self {
        change(&mut self.options);
        self
    }

    fn gateway_options(&self) -> GatewayOptions {
        let Self { site, upstreams, separator, adjust, .. } = self;
        GatewayOptions {
            separator: (*separator).to_owned(),
            contracts: site.path("contracts"),
            contracts_shown: "contracts".to_owned(),
            lock: site.path("vouch.lock"),
            lock_guard: site.path(".lock-guard"),
            trust: None,
            samples: None,
            adjust: adjust.clone(),
            upstreams: upstreams.clone(),
        }
    }

    /// Starts serving without waiting for upstreams.
    pub(crate) async fn start_without_waiting(self) -> TestGateway {
        let settings = self.gateway_options();
        let Self { site, served, base, options, .. } = self;
        let gateway = Gateway::new(settings, base).unwrap();
        let state = StateDir::open(site.path(".vouch")).unwrap();
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&state).unwrap());
        let keys = AuditKeyLocation::new(site.path(".audit-keys"));
        let audit = AuditLog::open(state.audit_log_path(), &AuditOptions::new(keys)).unwrap();
        let catalog = Catalog::default();
        let pipeline = Pipeline::new(catalog, Arc::clone(&store), audit, options).await.unwrap();
        gateway.keep_current(&pipeline);
        TestGateway { gateway, pipeline, store, site, served }
    }

    /// Starts serving and waits until every upstream has been refreshed.
    pub(crate) async fn start(self) -> TestGateway {
        let rig = self.start_without_waiting().await;
        rig.gateway.wait_until_refreshed(LIMIT).await;
        rig.gateway.publish_catalog(&rig.pipeline);
        for upstream in rig.gateway.upstreams() {
            assert!(upstream.snapshot().admission.is_some(), "{:?}", upstream.snapshot().failure);
        }
        rig
    }
}

/// Creates a gateway without serving.
pub(crate) fn create_gateway(setup: GatewaySetup) -> Result<Arc<Gateway>, GatewayError> {
    Gateway::new(setup.gateway_options(), setup.base)
}

/// A running gateway.
pub(crate) struct TestGateway {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) pipeline: Arc<Pipeline>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) site: Arc<ProjectFolder>,
    pub(crate) served: Vec<HttpAdversary>,
}

impl TestGateway {
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> ToolReply {
        self.call_as("tester", tool, arguments).await
    }

    pub(crate) async fn call_as(&self, principal: &str, tool: &str, arguments: Value) -> ToolReply {
        let call = self.pipeline.call(call(principal, tool, arguments));
        let reply = tokio::time::timeout(LIMIT, call).await;
        reply.unwrap_or_else(|_| panic!("`{tool}` hangs"))
    }

    /// Like [`TestGateway::call`], but returns the reply as one line.
    pub(crate) async fn call_to_text(&self, tool: &str, arguments: Value) -> String {
        format_reply(&self.call(tool, arguments).await)
    }

    pub(crate) fn tool_names(&self) -> Vec<String> {
        self.pipeline.catalog().names().map(str::to_owned).collect()
    }

    pub(crate) fn is_offered(&self, tool: &str) -> bool {
        self.pipeline.catalog().get(tool).is_some()
    }

    /// Waits until the tool is offered, or no longer offered.
    pub(crate) async fn wait_until_offered(&self, tool: &str, is_offered: bool) {
        wait_until(&format!("`{tool}` to be offered: {is_offered}"), || {
            self.is_offered(tool) == is_offered
        })
        .await;
    }

    /// Returns the admission status of one tool.
    pub(crate) fn tool_status(&self, upstream: &str, tool: &str) -> String {
        let found = self.gateway.upstreams().iter().find(|found| found.name() == upstream);
        let view = found.expect("the upstream exists").snapshot();
        let admission = view.admission.clone().expect("the upstream was refreshed");
        admission.find_tool(tool).map_or("absent".to_owned(), describe_status)
    }

    pub(crate) async fn close(self) -> Arc<ProjectFolder> {
        self.gateway.close().await;
        self.pipeline.drain().await;
        for served in self.served {
            served.stop().await;
        }
        self.site
    }
}

/// Returns the status of a tool with its rules and change classes.
pub(crate) fn describe_status(tool: &admit::ToolAdmission) -> String {
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

pub(crate) fn call(principal: &str, tool: &str, arguments: Value) -> ToolCall {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    ToolCall::new(tool, arguments, Caller::new(principal))
}

/// Returns the reply as one line, without parts that differ between runs.
pub(crate) fn format_reply(reply: &ToolReply) -> String {
    match reply {
        ToolReply::Done(output) => {
            let content: Vec<Value> = output.content.iter().map(ContentBlock::to_block).collect();
            let kind = if output.is_error { "ERROR" } else { "data" };
            let structured = output.structured.as_ref().map(Value::to_string);
            format!("{kind} {} {}", structured.unwrap_or("-".into()), json!(content))
        }
        ToolReply::Failed(error) => {
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
        ToolReply::InputRequired { elicitations: questions, .. } => {
            format!("asks {:?}", questions.iter().map(|question| &question.key).collect::<Vec<_>>())
        }
        ToolReply::Refused(refusal) => format!("refused {refusal:?}"),
    }
}

pub(crate) fn reply_code(reply: &ToolReply) -> Option<ErrorCode> {
    reply.code()
}

pub(crate) fn structured_content(reply: &ToolReply) -> &Value {
    match reply {
        ToolReply::Done(output) if !output.is_error => {
            output.structured.as_ref().expect("structured")
        }
        other => panic!("no data: {other:?}"),
    }
}

pub(crate) async fn wait_until(event: &str, mut condition: impl FnMut() -> bool) {
    let ends = tokio::time::Instant::now() + LIMIT;
    while !condition() {
        assert!(tokio::time::Instant::now() < ends, "timed out waiting for {event}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Returns a filter that allows only these tools.
pub(crate) fn allow_only(tools: &'static [&'static str]) -> Arc<dyn runtime::ToolFilter> {
    Arc::new(move |tool: &str| tools.contains(&tool))
}

/// Returns a person who decides on queued approvals.
pub(crate) fn decider() -> store::Approver {
    store::Approver::new("ann", store::ApprovalChannel::Queue)
}

/// Returns tool filters by principal.
pub(crate) fn client_filters(
    table: &[(&str, &'static [&'static str])],
) -> HashMap<String, runtime::ClientPolicy> {
    let policy = |tools| runtime::ClientPolicy {
        tools: Some(allow_only(tools)),
        ..runtime::ClientPolicy::default()
    };
    table.iter().map(|(name, tools)| ((*name).to_owned(), policy(tools))).collect()
}
