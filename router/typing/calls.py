"""Function calls: whether the arguments fit, and what comes of them."""

from collections.abc import Callable

from msgspec.structs import replace

from router.expressions.nodes import Node
from router.expressions.signatures import FUNCTIONS, Function, Parameter
from router.suggest import FixHint
from router.typing.doomed import constant_result, membership
from router.typing.equality import may_equal
from router.typing.fields import mark_words
from router.typing.interval import Interval
from router.typing.lattice import (
    ABSENT,
    ANY,
    BOOLEAN,
    FALSE,
    FAULT,
    LIST,
    NOTHING,
    NULL,
    NUMBER,
    OBJECT,
    PRESENT,
    TEXT,
    TEXT_TYPE,
    TRUE,
    Type,
    contents,
    elements,
    join,
    joined,
    list_of,
    marked,
    open_object,
    stored,
    there,
    with_kinds,
    word,
)
from router.typing.literals import check_search, check_word
from router.typing.narrow import WORD_BITS, allowed, when_false, when_true
from router.typing.patterns import captured, check_glob, check_regex
from router.typing.run import TypeScope, TypeWalk

_NEVER_FAILS = frozenset({"type", "to_array", "not_null", "exists", "default", "now"})
_NULL_TOO = frozenset({"to_number", "avg", "max", "min", "max_by", "min_by", "not_null", "capture"})
_SEARCHING = frozenset({"starts_with", "ends_with", "contains", "glob"})
_RESULT = {
    "any": ANY,
    "boolean": Type(BOOLEAN),
    "number": Type(NUMBER),
    "string": TEXT_TYPE,
    "array": Type(LIST),
    "array[string]": list_of(TEXT_TYPE),
    "object": open_object({}),
}
_TYPE_WORDS = Type(TEXT, texts=frozenset(WORD_BITS))
_NOT_NEGATIVE = Type(NUMBER, bounds=Interval(low=0))


def of_call(run: TypeWalk, node: Node, view: TypeScope) -> Type:
    """The result of a call; what its arguments cannot be is found on the way."""
    function = FUNCTIONS[node.value]
    if (special := _LAZY.get(function.name)) is not None:
        return special(run, node, view)
    mark_words(run, node.children, right_is_word=False)
    kinds = _arguments(run, node, view)
    for at, (argument, kind) in enumerate(zip(node.children, kinds, strict=True)):
        _check_argument(run, function, function.parameter(at), (argument, kind))
    if function.name == "contains":
        _check_contains(run, node, kinds)
    if function.name == "matches":
        check_regex(run, node)
    if function.name in ("glob", "any_glob"):
        check_glob(run, node, kinds[0])
    if function.name in _SEARCHING:
        check_search(run, node, kinds[0])
    known = constant_result(run, node, kinds) or membership(node, kinds)
    return known or _result(function, kinds)


def _arguments(run: TypeWalk, node: Node, view: TypeScope) -> list[Type]:
    """`&expression` is read of the elements of the call's list."""
    found = {
        at: run.value(child, view)
        for at, child in enumerate(node.children)
        if child.kind != "expref"
    }
    lists = [kind for kind in found.values() if kind.kinds & LIST]
    item = elements(lists[0]) if lists else ANY
    for at, child in enumerate(node.children):
        if child.kind == "expref":
            found[at] = run.value(
                child.children[0], view.at(with_kinds(item, item.kinds & ~FAULT), "the element")
            )
    return [found[at] for at in range(len(node.children))]


# -- arguments


def _check_argument(
    run: TypeWalk, function: Function, parameter: Parameter, given: tuple[Node, Type]
) -> None:
    argument, kind = given
    if argument.kind == "expref" or "any" in parameter.types or run.found_within(argument):
        return
    bits = allowed(parameter.types)
    if kind.kinds & PRESENT and not kind.kinds & bits & PRESENT:
        _wrong_kind(run, function, parameter, given)
    elif kind.surely(LIST) and bits & LIST:
        _check_elements(run, function, parameter, given)
    if parameter.subject or bits & NULL or not kind.stated or not kind.kinds & NOTHING:
        return
    said = run.source(argument)
    message = f"{said} may be null or absent; {function.name}() then fails"
    instead = f"give a fallback: default({said}, …)"
    run.warn(
        "nullable-argument",
        message,
        argument,
        instead if bits & TEXT else f"put {said} && before it",
    )


