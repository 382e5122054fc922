//! A temporary project, its pack, and an embedder with predictable vectors.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use contract::{Tool, ToolError};
use embed::{EmbedError, Embedder, EmbeddingModel};
use pack_context::{ContextOptions, ContextPack, IndexPhase};
use serde_json::{Value, json};
use store::StateDir;
use tempfile::TempDir;

use crate::pipeline_call::call_tool;

/// Timeout, far longer than any wait here; only a hang reaches it.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

pub(crate) struct Project {
    folder: TempDir,
    pub(crate) embedder: Arc<ConceptEmbedder>,
}

impl Project {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), embedder: ConceptEmbedder::new("concepts") }
    }

    /// Creates a small shop project with code, documentation, decisions and a test.
    pub(crate) fn shop() -> Self {
        let project = Self::new();
        project.write("README.md", "# Shop\n\nSells things. Orders are paid by card.\n");
        project.write("Cargo.toml", "[package]\nname = \"shop\"\n");
        project.write(
            "src/auth/token.rs",
            "/// Signs a token for a customer.\npub fn sign_token(customer: &str) -> String {\n    format!(\"{customer}.sig\")\n}\n\n\
             /// Checks the signature of a token.\npub fn verify_token(token: &str) -> bool {\n    token.ends_with(\".sig\")\n}\n",
        );
        project.write(
            "src/orders/cart.rs",
            "pub struct Cart {\n    pub items: Vec<u32>,\n}\n\nimpl Cart {\n    pub fn total_price(&self) -> u32 {\n        self.items.iter().sum()\n    }\n}\n",
        );
        project
            .write("tests/cart_test.rs", "#[test]\nfn total_price_of_an_empty_cart_is_zero() {}\n");
        project.write(
            ".claude/memory/decisions.jsonl",
            "{\"type\": \"decision\", \"content\": \"Keep orders in Postgres, because reports need joins\", \"module\": \"orders\"}\n\
             {\"type\": \"rule\", \"content\": \"Never log a customer's token\", \"module\": \"auth\"}\n",
        );
        project
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    pub(crate) fn state(&self) -> StateDir {
        fs::create_dir_all(self.root()).unwrap();
        StateDir::open(self.root().join(".vouch")).unwrap()
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn append(&self, path: &str, content: &str) {
        let mut all = fs::read_to_string(self.path(path)).unwrap_or_default();
        all.push_str(content);
        self.write(path, all);
    }

    pub(crate) fn remove(&self, path: &str) {
        fs::remove_file(self.path(path)).unwrap();
    }

    pub(crate) fn rename(&self, from: &str, to: &str) {
        fs::create_dir_all(self.path(to).parent().unwrap()).unwrap();
        fs::rename(self.path(from), self.path(to)).unwrap();
    }

    pub(crate) fn options(&self) -> ContextOptions {
        let embedder = Arc::clone(&self.embedder) as Arc<dyn Embedder>;
        let threads = NonZeroUsize::new(2).unwrap();
        ContextOptions { embedder: Some(embedder), threads, ..ContextOptions::default() }
    }

    /// Opens a pack as a separate process would.
    pub(crate) fn open(&self) -> PackSession {
        self.open_with(self.options())
    }

    pub(crate) fn open_with(&self, options: ContextOptions) -> PackSession {
        let pack = ContextPack::open(&self.root(), &self.state(), options).unwrap();
        PackSession { tools: pack.tools().unwrap(), pack }
    }

    /// Opens a pack and completes its index.
    pub(crate) fn complete(&self) -> PackSession {
        let session = self.open();
        assert!(session.pack.index().run_to_completion(&|_| (), &|| false));
        session
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.path(".vouch/index.db")
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// An open pack and its tools.
pub(crate) struct PackSession {
    pub(crate) pack: ContextPack,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
}

impl PackSession {
    pub(crate) fn tool(&self, name: &str) -> &dyn Tool {
        &**self.tools.iter().find(|tool| tool.contract().name == name).unwrap()
    }

    pub(crate) fn call(&self, name: &str, arguments: Value) -> Result<Value, ToolError> {
        call_tool(self.tool(name), arguments)
    }

    pub(crate) fn search(&self, query: &str) -> Value {
        self.call("context_search", json!({"query": query})).unwrap()
    }

    /// Searches; returns the paths of the results, best first. A result without a path gives its type.
    pub(crate) fn search_paths(&self, query: &str) -> Vec<String> {
        result_paths(&self.search(query))
    }

    /// Searches; returns the best result on one line.
    pub(crate) fn best_result(&self, query: &str) -> String {
        let answer = self.search(query);
        let best = &answer["results"][0];
        format!("{} {} {}", best["type"], best["path"], best["content"])
    }

    /// Waits until the index is ready and every text is embedded.
    pub(crate) fn wait_until_embedded(&self) {
        wait_for(|| {
            let status = self.pack.index().status();
            status.phase == IndexPhase::Ready && status.vectors.done == status.vectors.all
        });
    }
}

/// Returns the paths of the results, or their types if they have no path.
pub(crate) fn result_paths(answer: &Value) -> Vec<String> {
    let results = answer["results"].as_array().unwrap().iter();
    results
        .map(|result| result["path"].as_str().or(result["type"].as_str()).unwrap().to_owned())
        .collect()
}

pub(crate) fn wait_for(condition: impl Fn() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < LIMIT, "waited too long");
        std::thread::yield_now();
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// Embeds texts by concept, so that a query matches texts without common words.
pub(crate) struct ConceptEmbedder {
    model: EmbeddingModel,
    /// Number of dimensions for words outside all concepts.
    others: usize,
    pub(crate) embedded: AtomicUsize,
    failure: Mutex<Option<fn() -> EmbedError>>,
    refused: Mutex<Option<&'static str>>,
}

const CONCEPTS: [&[&str]; 4] = [
    &[
        "token",
        "tokens",
        "jwt",
        "auth",
        "signature",
        "login",
        "credentials",
        "authentication",
        "sign",
        "verify",
    ],
    &["postgres", "database", "storage", "sql", "joins"],
    &["price", "total", "cost", "sum", "money"],
    &["log", "logging", "journal"],
];
const OTHERS: usize = 509;

impl ConceptEmbedder {
    pub(crate) fn new(id: &str) -> Arc<Self> {
        Self::with(id, OTHERS)
    }

    pub(crate) fn with(id: &str, others: usize) -> Arc<Self> {
        let model = EmbeddingModel { id: id.into(), dims: None, hash: id.into() };
        Arc::new(Self {
            model,
            others,
            embedded: AtomicUsize::new(0),
            failure: Mutex::default(),
            refused: Mutex::default(),
        })
    }

    pub(crate) fn fail_with(&self, failure: Option<fn() -> EmbedError>) {
        *self.failure.lock().unwrap() = failure;
    }

    /// Rejects requests with this word in one of their texts.
    pub(crate) fn refuse(&self, word: Option<&'static str>) {
        *self.refused.lock().unwrap() = word;
    }

    fn vector(&self, text: &str) -> Vec<f32> {
        let mut vector = vec![0.0_f32; CONCEPTS.len() + self.others];
        let lower = text.to_lowercase();
        for word in lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
            match CONCEPTS.iter().position(|concept| concept.contains(&word)) {
                Some(concept) => vector[concept] += 1.0,
                None => {
                    let sum = word.bytes().fold(7_usize, |sum, byte| {
                        sum.wrapping_mul(31).wrapping_add(usize::from(byte))
                    });
                    vector[CONCEPTS.len() + sum % self.others] += 0.3;
                }
            }
        }
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        vector.into_iter().map(|value| value / length.max(f32::MIN_POSITIVE)).collect()
    }
}

impl Embedder for ConceptEmbedder {
    fn model(&self) -> &EmbeddingModel {
        &self.model
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        if let Some(failure) = *self.failure.lock().unwrap() {
            return Err(failure());
        }
        if let Some(word) = *self.refused.lock().unwrap()
            && texts.iter().any(|text| text.contains(word))
        {
            return Err(EmbedError::Rejected { status: 400, message: "input too long".into() });
        }
        self.embedded.fetch_add(texts.len(), Ordering::Relaxed);
        Ok(texts.iter().map(|text| self.vector(text)).collect())
    }
}
