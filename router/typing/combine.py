"""What was found for several kinds of events, each once."""

from collections.abc import Sequence

import msgspec

from router.typing.run import Code, Span, TypeFinding, TypeWalk

_CONSTANT: frozenset[Code] = frozenset({"always-true", "never-false", "never-true"})
_FOR_SOME: frozenset[Code] = frozenset(
    {
        "misspelt-field",
        "misspelt-value",
        "text-as-number",
        "never-ordered",
        "never-equal",
        "field-of-list",
        "field-of-value",
        "not-a-list",
        "root-in-filter",
        "bare-word",
    }
)
"""Reported, as a warning, even if it holds for some events only and the others are unknown."""


class WalkResult(msgspec.Struct, frozen=True):
    """
    One walk, and the events it was for. Of `guessed` events nothing is known: they can only tell
    that a condition is not constant.
    """

    run: TypeWalk
    events: str
    guessed: bool = False


def combined(walks: Sequence[WalkResult], *, whole: bool = True) -> list[TypeFinding]:
    """
    The findings that hold for all events, and some that hold for some, each place once.

    Not `whole`: there are further events, for which the condition is false.
    """
    found: dict[tuple[Span, Code], TypeFinding] = {}
    for seen in walks:
        for finding in seen.run.findings:
            key = (finding.span, _family(finding.code))
            if key in found or (finding.code in _CONSTANT and (seen.guessed or not whole)):
                continue
            if (holds := _reported(finding, walks)) is not None:
                found[key] = holds
    return list(found.values())


def is_constant(finding: TypeFinding) -> bool:
    """Whether it says that a condition always gives the same."""
    return finding.code in _CONSTANT


def _family(code: Code) -> Code:
    return "unknown-field" if code in ("misspelt-field", "unknown-field") else code


def _reported(finding: TypeFinding, walks: Sequence[WalkResult]) -> TypeFinding | None:
    """The finding as it is to be reported, or None."""
    if finding.code == "provider-alias":  # whatever the other events are called
        return finding
    span, family = finding.span, _family(finding.code)
    constant = finding.code in _CONSTANT
    guesses = constant or all(w.guessed for w in walks)  # of a sender without a catalogue all are
    there = [w for w in walks if span in w.run.visited and (guesses or not w.guessed)]
    mine = [
        (w, f)
        for w in there
        for f in w.run.findings
        if f.span == span and _family(f.code) == family
    ]
    if mine and len({id(w) for w, _ in mine}) >= len(there):
        return _for_all([f for _, f in mine])
    if constant or any(span in w.run.fine for w in there):
        return None
    near = [(w, f) for w, f in mine if f.code in _FOR_SOME and f.sure]
    if not near:
        return None
    which = ", ".join(dict.fromkeys(w.events for w, _ in near))
    first = near[0][1]
    return msgspec.structs.replace(
        first,
        code=_family(first.code),
        message=f"{first.message} (for {which})",
        severity="warning",
    )


def _for_all(findings: list[TypeFinding]) -> TypeFinding:
    """Of an unknown field that is near a known one for some only, an error needs to be sure."""
    errors = [f for f in findings if f.severity == "error"]
    if not errors:
        return findings[0]
    if len(errors) == len(findings) or any(f.sure for f in errors):
        return next((f for f in errors if f.sure), errors[0])
    return next(f for f in findings if f.severity == "warning")
