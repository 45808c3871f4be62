-- Deliveries of which something is still to be taken out: those that were looked at too early.

CREATE TABLE redactions (
    delivery uuid PRIMARY KEY,
    due_at bigint NOT NULL              -- when it is looked at again
);
CREATE INDEX redactions_due ON redactions (due_at);