def _wrong_kind(
    run: TypeWalk, function: Function, parameter: Parameter, given: tuple[Node, Type]
) -> None:
    argument, kind = given
    said = run.source(argument)
    bits = allowed(parameter.types)
    message = f"{function.name}() wants {word(Type(bits))}, and {said} is {word(kind)}"
    if kind.surely(TEXT) and bits & PRESENT == NUMBER and argument.kind != "literal":
        run.note("text-as-number", message, argument, _called(run, "decimal({})", argument))
        return
    fits = kind.surely(NUMBER) and bits & PRESENT == TEXT
    hint: str | None = _called(run, "to_string({})", argument) if fits else None
    if kind.format == "joined" and bits & LIST:
        hint = f"its parts are split({said}, ',')"
    run.note("wrong-argument", message, argument, hint)


def _called(run: TypeWalk, call: str, argument: Node) -> FixHint:
    """`write decimal(x)`, of a call with a `{}`."""
    written = run.text[argument.start : argument.end]
    return FixHint(f"write {call.format(run.source(argument))}", call.format(written))


_EACH = "map(&decimal(@), {})"
_ELEMENTS = {"array[number]": NUMBER, "array[string]": TEXT}


def _check_elements(
    run: TypeWalk, function: Function, parameter: Parameter, given: tuple[Node, Type]
) -> None:
    """`sum()` of texts and its like."""
    argument, kind = given
    wanted = sum(_ELEMENTS.get(name, 0) for name in parameter.types)
    item = elements(kind)
    if not wanted or "array" in parameter.types or not item.kinds & PRESENT or item.kinds & wanted:
        return
    said = run.source(argument)
    what = "numbers" if wanted == NUMBER else "texts" if wanted == TEXT else "numbers or texts"
    message = f"{function.name}() wants a list of {what}, and an element of {said} is {word(item)}"
    if wanted == NUMBER and item.surely(TEXT):
        written = run.text[argument.start : argument.end]
        run.note(
            "text-as-number",
            message,
            argument,
            FixHint(f"write {function.name}({_EACH.format(said)})", _EACH.format(written)),
        )
    else:
        run.note("wrong-argument", message, argument)


def _check_contains(run: TypeWalk, node: Node, kinds: list[Type]) -> None:
    subject, searched = node.children
    held, sought = kinds
    if run.found_within(node) or not (held.kinds & PRESENT and sought.kinds & PRESENT):
        return
    if held.surely(LIST):
        _check_element(run, node, elements(held), sought)
    elif held.surely(TEXT) and held.format == "joined":
        said, part = run.source(subject), run.source(searched)
        if searched.kind == "literal" and "," in str(searched.value):
            return
        run.warn(
            "part-of-joined",
            f"{said} is one text of several parts, so {part} is also found inside a part",
            node,
            f"write contains(split({said}, ','), {part})",
        )
    elif held.surely(TEXT) and not sought.kinds & TEXT:
        swapped = f"contains({run.source(searched)}, {run.source(subject)})"
        hint = f"swap them: {swapped}" if sought.surely(LIST) else None
        run.note("never-equal", f"a text never contains {word(sought)}", node, hint)


def _check_element(run: TypeWalk, node: Node, item: Type, sought: Type) -> None:
    subject, searched = node.children
    for child in subject.children if subject.kind == "select_list" else ():
        if child.kind == "literal" and isinstance(child.value, str) and sought.surely(TEXT):
            check_word(run, child, searched, sought)
    if subject.kind == "literal" and sought.surely(TEXT):
        for value in subject.value:
            if isinstance(value, str):
                check_word(run, subject, searched, sought, value)
    elif searched.kind == "literal" and item.surely(TEXT) and sought.surely(TEXT):
        check_word(run, searched, subject, item)
    if run.found_within(node) or not item.kinds & PRESENT:
        return
    if not may_equal(item, sought) and not item.kinds & sought.kinds & PRESENT:
        run.note(
            "never-equal",
            f"an element of {run.source(subject)} is {word(item)} and never {word(sought)}",
            node,
        )


# -- results


def _result(function: Function, kinds: list[Type]) -> Type:
    special = _SPECIAL.get(function.name)
    kind = special(kinds) if special is not None else _RESULT[function.result]
    bits = kind.kinds | (NULL if function.name in _NULL_TOO else 0)
    if function.name == "not_null" and not all(one.kinds & NOTHING for one in kinds):
        bits &= ~NULL
    stated = False
    for at, argument in enumerate(kinds):
        if function.parameter(at).subject:
            bits |= argument.kinds & NOTHING
            stated = stated or argument.stated
        bits |= argument.kinds & FAULT
    if function.name not in _NEVER_FAILS:
        bits |= FAULT
    kind = with_kinds(kind, bits)
    return marked(kind) if stated and bits & NOTHING else kind


