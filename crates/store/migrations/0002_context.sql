-- What people told the project, and what callers looked at. Times are milliseconds since the epoch.
CREATE TABLE discovery (
    id       TEXT PRIMARY KEY,
    kind     TEXT NOT NULL CHECK (kind IN ('pattern', 'rule', 'decision', 'issue')),
    title    TEXT,
    content  TEXT NOT NULL,
    module   TEXT,
    source   TEXT NOT NULL,
    session  TEXT,
    added_at BIGINT NOT NULL,
    -- A JSON array of strings.
    tags     TEXT NOT NULL
);

-- One row for each thing that others watch for change; raised by every transaction that changes it.
CREATE TABLE generation (
    name  TEXT PRIMARY KEY,
    value BIGINT NOT NULL
);

INSERT INTO generation (name, value) VALUES ('discoveries', 0), ('activity', 0);

CREATE TABLE session (
    id         TEXT PRIMARY KEY,
    principal  TEXT NOT NULL,
    client     TEXT,
    started_at BIGINT NOT NULL,
    seen_at    BIGINT NOT NULL
);

CREATE INDEX session_by_age ON session (seen_at);

CREATE TABLE session_search (
    session_id  TEXT NOT NULL,
    query       TEXT NOT NULL,
    -- What the last search of these words found, and how often they were searched for.
    results     BIGINT NOT NULL,
    times       BIGINT NOT NULL,
    searched_at BIGINT NOT NULL,
    PRIMARY KEY (session_id, query)
);

CREATE TABLE session_file (
    session_id TEXT NOT NULL,
    path       TEXT NOT NULL,
    times      BIGINT NOT NULL,
    read_at    BIGINT NOT NULL,
    PRIMARY KEY (session_id, path)
);

CREATE INDEX session_file_by_path ON session_file (path);

-- `heat` is a count that halves with time; it holds as of read_at. `changed` is the generation of the last change.
CREATE TABLE file_access (
    path       TEXT PRIMARY KEY,
    times      BIGINT NOT NULL,
    heat       DOUBLE PRECISION NOT NULL,
    read_at    BIGINT NOT NULL,
    session_id TEXT NOT NULL,
    changed    BIGINT NOT NULL
);

CREATE INDEX file_access_by_change ON file_access (changed);
