"""The living process: signals, file watch, reload, upkeep, the admin door's verbs, drain."""
