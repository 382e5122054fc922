//! Tests of how catalogs are built: limits adjusted by the operator, reserved names, and resources of several providers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use contract::{
    CallContext, Caller, Constraints, ErrorCode, Resource, ResourceContent, ResourceProvider,
    ResourceTemplate, ToolError,
};
use runtime::{Catalog, PipelineOptions, RateClock, ToolCall, ToolReply};
use serde_json::json;

use crate::rig::{Rig, answer, code, scripted_tool};

#[tokio::test]
async fn adjusted_limits_are_published_and_applied() {
    let tool = || scripted_tool("tool", Constraints::default(), |_, _| answer("done"));
    let mut plain = Catalog::default();
    plain.add_tool(tool()).unwrap();
    let mut unchanged = Catalog::default();
    unchanged.add_tool_with(tool(), |_| {}).unwrap();
    let digest = |catalog: &Catalog| catalog.get("tool").unwrap().contract.digest().to_owned();
    assert_eq!(digest(&unchanged), digest(&plain));

    let mut adjusted = Catalog::default();
    adjusted
        .add_tool_with(tool(), |limits| {
            limits.max_input_bytes = 20;
            limits.open_world = true;
        })
        .unwrap();
    assert_ne!(digest(&adjusted), digest(&plain));
    let contract = &adjusted.get("tool").unwrap().contract;
    assert_eq!(contract.constraints.max_input_bytes, 20);
    assert_eq!(contract.annotations["openWorldHint"], true);
    let rig = Rig::with_catalog(adjusted, PipelineOptions::default()).await;
    assert_eq!(rig.call("tool", json!({"text": ""})).await.code(), None);
    let reply = rig.call("tool", json!({"text": "x".repeat(20)})).await;
    assert_eq!(code(&reply), ErrorCode::TooLarge);
}

/// Provides one document and one template below its own name.
struct Documents {
    name: &'static str,
    constraints: Constraints,
    has_revisions: bool,
}

impl Documents {
    fn new(name: &'static str) -> Self {
        Self { name, constraints: Constraints::default(), has_revisions: false }
    }
}

impl ResourceProvider for Documents {
    fn list_resources(&self) -> Vec<Resource> {
        vec![Resource {
            uri: format!("{}://one", self.name),
            name: self.name.into(),
            title: None,
            description: "A document.".into(),
            mime_type: "text/plain".into(),
        }]
    }

    fn list_templates(&self) -> Vec<ResourceTemplate> {
        vec![ResourceTemplate {
            uri_template: format!("{}://{{which}}", self.name),
            name: self.name.into(),
            title: None,
            description: "Documents.".into(),
            mime_type: "text/plain".into(),
        }]
    }

    fn constraints(&self) -> Constraints {
        self.constraints.clone()
    }

    fn read_resource(&self, uri: &str, _: &CallContext) -> Result<ResourceContent, ToolError> {
        match uri.strip_prefix(&format!("{}://", self.name)) {
            Some("one") => Ok(ResourceContent::from_text(uri, "text/plain", self.name)),
            Some(_) => Err(ToolError::new(ErrorCode::InvalidInput, self.name)),
            None => Err(ToolError::new(ErrorCode::NotFound, "no such document")),
        }
    }

    fn complete_variable(&self, template: &str, _: &str, _: &str) -> Vec<String> {
        assert!(template.starts_with(self.name), "{template}");
        vec![self.name.to_owned()]
    }

    fn has_revisions(&self) -> bool {
        self.has_revisions
    }

    fn resource_revision(&self, uri: &str) -> Option<u64> {
        uri.starts_with(self.name).then_some(self.name.len() as u64)
    }
}

fn joined(first: Documents, second: Documents) -> Catalog {
    let mut catalog = Catalog::default();
    catalog.add_resources(Arc::new(first), |_| {}).unwrap();
    catalog.add_resources(Arc::new(second), |_| {}).unwrap();
    catalog
}

