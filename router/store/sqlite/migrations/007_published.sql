-- Which rules are in force for all: the newest row's. A node appends one when it is given others.

CREATE TABLE published (
    seq INTEGER PRIMARY KEY,
    generation TEXT NOT NULL,
    by TEXT NOT NULL,               -- the node that was given it
    at INTEGER NOT NULL             -- wall time
);
