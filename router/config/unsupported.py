"""
What the design has and this version does not: refused by name rather than as a misspelling.

Building one of them means deleting its line here.
"""

from router.yaml_source import Refusal

_CODE = "not-available"


def _later(what: str, instead: str | None = None) -> Refusal:
    return Refusal(_CODE, f"{what} is not available in this version of the router", instead)


_PROOFS = ("VerifyEntry", "SchemeEntry")
_PROOF = {
    "oauth": Refusal(
        _CODE,
        "'oauth' is not available: the sender's interface names this mode, not its parameters",
        "bearer tokens signed by a known key set: provider 'jwt'",
    ),
}
REFUSED: dict[tuple[str, ...], Refusal] = {
    # keys, by the entry of schema.py that would have them
    ("RuleEntry", "window"): _later("'window'"),
    ("RuleEntry", "correlate"): _later("'correlate'"),
    ("FileEntry", "window"): _later("'window'"),
    ("FileEntry", "correlate"): _later("'correlate'"),
    **{(entry, key): refusal for entry in _PROOFS for key, refusal in _PROOF.items()},
}

RESERVED_WORDS: dict[str, Refusal] = {
    word: _later(f"'{word}' (a reserved word)") for word in ("window", "correlate")
}
