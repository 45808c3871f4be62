-- What is one for all nodes: the rules in force, and the paused targets.

-- The newest row is in force. A node appends one when it is given other rules than before.
CREATE TABLE published (
    seq INTEGER PRIMARY KEY,
    generation TEXT NOT NULL,
    by TEXT NOT NULL,               -- the node that was given it
    at INTEGER NOT NULL             -- wall time
);

-- Until now a target's own memory said that it was paused. Whoever resumes it, it is called gently.
INSERT INTO facts SELECT
    'paused/' || substr(name, 8),
    CAST(json_object(
        'reason', coalesce(json_extract(CAST(value AS TEXT), '$.reason'), ''),
        'by', coalesce(json_extract(CAST(value AS TEXT), '$.by'), 'router'),
        'at', coalesce(json_extract(CAST(value AS TEXT), '$.since'), 0)
    ) AS BLOB),
    updated_at
FROM facts WHERE substr(name, 1, 7) = 'target/' AND CASE WHEN json_valid(CAST(value AS TEXT))
THEN json_extract(CAST(value AS TEXT), '$.state') = 'paused' END;
UPDATE facts SET value = CAST(json_remove(
    json_set(CAST(value AS TEXT), '$.state', 'recovering', '$.reason', 'resumed'),
    '$.since', '$.by', '$.next_probe', '$.failing_since'
) AS BLOB)
WHERE substr(name, 1, 7) = 'target/' AND CASE WHEN json_valid(CAST(value AS TEXT))
THEN json_extract(CAST(value AS TEXT), '$.state') = 'paused' END;
