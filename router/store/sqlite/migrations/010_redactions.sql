-- Deliveries of which something is still to be taken out: those that were looked at too early.

CREATE TABLE redactions (
    delivery TEXT PRIMARY KEY,
    due_at INTEGER NOT NULL         -- when it is looked at again, ledger time
) WITHOUT ROWID;
CREATE INDEX redactions_due ON redactions (due_at);
