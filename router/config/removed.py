"""What this router does not have: keys, commands and options refused by name, with what to do."""

from collections.abc import Mapping, Sequence

from router.yaml_source import Refusal

_CODE = "not-available"
_KEYS: Mapping[tuple[str, ...], str | None] = {
    # (entry of schema.py, key) or (entry, key, value): what to write instead
    ("RuleEntry", "window"): None,
    ("RuleEntry", "correlate"): None,
    ("FileEntry", "window"): None,
    ("FileEntry", "correlate"): None,
    ("VerifyEntry", "oauth"): "bearer tokens signed by a known key set: provider 'jwt'",
    ("SchemeEntry", "oauth"): "bearer tokens signed by a known key set: provider 'jwt'",
}
REFUSED: dict[tuple[str, ...], Refusal] = {
    place: Refusal(_CODE, f"'{place[-1]}' is not available in this version of the router", instead)
    for place, instead in _KEYS.items()
}

_WORDS: Mapping[str, str] = {
    # the words of a command line: what to do instead
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
