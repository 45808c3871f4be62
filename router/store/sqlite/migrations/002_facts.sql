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
