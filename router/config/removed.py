"""What this router does not have: keys, commands and options refused by name, with what to do."""

from collections.abc import Mapping, Sequence

from router.yaml_source import Refusal

_CODE = "not-available"
_PROXY = "a proxy of your own that proves the request and adds a header for scheme `token`"
_KEYS: Mapping[tuple[str, ...], str | None] = {
    # (entry of schema.py, key) or (entry, key, value): what to write instead
    ("RuleEntry", "window"): None,
    ("RuleEntry", "correlate"): None,
    ("FileEntry", "window"): None,
    ("FileEntry", "correlate"): None,
    ("VerifyEntry", "oauth"): "bearer tokens signed by a known key set: provider 'jwt'",
    ("ServerEntry", "rules"): "nothing: each router goes by its own file",
    ("AdminEntry", "advertise"): "nothing: routers do not call each other",
    ("AnswerEntry", "wait"): "an answer made of the request; actions run after it",
    ("SchemeEntry", "oauth"): "bearer tokens signed by a known key set: provider 'jwt'",
    ("SchemeEntry", "scheme", "python"): _PROXY,
    ("SchemeEntry", "function"): _PROXY,
    ("ShellEntry", "user"): "run the router as that user, or begin 'argv' with sudo or setpriv",
}
REFUSED: dict[tuple[str, ...], Refusal] = {
    place: Refusal(_CODE, f"'{place[-1]}' is not available in this version of the router", instead)
    for place, instead in _KEYS.items()
}

_WORDS: Mapping[str, str] = {
    # the words of a command line: what to do instead
    "completion install": "`router completion SHELL` prints the script; your shell reads it",
    "send --all": "loop over the events in a shell; `router providers NAME` lists them",
    "send --batch": "send a body of several events with --payload FILE",
    "check --cost": "docs/explain.md says which conditions the index looks up",
    "check --format gitlab": "--format sarif or json, or the text in the job's log",
    "check --format junit": "--format json, or `router test --junit FILE` for the tests",
    "check --min-score": "`router test --min-coverage PERCENT`",
    "check --mutate": "`router test --coverage` shows what no test tries",
    "shapes learn": "write the fields into shapes/ENDPOINT.yaml yourself: docs/types.md",
    "rules publish": "copy the rules file to each router, as you deploy the rest",
    "store migrate --check": "`router store migrate` changes nothing, it only looks",
    "store migrate --dry-run": "`router store migrate` changes nothing, it only looks",
}


def refused(arguments: Sequence[str]) -> str | None:
    """Say what went of a refused command line, and what to do instead; None: nothing of it."""
    said = [word for one in arguments for word in one.split("=", 1)]
    for words, instead in _WORDS.items():
        wanted = iter(said)
        if all(word in wanted for word in words.split()):
            return f"`router {words}` is not available in this version of the router: {instead}"
    return None
