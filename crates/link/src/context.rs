//! What all parts of one link share: bounds, counters, and the care for texts that a stranger wrote.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use contract::text::one_line;
use secrecy::ExposeSecret;
use tokio::sync::watch;

use crate::{Bounds, Oddities, Options, Reach};

/// A value shorter than this is no secret, and hiding it would blacken every text.
const MIN_SECRET: usize = 6;
/// Nor is what everybody knows; texts name folders.
const PLAIN: [&str; 7] = ["PATH", "HOME", "LANG", "PWD", "TERM", "TMPDIR", "USER"];

pub(crate) struct Context {
    pub(crate) name: String,
    pub(crate) bounds: Bounds,
    secrets: Vec<String>,
    ids: AtomicU64,
    pub(crate) changed: watch::Sender<u64>,
    /// A question came that fitted no single call: calls that may be asked run one after another while this connection
    /// lasts.
    pub(crate) one_at_a_time: AtomicBool,
    pub(crate) stray_answers: AtomicU64,
    pub(crate) garbage: AtomicU64,
    pub(crate) oversized: AtomicU64,
    pub(crate) declined: AtomicU64,
}

impl Context {
    pub(crate) fn new(options: &Options) -> Self {
        let named = match &options.reach {
            Reach::Stdio(program) => &program.env,
            Reach::Http(endpoint) | Reach::Sse(endpoint) => &endpoint.headers,
        };
        let values = named.iter().filter(|(name, _)| !PLAIN.contains(&name.as_str()));
        // `Bearer xyz` must not show as `xyz` either.
        let mut secrets: Vec<String> = values
            .flat_map(|(_, value)| {
                let value = value.expose_secret();
                value.split_whitespace().chain(std::iter::once(value))
            })
            .filter(|value| value.len() >= MIN_SECRET)
            .map(str::to_owned)
            .collect();
        secrets.sort_by_key(|value| std::cmp::Reverse(value.len()));
        secrets.dedup();
        Self {
            name: options.name.clone(),
            bounds: options.bounds,
            secrets,
            ids: AtomicU64::new(1),
            changed: watch::channel(0).0,
            one_at_a_time: AtomicBool::new(false),
            stray_answers: AtomicU64::new(0),
            garbage: AtomicU64::new(0),
            oversized: AtomicU64::new(0),
            declined: AtomicU64::new(0),
        }
    }

    /// Unique over all connections of the link, so that an old answer fits no new call.
    pub(crate) fn next_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn note_change(&self) {
        self.changed.send_modify(|count| *count += 1);
    }

    pub(crate) fn oddities(&self) -> Oddities {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Oddities {
            stray_answers: read(&self.stray_answers),
            garbage: read(&self.garbage),
            oversized: read(&self.oversized),
            declined: read(&self.declined),
        }
    }

    /// A stranger's text for people: at most `limit` characters, on one line, our secrets blotted out.
    pub(crate) fn shown(&self, text: &str, limit: usize) -> String {
        let mut text = text.trim().to_owned();
        for secret in &self.secrets {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), "[secret]");
            }
        }
        match text.char_indices().nth(limit) {
            None => one_line(&text),
            Some((end, _)) => one_line(&text[..end]) + "…",
        }
    }
}

pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
