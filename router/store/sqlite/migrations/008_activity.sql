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
