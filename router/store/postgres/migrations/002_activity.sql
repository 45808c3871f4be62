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
