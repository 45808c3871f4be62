-- Numbers (n) are internal and never leave this room; ids are what everybody else sees.
-- A job's number is its delivery's number * 2^20 + its place, so a delivery's jobs lie together.
-- States: 0 available, 1 retryable, 2 waiting, 3 running, 4 dead, 5 succeeded, 6 cancelled.

CREATE TABLE generations (
    n INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    text TEXT,                      -- NULL: named by a delivery, never kept
    context BLOB,                   -- JSON
    created_at INTEGER NOT NULL,
    first_delivery INTEGER NOT NULL DEFAULT 9223372036854775807,
    last_delivery INTEGER NOT NULL DEFAULT 0    -- rounded up, so that it is seldom written
);

CREATE TABLE deliveries (
    n INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    state INTEGER NOT NULL,
    received_at INTEGER NOT NULL,
    generation INTEGER NOT NULL REFERENCES generations (n),
    names TEXT NOT NULL,            -- distinct event names, each between two of char(31)
    events BLOB NOT NULL,           -- msgpack, the stored events
    meta BLOB NOT NULL,             -- msgpack, what only a whole delivery needs
    body BLOB NOT NULL              -- last: lists read no further than meta
);
-- Covers every filter of a listing, so a list does not touch the rows it leaves out.
CREATE UNIQUE INDEX deliveries_listed ON deliveries (id, endpoint, state, received_at);

-- Copies of a delivery are counted apart: counting must not rewrite a body.
CREATE TABLE copies (
    delivery INTEGER PRIMARY KEY,
    count INTEGER NOT NULL,
    last_seen_at INTEGER NOT NULL
);

-- A key may outlive its delivery, hence the id and not the number.
CREATE TABLE keys (
    key BLOB PRIMARY KEY,
    delivery TEXT NOT NULL,
    until INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE jobs (
    n INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    state INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    target TEXT NOT NULL,
    rule TEXT NOT NULL,
    action TEXT NOT NULL,
    kind INTEGER NOT NULL,
    event_index INTEGER NOT NULL,
    event_id TEXT NOT NULL,
    event TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    generation INTEGER NOT NULL REFERENCES generations (n),
    attempt INTEGER NOT NULL,
    lease TEXT,
    started_at INTEGER,
    replay_of TEXT,
    charged INTEGER NOT NULL DEFAULT 0,
    deaths INTEGER NOT NULL DEFAULT 0,
    ended_at INTEGER,
    reason TEXT,
    covers TEXT                     -- JSON list of event indexes, NULL: event_index alone
);
CREATE UNIQUE INDEX jobs_by_id ON jobs (id);
CREATE INDEX jobs_due ON jobs (target, due_at) WHERE state < 2;
CREATE INDEX jobs_held ON jobs (state) WHERE state > 1 AND state < 5;

CREATE TABLE attempts (
    job INTEGER NOT NULL,
    number INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER NOT NULL,
    outcome INTEGER NOT NULL,
    reason TEXT,
    result BLOB NOT NULL,           -- JSON
    generation INTEGER NOT NULL REFERENCES generations (n),
    PRIMARY KEY (job, number)
) WITHOUT ROWID;

-- Which generations have had jobs of a rule: an orphaned rule is looked up here.
CREATE TABLE rule_generations (
    rule TEXT NOT NULL,
    generation INTEGER NOT NULL,
    PRIMARY KEY (rule, generation)
) WITHOUT ROWID;

-- One row, rewritten to prove that a write can commit.
CREATE TABLE pulse (n INTEGER PRIMARY KEY CHECK (n = 1), beat INTEGER NOT NULL);
INSERT INTO pulse VALUES (1, 0);
