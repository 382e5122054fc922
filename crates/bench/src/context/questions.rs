//! Three hundred different questions: ten forms of questions about thirty topics.

const TOPICS: [&str; 30] = [
    "csrf token",
    "file upload",
    "query compiler",
    "request header",
    "session cookie",
    "template tag",
    "password hash",
    "cache key",
    "database migration",
    "form field",
    "buffer pool",
    "regex literal",
    "thread pool",
    "socket address",
    "error message",
    "json number",
    "unicode case folding",
    "time zone",
    "path component",
    "byte order mark",
    "hash table resize",
    "signal handler",
    "connection timeout",
    "retry backoff",
    "chunked body",
    "glob pattern",
    "memory map",
    "atomic counter",
    "trait object",
    "log level",
];

const FORMS: [&str; 10] = [
    "how does the {} work",
    "where is the {} validated",
    "what happens when the {} is missing",
    "parse the {}",
    "tests for the {}",
    "{} limit exceeded",
    "create a new {}",
    "who decides about the {}",
    "convert the {} to a string",
    "{} implementation",
];

pub(super) fn build_questions() -> Vec<String> {
    FORMS
        .iter()
        .flat_map(|form| TOPICS.iter().map(move |topic| form.replace("{}", topic)))
        .collect()
}
