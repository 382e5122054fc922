-- Times are milliseconds since the epoch. `expired` is no stored state: it follows from expires_at.
CREATE TABLE approval (
    id               TEXT PRIMARY KEY,
    principal        TEXT NOT NULL,
    client           TEXT,
    tool             TEXT NOT NULL,
    contract_digest  TEXT NOT NULL,
    arguments_digest TEXT NOT NULL,
    summary          TEXT NOT NULL,
    state            TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'denied', 'used')),
    requested_at     BIGINT NOT NULL,
    expires_at       BIGINT NOT NULL,
    decided_at       BIGINT,
    decided_by       TEXT,
    used_at          BIGINT
);

CREATE INDEX approval_by_request ON approval (principal, tool, contract_digest, arguments_digest);
CREATE INDEX approval_by_age ON approval (requested_at);
CREATE INDEX approval_by_expiry ON approval (expires_at);

CREATE TABLE nonce (
    nonce      TEXT PRIMARY KEY,
    expires_at BIGINT NOT NULL
);

CREATE INDEX nonce_by_expiry ON nonce (expires_at);

-- 32 random bytes each, in hexadecimal.
CREATE TABLE secret (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
