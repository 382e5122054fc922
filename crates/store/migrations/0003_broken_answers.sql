-- Answers that broke their contract or a rule: withheld from callers, kept for people. Times are milliseconds since the epoch.
CREATE TABLE broken_answer (
    id               TEXT PRIMARY KEY,
    kept_at          BIGINT NOT NULL,
    principal        TEXT NOT NULL,
    tool             TEXT NOT NULL,
    contract_digest  TEXT NOT NULL,
    arguments_digest TEXT NOT NULL,
    violation        TEXT NOT NULL,
    -- Of the whole answer, and of what is kept of it.
    bytes            BIGINT NOT NULL,
    kept_bytes       BIGINT NOT NULL,
    raw              TEXT NOT NULL
);

CREATE INDEX broken_answer_by_age ON broken_answer (kept_at);
