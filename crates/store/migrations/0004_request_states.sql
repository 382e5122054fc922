-- Times are milliseconds since the epoch.

-- The latest time seen, in one row. A clock that was set back is recognized by it.
CREATE TABLE clock_mark (
    id      BIGINT PRIMARY KEY CHECK (id = 1),
    seen_at BIGINT NOT NULL
);

-- Spent nonces were deleted by the clock, so a spent one could become valid again. Now the unspent ones are stored: one
-- that is missing is not valid, whatever the clock says.
DROP TABLE nonce;

CREATE TABLE request_state (
    nonce      TEXT PRIMARY KEY,
    principal  TEXT NOT NULL,
    issued_at  BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE INDEX request_state_by_expiry ON request_state (expires_at);
CREATE INDEX request_state_by_principal ON request_state (principal, issued_at);

-- The way in which the decision was made. Unknown for decisions of earlier versions.
ALTER TABLE approval ADD COLUMN channel TEXT;
