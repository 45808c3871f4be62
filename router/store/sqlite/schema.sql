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
    covers TEXT,                    -- JSON list of event indexes, NULL: event_index alone
    run INTEGER,                    -- NULL: by itself
    waits INTEGER,                  -- a sum: 1 predecessors, 2 its run's turn, 4 its rule is paused
    needs TEXT,                     -- JSON list of [action, wanted end], NULL: no predecessor
    replay INTEGER                  -- the replay that made it, NULL: none
);
CREATE UNIQUE INDEX jobs_by_id ON jobs (id);
CREATE INDEX jobs_held ON jobs (state) WHERE state > 1 AND state < 5;
CREATE INDEX jobs_paused ON jobs (rule) WHERE waits >= 4;
-- Jobs of replays queue apart: whoever is due now goes first, and they take what is left.
CREATE INDEX jobs_due ON jobs (target, replay IS NOT NULL, due_at) WHERE state < 2;
CREATE INDEX jobs_replayed ON jobs (replay) WHERE replay IS NOT NULL;

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

-- What the router itself wants to remember between two runs; nothing here is part of a delivery.

-- Counted in memory and added up here now and then: a crash may lose the last few seconds.
CREATE TABLE rule_counts (
    rule TEXT PRIMARY KEY,
    evaluated INTEGER NOT NULL,
    matched INTEGER NOT NULL,       -- live and paused rules
    errored INTEGER NOT NULL,
    shadowed INTEGER NOT NULL,      -- would have matched: a rule in shadow
    counted_since INTEGER NOT NULL,
    last_matched_at INTEGER
) WITHOUT ROWID;

-- Small answers of other services that must outlive a restart, by name.
CREATE TABLE facts (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL,            -- JSON
    updated_at INTEGER NOT NULL
) WITHOUT ROWID;

-- Runs whose jobs have an order or take turns: `after` and `concurrency`. A job by itself has none.
-- Numbered in the order of their commits, which is the order of their turns.
-- A run's jobs are those from `first_job` to `last_job`.
CREATE TABLE runs (
    n INTEGER PRIMARY KEY,
    rule TEXT NOT NULL,
    first_job INTEGER NOT NULL,
    last_job INTEGER NOT NULL,
    origin INTEGER,                 -- the run that this one replays
    turn INTEGER,                   -- 0 waits, 1 has it, 2 keeps it for a dead job; NULL: no more, or never
    key TEXT,                       -- NULL: no group
    value TEXT,                     -- of the group, as it is shown
    at_once INTEGER,                -- runs of one key that may have a turn
    on_busy INTEGER,                -- 0 queue, 1 latest, 2 drop
    on_dead INTEGER                 -- 0 continue, 1 halt
);
CREATE INDEX runs_by_key ON runs (key, turn, n) WHERE turn IS NOT NULL;
CREATE INDEX runs_halted ON runs (n) WHERE turn = 2;

-- What operators did: replays as they go on, and a line for every change.
CREATE TABLE replays (
    n INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    asked BLOB NOT NULL,            -- JSON
    items BLOB,                     -- JSON, what was named; NULL: found by the selector on the way
    state INTEGER NOT NULL,         -- 0 making its jobs, 1 made, 2 cancelled
    reached TEXT NOT NULL,          -- everything up to here has its jobs
    due BLOB NOT NULL,              -- JSON, target to the time of its next job
    deliveries INTEGER NOT NULL,
    jobs INTEGER NOT NULL,
    skipped INTEGER NOT NULL,       -- deliveries that could not be read or are gone
    created_at INTEGER NOT NULL,
    ended_at INTEGER,
    passed INTEGER NOT NULL DEFAULT 0,  -- an earlier one had made them already
    earlier TEXT                    -- the newest job that an earlier one had made, by id
);
CREATE INDEX replays_making ON replays (n) WHERE state = 0;

CREATE TABLE audit (
    n INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    at INTEGER NOT NULL,
    who TEXT NOT NULL,
    peer TEXT,
    verb TEXT NOT NULL,
    asked BLOB NOT NULL,            -- JSON
    count INTEGER NOT NULL,
    way TEXT                        -- page, api or command; NULL: by the router
);
CREATE INDEX audit_by_time ON audit (at);

-- Ledger time: what the clock would say had nobody ever set it. Due times go by it, as ends of keys do.

-- One row for each time that somebody set the clock: from `begun` to `ended`, both ledger time, wall
-- time was `ahead` by so many milliseconds. The newest row holds now; NULL: since ever, until now.
CREATE TABLE clock_steps (
    n INTEGER PRIMARY KEY,
    begun INTEGER,
    ended INTEGER,
    ahead INTEGER NOT NULL
);
INSERT INTO clock_steps (ahead) VALUES (0);

-- The newest row is in force. A node appends one when it is given other rules than before.
CREATE TABLE published (
    seq INTEGER PRIMARY KEY,
    generation TEXT NOT NULL,
    by TEXT NOT NULL,               -- the node that was given it
    at INTEGER NOT NULL             -- wall time
);

-- What happened in spans of time, for charts: counted in memory and added up here now and then.

CREATE TABLE activity (
    span_s INTEGER NOT NULL,        -- 0: ever
    at INTEGER NOT NULL,            -- when the span began, wall time
    kind TEXT NOT NULL,
    name TEXT NOT NULL,             -- of an endpoint or a target
    detail TEXT NOT NULL,           -- a result, a reason, an outcome
    count INTEGER NOT NULL,
    total INTEGER NOT NULL,         -- of what was measured
    most INTEGER NOT NULL,
    PRIMARY KEY (span_s, at, kind, name, detail)
) WITHOUT ROWID;

-- Deliveries of which something is still to be taken out: those that were looked at too early.

CREATE TABLE redactions (
    delivery TEXT PRIMARY KEY,
    due_at INTEGER NOT NULL         -- when it is looked at again, ledger time
) WITHOUT ROWID;
CREATE INDEX redactions_due ON redactions (due_at);
