-- Ids are ULIDs, kept as uuid, so they sort by time. Times are Unix milliseconds.
-- States: 0 available, 1 retryable, 2 waiting, 3 running, 4 dead, 5 succeeded, 6 cancelled.

CREATE TABLE ledger (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    schema integer NOT NULL,
    oldest_program integer NOT NULL,    -- the lowest schema that a program may know and still work here
    numbered_by text,                   -- whose transactions xid counts: server and database
    ahead bigint NOT NULL DEFAULT 0,    -- by so much, since the ledger was restored from a dump
    fingerprint_key bytea NOT NULL      -- random, for the fingerprints of secrets
        DEFAULT uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
);

CREATE TABLE generations (
    n integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    text text,                          -- NULL: named by a delivery, never kept
    context bytea,                      -- JSON
    created_at bigint NOT NULL,
    named_on integer NOT NULL           -- the last day (since 1970) on which it was asked for, to be named
);

-- What is `kept` has outlived its day: retention drops the others a day at a time.
CREATE TABLE deliveries (
    id uuid NOT NULL,
    kept boolean NOT NULL DEFAULT false,
    endpoint text COLLATE "C" NOT NULL,
    state smallint NOT NULL,
    received_at bigint NOT NULL,
    generation integer NOT NULL,
    names text COLLATE "C" NOT NULL,    -- distinct event names, each between two of char(31)
    events bytea NOT NULL,              -- msgpack, the stored events
    meta bytea NOT NULL,                -- msgpack, what only a whole delivery needs
    body bytea NOT NULL,
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),     -- the order of the feed
    PRIMARY KEY (id, kept) INCLUDE (endpoint, state, received_at)   -- a list does not touch what it leaves out
) PARTITION BY LIST (kept);
ALTER TABLE deliveries ALTER body SET STORAGE EXTERNAL;
CREATE INDEX deliveries_feed ON deliveries (xid, id);
CREATE TABLE deliveries_kept PARTITION OF deliveries FOR VALUES IN (true);
CREATE TABLE deliveries_days PARTITION OF deliveries FOR VALUES IN (false) PARTITION BY RANGE (id);

-- Copies of a delivery are counted apart: counting must not rewrite a body.
CREATE TABLE copies (
    delivery uuid PRIMARY KEY,
    count bigint NOT NULL,
    last_seen_at bigint NOT NULL
);

-- A key may outlive its delivery. They come in the order of their ends, nearly.
CREATE TABLE keys (
    key bytea PRIMARY KEY,
    delivery uuid NOT NULL,
    until bigint NOT NULL
);
CREATE INDEX keys_until ON keys USING brin (until) WITH (pages_per_range = 32, autosummarize = on);

-- A job is written once, and once more when it has ended: until then `queue` has what changes. It
-- lies in the day of its delivery: whoever knows that looks into one partition, not into all.
CREATE TABLE jobs (
    id uuid NOT NULL,
    kept boolean NOT NULL DEFAULT false,
    delivery uuid NOT NULL,
    target text COLLATE "C" NOT NULL,
    rule text COLLATE "C" NOT NULL,
    action text COLLATE "C" NOT NULL,
    kind smallint NOT NULL,
    event_index integer NOT NULL,
    event_id uuid NOT NULL,
    event text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    generation integer NOT NULL,
    covers integer[],                   -- event indexes, NULL: event_index alone
    replay_of text COLLATE "C",         -- an id with its kind
    replay integer,                     -- the replay that made it
    run uuid,                           -- NULL: by itself; a run is known by its first job
    needs text,                         -- JSON list of [action, wanted end], NULL: no predecessor
    state smallint,                     -- from here on how it ended; NULL: it has not
    due_at bigint,
    attempt integer NOT NULL DEFAULT 0,
    charged integer NOT NULL DEFAULT 0,
    deaths integer NOT NULL DEFAULT 0,
    started_at bigint,
    ended_at bigint,
    reason text,
    PRIMARY KEY (delivery, id, kept)
) PARTITION BY LIST (kept);
CREATE INDEX jobs_by_id ON jobs (id);
CREATE INDEX jobs_dead ON jobs (id) INCLUDE (rule, target) WHERE state = 4;
CREATE INDEX jobs_replayed ON jobs (replay, id) WHERE replay IS NOT NULL;
CREATE TABLE jobs_kept PARTITION OF jobs FOR VALUES IN (true);
CREATE TABLE jobs_days PARTITION OF jobs FOR VALUES IN (false) PARTITION BY RANGE (delivery);

