"""The living process: signals, file watch, reload, upkeep, the admin listener's state, drain."""
