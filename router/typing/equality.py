"""What a type may equal, whether it tests as true, and what is left of it once that is known."""

import msgspec

from router.typing.interval import ALL_NUMBERS
from router.typing.lattice import (
    ABSENT,
    BOOLEAN,
    FALSE,
    FAULT,
    JSON_KINDS,
    LIST,
    NEVER,
    NULL,
    NUMBER,
    OBJECT,
    TEXT,
    TRUE,
    Type,
    Values,
    with_kinds,
)


def truth(kind: Type) -> int:
    """What a test of its truth may give: bits of TRUE, FALSE, FAULT."""
    verdict = kind.kinds & FAULT
    if kind.kinds & (NULL | ABSENT | FALSE):
        verdict |= FALSE
    if kind.kinds & (TRUE | NUMBER):
        verdict |= TRUE
    if kind.kinds & TEXT:
        verdict |= TRUE if kind.texts is None or kind.texts - {""} else 0
        verdict |= FALSE if kind.admits("") else 0
    if kind.kinds & LIST:
        verdict |= BOOLEAN
    if kind.kinds & OBJECT:
        empty = all(field.kinds & ABSENT for field in kind.fields.values())
        verdict |= (TRUE if kind.fields or kind.rest is not None else 0) | (FALSE if empty else 0)
    return verdict


def may_equal(a: Type, b: Type) -> bool:
    """Whether some value of the one equals some value of the other; absence equals nothing."""
    both = a.kinds & b.kinds
    # Two lists may be empty, two objects may have the same fields.
    if both & (NULL | BOOLEAN | LIST | OBJECT) or (both & TEXT and _meet(a, b, "texts")):
        return True
    return bool(both & NUMBER) and _meet(a, b, "numbers")


def _meet(a: Type, b: Type, constants: str) -> bool:
    mine, other = getattr(a, constants), getattr(b, constants)
    if mine is not None or other is not None:
        return any(a.admits(one) and b.admits(one) for one in (other if mine is None else mine))
    if constants == "texts":
        return True
    within = (a.bounds or ALL_NUMBERS).met(b.bounds or ALL_NUMBERS)
    if within.low is not None and within.low == within.high:
        return a.admits(within.low) and b.admits(within.low)
    return not within.empty


def must_equal(a: Type, b: Type) -> bool:
    """Whether both are one and the same constant."""
    if a.kinds & FAULT or b.kinds & FAULT or a.kinds != b.kinds:
        return False
    if a.kinds in (NULL, TRUE, FALSE):
        return True
    mine, other = (a.texts, b.texts) if a.kinds == TEXT else (a.numbers, b.numbers)
    return a.kinds in (TEXT, NUMBER) and len(mine or ()) == 1 and mine == other


def narrowed_to(kind: Type, other: Type) -> Type:
    """What `kind` can still be when it equals `other`."""
    if not may_equal(kind, other):
        return NEVER
    kinds = kind.kinds & other.kinds & JSON_KINDS
    if kind.is_any:
        return msgspec.structs.replace(other, kinds=kinds, asked=other.texts is not None)
    return met(with_kinds(kind, kinds), other)


def met(kind: Type, other: Type) -> Type:
    """What `kind` can still be when it is one of the constants, kinds and numbers of `other`."""
    bounds = kind.bounds or ALL_NUMBERS
    known = kind.known or kind.texts or frozenset()  # those ruled out are still right words
    return _settled(
        msgspec.structs.replace(
            kind,
            kinds=kind.kinds & other.kinds,
            texts=_both(kind.texts, other.texts),
            numbers=_both(kind.numbers, other.numbers),
            less=kind.less | other.less,
            known=known,
            asked=kind.asked or (not known and other.texts is not None),
            bounds=bounds.met(other.bounds or ALL_NUMBERS),
        )
    )


def _settled(kind: Type) -> Type:
    """The same, without the constants and kinds that are ruled out."""
    texts, numbers, bounds = kind.texts, kind.numbers, kind.bounds
    if texts is not None:
        texts = frozenset(filter(kind.admits, texts))
    if numbers is not None:
        numbers = frozenset(filter(kind.admits, numbers))
    if bounds == ALL_NUMBERS or numbers is not None or not kind.kinds & NUMBER:
        bounds = None
    out = TEXT if texts is not None and not texts else 0
    if (numbers is not None and not numbers) or (bounds is not None and bounds.empty):
        out |= NUMBER
    return msgspec.structs.replace(
        kind,
        kinds=kind.kinds & ~out,
        texts=texts if kind.kinds & TEXT & ~out else None,
        numbers=numbers if kind.kinds & NUMBER & ~out else None,
        bounds=None if out & NUMBER else bounds,
    )


def less(kind: Type, constants: Values) -> Type:
    """The same, but none of these texts and numbers."""
    return _settled(msgspec.structs.replace(kind, less=kind.less | constants))


def _both(a: Values | None, b: Values | None) -> Values | None:
    if a is None or b is None:
        return b if a is None else a
    return a & b
