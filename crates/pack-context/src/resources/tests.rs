use contract::{Caller, ResourceBody};
use jiff::Timestamp;
use source::Role;
use store::{Clock, StateDir};
use tempfile::TempDir;

use super::*;
use crate::discover::{Kind, Places, Source};
use crate::sessions::Kept;
use crate::{Phase, Vectors};

/// A project of two modules, as an index would tell it.
struct Shop {
    many: usize,
}

impl Facts for Shop {
    fn name(&self) -> String {
        "shop".into()
    }

    fn status(&self) -> Status {
        Status {
            phase: Phase::Ready,
            model: Some("m".into()),
            vectors: Vectors { done: 3, all: 7 },
            ..Status::default()
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
            file("src/auth/token.ts", "typescript", Role::Core, "auth"),
            file("src/auth/token.test.ts", "typescript", Role::Test, "auth"),
            file("src/main.ts", "typescript", Role::Entry, "shop"),
            file("src/cart/`tick`.py", "python", Role::Core, "@shop/cart"),
        ];
        files.extend(
            (0..self.many).map(|n| {
                file(&format!("src/auth/part{n:05}.ts"), "typescript", Role::Core, "auth")
            }),
        );
        files
    }

    fn discoveries(&self) -> Vec<Discovery> {
        let memory = "{\"decision\": \"Tokens live in cookies\", \"module\": \"auth\", \"date\": \"2026-02-01\"}\n\
                      {\"rule\": \"Never log a\\u202e token\", \"date\": \"2026-03-01T12:10:00Z\"}\n";
        let mut found =
            Places::new(".claude/memory").in_file(".claude/memory/progress_log.jsonl", memory, "");
        let by = Source::Commit { id: "0123456789ab".into(), files: Vec::new() };
        found.push(Discovery {
            id: "x".into(),
            kind: Kind::Issue,
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

struct Rig {
    documents: Documents,
    _folder: TempDir,
}

impl Rig {
    fn new(many: usize) -> Self {
        let folder = TempDir::new().expect("a folder");
        let clock: Clock =
            Arc::new(|| "2026-03-01T12:10:00Z".parse::<Timestamp>().expect("a time"));
        let kept = Arc::new(Kept::new(&StateDir::at(folder.path().join(".vouch"))));
        let sessions = Arc::new(Sessions::with_clock(kept, clock));
        Self { documents: Documents::new(Arc::new(Shop { many }), sessions), _folder: folder }
    }

    fn read(&self, uri: &str) -> String {
        match self.documents.read(uri, &ctx()) {
            Ok(ResourceContent { body: ResourceBody::Text(text), .. }) => text,
            Ok(other) => panic!("no text: {other:?}"),
            Err(error) => error.to_string(),
        }
    }
}

#[test]
fn the_overview() {
    let rig = Rig::new(0);
    rig.documents.sessions.record_read(&ctx().caller, "src/auth/token.ts");
    insta::assert_snapshot!(rig.read("context://project/overview"));
}

#[test]
fn a_module() {
    let rig = Rig::new(0);
    insta::assert_snapshot!(rig.read("context://module/auth"));
    assert!(rig.read("context://module/%40shop%2Fcart").contains("`` src/cart/`tick`.py ``"));
}

#[test]
fn an_unknown_module_names_the_known() {
    let rig = Rig::new(0);
    insta::assert_snapshot!(rig.read("context://module/atuh\u{202e}"), @r"INVALID_INPUT: there is no module `atuh\u{202e}`; the known modules are `@shop/cart`, `auth`, `shop`");
    let template = "context://module/{name}";
    assert_eq!(rig.documents.complete(template, "name", "s"), ["shop"]);
    assert_eq!(rig.documents.complete(template, "other", "s"), Vec::<String>::new());
}

#[test]
fn sessions_as_they_go_on() {
    let rig = Rig::new(0);
    let sessions = &rig.documents.sessions;
    let mut pages =
        vec![rig.read("context://session/current"), rig.read("context://sessions/recent")];
    sessions.record_search(&ctx().caller, "cookie\n# token", 3);
    sessions.record_search(&ctx().caller, "cookie\n# token", 3);
    sessions.record_read(&ctx().caller, "src/auth/token.ts");
    sessions.record_read(&Caller::new("cli"), "src/main.ts");
    pages.push(rig.read("context://session/current"));
    pages.push(rig.read("context://sessions/recent?limit=2"));
    insta::assert_snapshot!(pages.join("\n=====\n"));
}

#[test]
fn a_page_is_bounded_and_says_so() {
    let rig = Rig::new(5_000);
    let page = rig.read("context://module/auth");
    assert!(page.len() <= MAX_BYTES && page.contains("- … and 4921 more"), "{page}");
    for n in 0..3_000 {
        rig.documents.sessions.record_search(
            &ctx().caller,
            &format!("{n} {}", "long ".repeat(90)),
            1,
        );
    }
    let page = rig.read("context://session/current");
    assert!(page.len() <= MAX_BYTES, "{}", page.len());
    let lists =
        [rig.read("context://project/overview"), rig.read("context://sessions/recent?limit=50")];
    assert!(lists.iter().all(|page| page.len() <= MAX_BYTES));
}

#[test]
fn what_is_offered() {
    let rig = Rig::new(0);
    let offered = (rig.documents.list(), rig.documents.templates());
    insta::assert_json_snapshot!(offered);
    for resource in rig.documents.list() {
        assert!(rig.read(&resource.uri).starts_with("# "), "{}", resource.uri);
    }
}
