"""The admin API: health, metrics, the operator's questions and verbs, for callers with a token."""
