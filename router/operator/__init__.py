"""An operator's questions and verbs: one interface for the API, the pages and the command line."""
