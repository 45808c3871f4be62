"""
What the design has and this version does not: refused by name rather than as a misspelling.

Building one of them means deleting its line here.
"""

from router.yaml_source import Refusal

_CODE = "not-available"


def _later(what: str, instead: str | None = None) -> Refusal:
    return Refusal(_CODE, f"{what} is not available in this version of the router", instead)


REFUSED: dict[tuple[str, ...], Refusal] = {
    # keys, by the entry of schema.py that would have them
    ("ActionEntry", "after"): _later("'after'", "actions of a rule run independently"),
    ("ActionEntry", "when"): _later("'when'", "put the condition into the rule's 'match'"),
    ("RuleEntry", "after"): _later("'after'", "actions of a rule run independently"),
    ("RuleEntry", "when"): _later("'when'", "put the condition into the rule's 'match'"),
    ("RuleEntry", "concurrency"): _later("'concurrency'", "limits belong to targets"),
    ("RuleEntry", "window"): _later("'window'"),
    ("RuleEntry", "correlate"): _later("'correlate'"),
    ("RuleEntry", "redact"): _later("'redact'"),
    ("EndpointEntry", "redact"): _later("'redact'"),
    ("AdminEntry", "tokens"): _later("'tokens'", "the token is in the file beside the store"),
    ("FileEntry", "include"): _later("'include'", "put everything into one file"),
    ("FileEntry", "actions"): _later("'actions'", "write actions inside rules"),
    ("FileEntry", "providers"): _later("'providers'", "use a built-in provider"),
    ("FileEntry", "window"): _later("'window'"),
    ("FileEntry", "correlate"): _later("'correlate'"),
    ("FileEntry", "redact"): _later("'redact'"),
    ("TrialEntry", "real"): _later("'real'", "actions of a test are recorded, never run"),
    ("SendEntry", "headers"): _later("'headers'"),
    ("SendEntry", "every"): _later("'every'"),
    ("SendEntry", "advance"): _later("'advance'", "'clock' sets the time of a whole test"),
    ("SendEntry", "again"): _later("'again'", "'redeliver: true' sends the same bytes again"),
    ("ExpectEntry", "because"): _later("'because'", "a failed 'matched' shows the conditions"),
    ("ExpectEntry", "cancelled"): _later("'cancelled'"),
    # values
    ("EndpointEntry", "allow_from", "provider"): _later(
        "'allow_from: provider'", "list the ranges: [192.0.2.0/24, …]"
    ),
}

POSTGRES = _later("a PostgreSQL store", "use sqlite:router.db")
RESERVED_WORDS: dict[str, Refusal] = {
    word: _later(f"'{word}' (a reserved word)") for word in ("window", "correlate", "redact")
}
