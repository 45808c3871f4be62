-- What operators did: replays as they go on, and a line for every change.

ALTER TABLE jobs ADD COLUMN replay INTEGER; -- the replay that made it, NULL: none

-- Jobs of replays queue apart: whoever is due now goes first, and they take what is left.
DROP INDEX jobs_due;
CREATE INDEX jobs_due ON jobs (target, replay IS NOT NULL, due_at) WHERE state < 2;
CREATE INDEX jobs_replayed ON jobs (replay) WHERE replay IS NOT NULL;

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
    ended_at INTEGER
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
    count INTEGER NOT NULL
);
CREATE INDEX audit_by_time ON audit (at);
