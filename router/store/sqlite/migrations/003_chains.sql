-- Runs whose jobs have an order or take turns: `after` and `concurrency`. A job by itself has none.

ALTER TABLE jobs ADD COLUMN run INTEGER;    -- NULL: by itself
ALTER TABLE jobs ADD COLUMN waits INTEGER;  -- a sum: 1 predecessors, 2 its run's turn, 4 its rule is paused
ALTER TABLE jobs ADD COLUMN needs TEXT;     -- JSON list of [action, wanted end], NULL: no predecessor

-- Until now a paused rule was the only thing to wait for.
UPDATE jobs SET waits = 4 WHERE state > 1 AND state < 5 AND state = 2;
CREATE INDEX jobs_paused ON jobs (rule) WHERE waits >= 4;

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
