use contract::{Caller, ResourceBody};
use jiff::Timestamp;
use source::FileRole;
use store::{Clock, StateDir};
use tempfile::TempDir;

use super::*;
use crate::discover::{DiscoveryExtractor, DiscoveryKind, DiscoverySource};
use crate::sessions::LazyContextStore;
use crate::{IndexPhase, VectorProgress};

/// A fake project with three modules.
struct ShopFacts {
    extra_files: usize,
}

impl ProjectFacts for ShopFacts {
    fn name(&self) -> String {
        "shop".into()
    }

    fn status(&self) -> IndexStatus {
        IndexStatus {
            phase: IndexPhase::Ready,
            model: Some("m".into()),
            vectors: VectorProgress { done: 3, all: 7 },
            ..IndexStatus::default()
        }
    }

    fn refresh(&self, _: &CallContext) {}

    fn files(&self) -> Vec<FileFact> {
        let file = |path: &str, language: &str, role, module: &str| FileFact {
            path: path.into(),
            language: Some(language.into()),
            role,
            module: Some(module.into()),
        };
        let mut files = vec![
            file("src/auth/token.ts", "typescript", FileRole::Core, "auth"),
            file("src/auth/token.test.ts", "typescript", FileRole::Test, "auth"),
            file("src/main.ts", "typescript", FileRole::Entry, "shop"),
            file("src/cart/`tick`.py", "python", FileRole::Core, "@shop/cart"),
        ];
        files.extend((0..self.extra_files).map(|n| {
            file(&format!("src/auth/part{n:05}.ts"), "typescript", FileRole::Core, "auth")
        }));
        files
    }

    fn discoveries(&self) -> Vec<Discovery> {
        let memory = "{\"decision\": \"Tokens live in cookies\", \"module\": \"auth\", \"date\": \"2026-02-01\"}\n\
                      {\"rule\": \"Never log a\\u202e token\", \"date\": \"2026-03-01T12:10:00Z\"}\n";
        let mut found = DiscoveryExtractor::new(".claude/memory").extract_from_file(
            ".claude/memory/progress_log.jsonl",
            memory,
            "",
        );
        let by = DiscoverySource::Commit { id: "0123456789ab".into(), files: Vec::new() };
        found.push(Discovery {
            id: "x".into(),
            kind: DiscoveryKind::Issue,
            title: Some("fix: refresh twice".into()),
            content: "It raced.".into(),
            module: Some("auth".into()),
            session: None,
            tags: Vec::new(),
            date: "2026-01-01T00:00:00Z".into(),
            source: by,
        });
        found
    }

    fn imports(&self, paths: &[&str], _: &CallContext) -> Vec<String> {
        let imported: &[&str] = match paths.contains(&"src/auth/token.ts") {
            true => &["src/cart/`tick`.py", "src/auth/token.test.ts"],
            false => &[],
        };
        imported.iter().map(|path| (*path).to_owned()).collect()
    }
}

fn ctx() -> CallContext {
    let session = Some("handle".into());
    CallContext::new(Caller { client: Some("editor/1".into()), session, ..Caller::new("stdio") })
}

struct ResourcesFixture {
    resources: ContextResources,
    _folder: TempDir,
}

impl ResourcesFixture {
    fn new(extra_files: usize) -> Self {
        let folder = TempDir::new().expect("a folder");
        let clock: Clock =
            Arc::new(|| "2026-03-01T12:10:00Z".parse::<Timestamp>().expect("a time"));
        let store =
            Arc::new(LazyContextStore::new(&StateDir::from_path(folder.path().join(".vouch"))));
        let sessions = Arc::new(SessionTracker::with_clock(store, clock));
        let resources = ContextResources::new(Arc::new(ShopFacts { extra_files }), sessions);
        Self { resources, _folder: folder }
    }

    fn read(&self, uri: &str) -> String {
        match self.resources.read_resource(uri, &ctx()) {
            Ok(ResourceContent { body: ResourceBody::Text(text), .. }) => text,
            Ok(other) => panic!("not text: {other:?}"),
            Err(error) => error.to_string(),
        }
    }
}

#[test]
fn renders_project_overview() {
    let fixture = ResourcesFixture::new(0);
    fixture.resources.sessions.record_read(&ctx().caller, "src/auth/token.ts");
    insta::assert_snapshot!(fixture.read("context://project/overview"));
}

#[test]
fn renders_module_page() {
    let fixture = ResourcesFixture::new(0);
    insta::assert_snapshot!(fixture.read("context://module/auth"));
    assert!(fixture.read("context://module/%40shop%2Fcart").contains("`` src/cart/`tick`.py ``"));
}

#[test]
fn unknown_module_error_lists_known_modules() {
    let fixture = ResourcesFixture::new(0);
    insta::assert_snapshot!(fixture.read("context://module/atuh\u{202e}"), @r"INVALID_INPUT: unknown module `atuh\u{202e}`; known modules: `@shop/cart`, `auth`, `shop`");
    let template = "context://module/{name}";
    assert_eq!(fixture.resources.complete_variable(template, "name", "s"), ["shop"]);
    assert_eq!(fixture.resources.complete_variable(template, "other", "s"), Vec::<String>::new());
}

#[test]
fn session_pages_follow_recorded_activity() {
    let fixture = ResourcesFixture::new(0);
    let sessions = &fixture.resources.sessions;
    let mut pages =
        vec![fixture.read("context://session/current"), fixture.read("context://sessions/recent")];
    sessions.record_search(&ctx().caller, "cookie\n# token", 3);
    sessions.record_search(&ctx().caller, "cookie\n# token", 3);
    sessions.record_read(&ctx().caller, "src/auth/token.ts");
    sessions.record_read(&Caller::new("cli"), "src/main.ts");
    pages.push(fixture.read("context://session/current"));
    pages.push(fixture.read("context://sessions/recent?limit=2"));
    insta::assert_snapshot!(pages.join("\n=====\n"));
}

#[test]
fn pages_are_bounded_and_report_omitted_items() {
    let fixture = ResourcesFixture::new(5_000);
    let page = fixture.read("context://module/auth");
    assert!(page.len() <= MAX_BYTES && page.contains("- … and 4921 more"), "{page}");
    for n in 0..3_000 {
        fixture.resources.sessions.record_search(
            &ctx().caller,
            &format!("{n} {}", "long ".repeat(90)),
            1,
        );
    }
    let page = fixture.read("context://session/current");
    assert!(page.len() <= MAX_BYTES, "{}", page.len());
    let lists = [
        fixture.read("context://project/overview"),
        fixture.read("context://sessions/recent?limit=50"),
    ];
    assert!(lists.iter().all(|page| page.len() <= MAX_BYTES));
}

#[test]
fn lists_resources_and_templates() {
    let fixture = ResourcesFixture::new(0);
    let listed = (fixture.resources.list_resources(), fixture.resources.list_templates());
    insta::assert_json_snapshot!(listed);
    for resource in fixture.resources.list_resources() {
        assert!(fixture.read(&resource.uri).starts_with("# "), "{}", resource.uri);
    }
}
