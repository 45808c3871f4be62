"""The admin door: health, metrics, the operator's questions and verbs, for those we know."""