#[tokio::test]
async fn each_provider_serves_its_own_documents() {
    let catalog = joined(Documents::new("a"), Documents::new("bb"));
    let resources = Arc::clone(catalog.resources().unwrap());
    let uris: Vec<_> = resources.list().await.unwrap().into_iter().map(|it| it.uri).collect();
    assert_eq!(uris, ["a://one", "bb://one"]);
    let templates = resources.templates().await.unwrap();
    let templates: Vec<_> = templates.into_iter().map(|it| it.uri_template).collect();
    assert_eq!(templates, ["a://{which}", "bb://{which}"]);
    for (template, name) in [("a://{which}", "a"), ("bb://{which}", "bb")] {
        let found = resources.complete(template.into(), "which".into(), String::new()).await;
        assert_eq!(found.unwrap(), [name]);
    }
    assert_eq!(resources.changes("a://one"), Some(1));
    assert_eq!(resources.changes("bb://one"), Some(2));
    assert_eq!(resources.changes("c://one"), None);

    let rig = Rig::with_catalog(catalog, PipelineOptions::default()).await;
    let read = async |uri: &str| {
        let reply =
            rig.pipeline.call(ToolCall::for_resource(uri.into(), Caller::new("tester"))).await;
        match reply {
            ToolReply::Done(output) => output.structured.unwrap()["text"].clone(),
            ToolReply::Failed(error) => json!([error.code.as_str(), error.message]),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(read("a://one").await, "a");
    assert_eq!(read("bb://one").await, "bb");
    // Only an unknown address is passed on to the second provider.
    assert_eq!(read("a://two").await, json!(["INVALID_INPUT", "a"]));
    assert_eq!(read("bb://two").await, json!(["INVALID_INPUT", "bb"]));
    assert_eq!(read("c://one").await, json!(["NOT_FOUND", "no such document"]));
}

#[test]
fn either_provider_makes_resources_subscribable() {
    for (first, second) in [(false, false), (true, false), (false, true), (true, true)] {
        let provider = |name, has_revisions| Documents { has_revisions, ..Documents::new(name) };
        let catalog = joined(provider("a", first), provider("b", second));
        assert_eq!(catalog.resources().unwrap().has_changes(), first || second);
    }
}

#[test]
fn shared_address_or_template_is_refused() {
    /// Has the template of `Documents`, and no document.
    struct SameTemplate;

    impl ResourceProvider for SameTemplate {
        fn list_resources(&self) -> Vec<Resource> {
            Vec::new()
        }

        fn list_templates(&self) -> Vec<ResourceTemplate> {
            Documents::new("a").list_templates()
        }

        fn read_resource(&self, _: &str, _: &CallContext) -> Result<ResourceContent, ToolError> {
            Err(ToolError::new(ErrorCode::NotFound, "none"))
        }
    }
    let mut catalog = Catalog::default();
    catalog.add_resources(Arc::new(Documents::new("a")), |_| {}).unwrap();
    let error = catalog.add_resources(Arc::new(Documents::new("a")), |_| {}).unwrap_err();
    assert!(error.to_string().contains("duplicate resource `a://one`"), "{error}");
    let error = catalog.add_resources(Arc::new(SameTemplate), |_| {}).unwrap_err();
    assert!(error.to_string().contains("duplicate resource `a://{which}`"), "{error}");
    catalog.add_resources(Arc::new(Documents::new("b")), |_| {}).unwrap();
}

/// A read is allowed what either provider allows, and needs what either provider needs.
#[test]
fn limits_of_both_providers_apply() {
    let narrow = Constraints {
        access: "narrow".into(),
        approval: false,
        rate_per_minute: 1,
        timeout: Duration::from_secs(1),
        max_input_bytes: 10_000,
        max_output_bytes: 20_000,
        idempotent: true,
        open_world: false,
        audit_values: true,
        rules: vec!["one".into()],
        ..Constraints::default()
    };
    let wide = Constraints {
        access: "wide".into(),
        approval: true,
        rate_per_minute: 2,
        timeout: Duration::from_secs(2),
        max_input_bytes: 30_000,
        max_output_bytes: 40_000,
        idempotent: false,
        open_world: true,
        audit_values: false,
        rules: vec!["two".into()],
        ..Constraints::default()
    };
    let merge = |first: &Constraints, second: &Constraints| {
        let provider = |name, constraints: &Constraints| Documents {
            constraints: constraints.clone(),
            ..Documents::new(name)
        };
        let catalog = joined(provider("a", first), provider("b", second));
        catalog.resources().unwrap().contract().constraints.clone()
    };
    let both = merge(&narrow, &wide);
    assert_eq!(
        both,
        Constraints {
            access: "narrow; wide".into(),
            rules: vec!["one".into(), "two".into()],
            ..wide.clone()
        }
    );
    let both = merge(&wide, &narrow);
    assert_eq!(
        both,
        Constraints {
            access: "wide; narrow".into(),
            rules: vec!["two".into(), "one".into()],
            ..wide
        }
    );
    let same = merge(&narrow, &narrow);
    assert_eq!(same, Constraints { rules: vec!["one".into(), "one".into()], ..narrow });
}

/// The operator adjusts the limits of each provider, and of the first one alone too.
#[test]
fn limits_of_resources_can_be_adjusted() {
    let mut catalog = Catalog::default();
    let limit =
        |catalog: &Catalog| catalog.resources().unwrap().contract().constraints.rate_per_minute;
    catalog.add_resources(Arc::new(Documents::new("a")), |it| it.rate_per_minute = 200).unwrap();
    assert_eq!(limit(&catalog), 200);
    catalog.add_resources(Arc::new(Documents::new("b")), |it| it.rate_per_minute = 300).unwrap();
    assert_eq!(limit(&catalog), 300);
}

#[tokio::test]
async fn changed_resources_are_a_change_and_keep_used_quota() {
    let catalog = |rate| {
        let mut catalog = Catalog::default();
        let set = |it: &mut Constraints| it.rate_per_minute = rate;
        catalog.add_resources(Arc::new(Documents::new("a")), set).unwrap();
        catalog
    };
    let rate_clock = RateClock::new(|| Duration::ZERO);
    let options = PipelineOptions { live: true, rate_clock, ..PipelineOptions::default() };
    let rig = Rig::with_catalog(catalog(1), options).await;
    let changes = rig.pipeline.catalog_changes();
    let read =
        || rig.pipeline.call(ToolCall::for_resource("a://one".into(), Caller::new("tester")));
    assert_eq!(read().await.code(), None);
    rig.pipeline.publish(catalog(1));
    assert!(!changes.has_changed().unwrap());
    assert_eq!(code(&read().await), ErrorCode::RateLimited);
    rig.pipeline.publish(Catalog::default());
    assert!(changes.has_changed().unwrap());
    assert_eq!(code(&read().await), ErrorCode::NotFound);
    rig.pipeline.publish(catalog(2));
    assert_eq!(read().await.code(), None);
}

/// An upstream that reconnects disappears for a moment, however long it was served before.
#[tokio::test]
async fn used_quota_survives_a_short_absence_at_any_time() {
    let now = Arc::new(AtomicU64::new(0));
    let clock = Arc::clone(&now);
    let rate_clock = RateClock::new(move || Duration::from_secs(clock.load(Ordering::SeqCst)));
    let full = || {
        let mut catalog = Catalog::default();
        let rare = Constraints { rate_per_minute: 1, ..Constraints::default() };
        catalog.add_tool(scripted_tool("rare", rare, |_, _| answer("done"))).unwrap();
        let set = |it: &mut Constraints| it.rate_per_minute = 1;
        catalog.add_resources(Arc::new(Documents::new("a")), set).unwrap();
        catalog
    };
    let options = PipelineOptions { live: true, rate_clock, ..PipelineOptions::default() };
    let rig = Rig::with_catalog(full(), options).await;
    let codes = async || {
        let read = ToolCall::for_resource("a://one".into(), Caller::new("tester"));
        let called = rig.call("rare", json!({"text": ""})).await.code();
        [called, rig.pipeline.call(read).await.code()]
    };
    now.store(100, Ordering::SeqCst);
    assert_eq!(codes().await, [None, None]);
    rig.pipeline.publish(Catalog::default());
    now.store(130, Ordering::SeqCst);
    rig.pipeline.publish(Catalog::default());
    rig.pipeline.publish(full());
    assert_eq!(codes().await, [Some(ErrorCode::RateLimited); 2]);
    now.store(160, Ordering::SeqCst);
    assert_eq!(codes().await, [None, None]);
}