-- Open jobs: small rows, as they change often.
CREATE TABLE queue (
    job uuid PRIMARY KEY,
    delivery uuid NOT NULL,
    run uuid,
    target text COLLATE "C" NOT NULL,
    rule text COLLATE "C" NOT NULL,
    state smallint NOT NULL,
    replayed boolean NOT NULL,          -- made by a replay: its turn comes when nobody else is due
    due_at bigint NOT NULL,
    waits smallint NOT NULL DEFAULT 0,  -- a sum: 1 predecessors, 2 its run's turn, 4 its rule, 8 its target is paused
    attempt integer NOT NULL DEFAULT 0,
    charged integer NOT NULL DEFAULT 0,
    deaths integer NOT NULL DEFAULT 0,
    lease text COLLATE "C",             -- <node>/<number> of the attempt that runs
    started_at bigint
) WITH (
    fillfactor = 60,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX queue_due ON queue (target, replayed, due_at, job) WHERE lease IS NULL AND waits = 0;
CREATE INDEX queue_leased ON queue (split_part(lease, '/', 1)) WHERE lease IS NOT NULL;
CREATE INDEX queue_waits ON queue (rule, target) WHERE waits > 0;

CREATE TABLE attempts (
    job uuid NOT NULL,
    number integer NOT NULL,
    kept boolean NOT NULL DEFAULT false,
    lease text COLLATE "C",
    started_at bigint NOT NULL,
    ended_at bigint NOT NULL,
    outcome smallint NOT NULL,
    reason text,
    result bytea NOT NULL,              -- JSON
    generation integer NOT NULL,
    PRIMARY KEY (job, number, kept)
) PARTITION BY LIST (kept);
CREATE INDEX attempts_ended ON attempts USING brin (ended_at) WITH (pages_per_range = 32, autosummarize = on);
CREATE TABLE attempts_kept PARTITION OF attempts FOR VALUES IN (true);
CREATE TABLE attempts_days PARTITION OF attempts FOR VALUES IN (false) PARTITION BY RANGE (job);

-- A concurrency group: whoever adds a run to it, or ends one, locks its row first.
CREATE TABLE groups (
    key bytea PRIMARY KEY,
    next bigint NOT NULL                -- runs are numbered in the order of their turns
);

-- Runs whose jobs have an order or take turns. A job by itself has none.
CREATE TABLE runs (
    id uuid PRIMARY KEY,                -- its first job
    jobs uuid[] NOT NULL,               -- all of them, in their order
    rule text COLLATE "C" NOT NULL,
    delivery uuid NOT NULL,
    origin uuid,                        -- the run that this one replays
    turn smallint,                      -- 0 waits, 1 has it, 2 keeps it for a dead job; NULL: no more, or never
    key bytea,                          -- NULL: no group
    n bigint,                           -- its number in the group
    value text,                         -- of the group, as it is shown
    at_once bigint,                     -- runs of one key that may have a turn
    on_busy smallint,                   -- 0 queue, 1 latest, 2 drop
    on_dead smallint                    -- 0 continue, 1 halt
);
CREATE INDEX runs_by_key ON runs (key, turn, n) WHERE key IS NOT NULL;
CREATE INDEX runs_by_rule ON runs (rule) WHERE turn IS NOT NULL;
CREATE INDEX runs_by_delivery ON runs (delivery);

-- Which generations have had jobs of a rule: an orphaned rule is looked up here.
CREATE TABLE rule_generations (
    rule text COLLATE "C" NOT NULL,
    generation integer NOT NULL,
    PRIMARY KEY (rule, generation)
);

-- The rules in force: the newest row.
CREATE TABLE published (
    seq bigint PRIMARY KEY,
    generation text COLLATE "C" NOT NULL,
    by text NOT NULL,
    at bigint NOT NULL,
    local bytea NOT NULL DEFAULT '{}'   -- JSON, what its machine has of its own, as nodes say it
);

-- Routers, a row for each start of one.
CREATE TABLE nodes (
    n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    card jsonb NOT NULL,                -- what it says of itself
    beat bigint NOT NULL DEFAULT 0,
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    gone boolean NOT NULL DEFAULT false,
    report bytea                        -- JSON, what it makes of its shares; NULL: nothing yet
);

-- What each node may use of the limits of targets; written by whoever has the claim `shares`.
CREATE TABLE shares (
    node bigint PRIMARY KEY,
    version bigint NOT NULL,
    given bytea NOT NULL,               -- JSON, target to [jobs at once, starts a second]
    held bytea NOT NULL                 -- the same: what it may use until it reports that version
);

-- What one node does for all.
CREATE TABLE claims (
    name text COLLATE "C" PRIMARY KEY,
    node bigint NOT NULL,
    until timestamptz NOT NULL
);

CREATE TABLE rule_counts (
    rule text COLLATE "C" PRIMARY KEY,
    evaluated bigint NOT NULL,
    matched bigint NOT NULL,
    errored bigint NOT NULL,
    shadowed bigint NOT NULL,
    counted_since bigint NOT NULL,
    last_matched_at bigint
);

-- Small values by name that must outlive a restart.
CREATE TABLE facts (
    name text COLLATE "C" PRIMARY KEY,
    value bytea NOT NULL,               -- JSON
    updated_at bigint NOT NULL
);

CREATE TABLE replays (
    n integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    asked bytea NOT NULL,               -- JSON
    items bytea,                        -- JSON, what was named; NULL: found by the selector on the way
    state smallint NOT NULL DEFAULT 0,  -- 0 making its jobs, 1 made, 2 cancelled
    reached text COLLATE "C" NOT NULL,  -- everything up to here has its jobs
    due bytea NOT NULL,                 -- JSON, target to the time of its next job
    deliveries bigint NOT NULL DEFAULT 0,
    jobs bigint NOT NULL DEFAULT 0,
    skipped bigint NOT NULL DEFAULT 0,  -- deliveries that could not be read or are gone
    passed bigint NOT NULL DEFAULT 0,   -- what an earlier replay had made already
    earlier text COLLATE "C",           -- the newest job of those
    created_at bigint NOT NULL,
    ended_at bigint
);
CREATE INDEX replays_making ON replays (n) WHERE state = 0;

CREATE TABLE audit (
    n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    at bigint NOT NULL,
    who text NOT NULL,
    peer text,
    verb text NOT NULL,
    asked bytea NOT NULL,               -- JSON
    count bigint NOT NULL,
    way text                            -- page, api or command; NULL: by the router
);
CREATE INDEX audit_by_time ON audit (at);

-- What happened in spans of time, for charts: routers count in memory and add it up here now and then.

CREATE TABLE activity (
    span_s integer NOT NULL,            -- 0: ever
    at bigint NOT NULL,                 -- when the span began
    kind text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,     -- of an endpoint or a target
    detail text COLLATE "C" NOT NULL,   -- a result, a reason, an outcome
    count bigint NOT NULL,
    total bigint NOT NULL,              -- of what was measured
    most bigint NOT NULL,
    PRIMARY KEY (span_s, at, kind, name, detail)
);

-- Deliveries of which something is still to be taken out: those that were looked at too early.

CREATE TABLE redactions (
    delivery uuid PRIMARY KEY,
    due_at bigint NOT NULL              -- when it is looked at again
);
CREATE INDEX redactions_due ON redactions (due_at);
