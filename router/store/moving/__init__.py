"""A ledger moved from a file into a database: every table, in batches, compared at the end."""