def _element_or_null(kinds: list[Type]) -> Type:
    found = stored(joined([elements(kind) for kind in kinds[:1]]))
    return with_kinds(found, found.kinds | NULL)


def _reversed(kinds: list[Type]) -> Type:
    kind = kinds[0]
    return (
        list_of(elements(kind))
        if kind.surely(LIST)
        else with_kinds(ANY, kind.kinds & (LIST | TEXT) or LIST | TEXT)
    )


def _to_array(kinds: list[Type]) -> Type:
    kind = kinds[0]
    if kind.surely(LIST) and not kind.kinds & NOTHING:
        return list_of(elements(kind))
    lone = stored(with_kinds(kind, kind.kinds & ~LIST))
    return list_of(join(elements(kind), lone) if kind.kinds & LIST else lone)


def _changed(kind: Type, change: Callable[[str], str], form: str | None) -> Type:
    """What a function makes of a text, of each that is known."""
    return Type(
        TEXT,
        texts=None if kind.texts is None else frozenset(map(change, kind.texts)),
        known=frozenset(map(change, kind.known)),
        format=form,
    )


def _lookup(kinds: list[Type]) -> Type:
    table = kinds[0]
    found = contents(table) if table.kinds & OBJECT else Type(0)
    return join(found, kinds[2] if len(kinds) > 2 else Type(ABSENT))


_SPECIAL: dict[str, Callable[[list[Type]], Type]] = {
    "max": _element_or_null,
    "min": _element_or_null,
    "max_by": _element_or_null,
    "min_by": _element_or_null,
    "sort": lambda kinds: list_of(elements(kinds[0])),
    "sort_by": lambda kinds: list_of(elements(kinds[0])),
    "map": lambda kinds: list_of(stored(kinds[0])),
    "reverse": _reversed,
    "to_array": _to_array,
    "values": lambda kinds: (
        list_of(stored(contents(kinds[0]))) if kinds[0].surely(OBJECT) else Type(LIST)
    ),
    "lookup": _lookup,
    "not_null": lambda kinds: joined([there(kind) for kind in kinds]),
    "capture": lambda kinds: captured(kinds[1]),
    "type": lambda _: _TYPE_WORDS,
    "now": lambda _: Type(TEXT, format="timestamp"),
    "keys": lambda _: list_of(TEXT_TYPE),
    "length": lambda _: _NOT_NEGATIVE,
    "abs": lambda _: _NOT_NEGATIVE,
    "lower": lambda kinds: _changed(kinds[0], str.lower, "lower"),
    "upper": lambda kinds: _changed(kinds[0], str.upper, "upper"),
    "trim": lambda kinds: _changed(kinds[0], str.strip, kinds[0].format),
    "domain_of": lambda _: Type(TEXT, format="domain"),
    "date": lambda _: Type(TEXT, format="day"),
}


# -- those that evaluate only what they need


def _if(run: TypeWalk, node: Node, view: TypeScope) -> Type:
    condition, then, other = node.children
    facts = view.facts if view.strict else ()  # what is learnt in one reading is of that one
    strict = replace(view, strict=True, begin=None, facts=facts)
    verdict = run.verdict(condition, strict)
    found = [Type(verdict & FAULT)]
    for narrow, bit, way in ((when_true, TRUE, then), (when_false, FALSE, other)):
        if (seen := narrow(run, condition, strict)) is not None and verdict & bit:
            seen = seen if view.strict else replace(seen, strict=False, facts=view.facts)
            found.append(run.value(way, seen))
    return joined([kind for kind in found if kind.kinds])


def _default(run: TypeWalk, node: Node, view: TypeScope) -> Type:
    first, fallback = (run.value(child, view) for child in node.children)
    return join(there(first), fallback) if first.kinds & NOTHING else first


def _exists(run: TypeWalk, node: Node, view: TypeScope) -> Type:
    kind = run.value(node.children[0], view)
    there = TRUE if kind.kinds & ~(ABSENT | FAULT) else 0
    return Type(there | (FALSE if kind.kinds & ABSENT else 0) | kind.kinds & FAULT)


_LAZY: dict[str, Callable[[TypeWalk, Node, TypeScope], Type]] = {
    "if": _if,
    "default": _default,
    "exists": _exists,
}
