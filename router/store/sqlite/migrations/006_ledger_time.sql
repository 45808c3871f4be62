-- Ledger time: what the clock would say had nobody ever set it. Due times go by it, as ends of keys do.

-- One row for each time that somebody set the clock: from `begun` to `ended`, both ledger time, wall
-- time was `ahead` by so many milliseconds. The newest row holds now; NULL: since ever, until now.
CREATE TABLE clock_steps (
    n INTEGER PRIMARY KEY,
    begun INTEGER,
    ended INTEGER,
    ahead INTEGER NOT NULL
);
INSERT INTO clock_steps (ahead) SELECT coalesce(
    (SELECT CAST(CAST(value AS TEXT) AS INTEGER) FROM facts WHERE name = 'clock/set_by'), 0
);

-- Until now these moved with every step, so they are wall time.
UPDATE jobs SET due_at = due_at - (SELECT ahead FROM clock_steps)
WHERE (SELECT ahead FROM clock_steps) != 0 AND state < 2;
UPDATE jobs SET due_at = due_at - (SELECT ahead FROM clock_steps)
WHERE (SELECT ahead FROM clock_steps) != 0 AND state > 1 AND state < 5 AND state IN (2, 3);
UPDATE replays SET due = (
    SELECT CAST(json_group_object(key, value - (SELECT ahead FROM clock_steps)) AS BLOB)
    FROM json_each(CAST(due AS TEXT))
) WHERE (SELECT ahead FROM clock_steps) != 0 AND state < 2 AND json_valid(CAST(due AS TEXT));
UPDATE facts SET value = (
    SELECT CAST(json_group_object(key, CASE
        WHEN key IN ('since', 'next_probe', 'failing_since') AND value > 0
        THEN value - (SELECT ahead FROM clock_steps)
        WHEN type IN ('true', 'false') THEN json(type) ELSE value END) AS BLOB)
    FROM json_each(CAST(facts.value AS TEXT))
) WHERE (SELECT ahead FROM clock_steps) != 0
AND substr(name, 1, 7) = 'target/' AND json_valid(CAST(value AS TEXT));

INSERT INTO facts SELECT
    'clock/seen', json_extract(CAST(value AS TEXT), '$.at') - (SELECT ahead FROM clock_steps),
    updated_at
FROM facts WHERE name = 'clock' AND json_valid(CAST(value AS TEXT))
AND json_type(CAST(value AS TEXT), '$.at') = 'integer';
DELETE FROM facts WHERE name IN ('clock', 'clock/set_by');
