"""Function calls: checked against the table when compiled, their arguments when called."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import msgspec

from router.errors import EvaluationError, ExpressionError
from router.expressions.absent import ABSENT, JSON, Failed, Lazy
from router.expressions.compare import type_word
from router.expressions.functions_list import LIST_FUNCTIONS
from router.expressions.functions_number import NUMBER_FUNCTIONS
from router.expressions.functions_text import TEXT_FUNCTIONS
from router.expressions.functions_time import TIME_FUNCTIONS
from router.expressions.nodes import Node
from router.expressions.regex import REGEX_FUNCTIONS, check_pattern
from router.expressions.signatures import FUNCTIONS, Function, Parameter
from router.expressions.value import Run, Semantics, build, present
from router.suggest import closest, meaning

UNKNOWN = "unknown-function"
ARITY = "function-arity"
ARGUMENT = "function-argument"

_WORK: dict[str, Callable[..., Any]] = {
    **TEXT_FUNCTIONS,
    **NUMBER_FUNCTIONS,
    **LIST_FUNCTIONS,
    **TIME_FUNCTIONS,
}
_TAKE_ABSENT = frozenset({"lookup", "not_null", "type"})
"""The functions that are made for absent arguments, beside the lazy ones."""
_CLASSES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, Decimal, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
    "any": (str, int, Decimal, float, bool, list, dict),
}


# -- at compile time


def check_call(node: Node) -> None:
    """Name, number of arguments and `&`. Raises ExpressionError."""
    if (function := FUNCTIONS.get(node.value)) is None:
        name = str(node.value)
        close = closest(name, sorted(FUNCTIONS))
        raise ExpressionError(
            UNKNOWN,
            f"there is no function '{name}'",
            node.start,
            node.start + len(name),
            meaning(name, close) or "docs/functions.md lists the functions",
        )
    count = len(node.children)
    if count < function.least or (function.most is not None and count > function.most):
        raise ExpressionError(
            ARITY,
            f"{node.value}() takes {_counted(function)}, not {count}",
            node.start,
            node.end,
            f"write {function.usage()}",
        )
    for position, argument in enumerate(node.children):
        parameter = function.parameter(position)
        _check_argument(function, parameter, argument)
        if parameter.pattern:
            check_pattern(function.name, argument)


def _counted(function: Function) -> str:
    least, most = function.least, function.most
    if most is None:
        return f"at least {least} argument{'s' * (least != 1)}"
    if least == most:
        return f"{least or 'no'} argument{'s' * (least != 1)}"
    return f"{least} to {most} arguments"


def _check_argument(function: Function, parameter: Parameter, argument: Node) -> None:
    wanted = "expref" in parameter.types
    if wanted == (argument.kind == "expref"):
        return
    what = "needs an expression" if wanted else "takes no expression with '&'"
    raise ExpressionError(
        ARGUMENT,
        f"{function.name}() {what} as '{parameter.name}'",
        argument.start,
        argument.end,
        "write & before it: &price" if wanted else None,
    )


# -- at run time


def build_call(node: Node, reading: Semantics) -> Run:
    """The closure that calls the function."""
    function = FUNCTIONS[node.value]
    if function.lazy:
        return _LAZY[function.name](node, reading)
    if reading.whole and function.name not in _TAKE_ABSENT:
        function = msgspec.structs.replace(function, whole=True)
    if (prepare := REGEX_FUNCTIONS.get(function.name)) is not None:
        text, pattern = node.children
        return _one(function, build(text, reading), prepare(pattern.value))
    runs = [_argument(child, reading) for child in node.children]
    if function.scoped:
        return _scoped(function, runs)
    if len(runs) == 1:
        return _one(function, runs[0], _WORK[function.name])
    return _two(function, runs) if len(runs) == 2 else _several(function, runs)


def _argument(node: Node, reading: Semantics) -> Run:
    if node.kind != "expref":
        return build(node, reading)
    inner = build(node.children[0], reading)
    return lambda _x, s: lambda item: present(inner(item, s))


def _one(function: Function, run: Run, work: Callable[[Any], Any]) -> Run:
    """As several, of which only the first is not known when the expression is compiled."""
    parameter = function.parameters[0]
    allowed = _plain_classes(parameter)

    def call(x: Any, s: Any) -> Any:
        value = run(x, s)
        if value.__class__ in allowed:
            return work(value)
        if _lacks(function, parameter, value):
            return value
        return work(_admit(function, parameter, value))

    return call


def _plain_classes(parameter: Parameter) -> frozenset[type]:
    """The classes that need no further look."""
    return frozenset(one for kind in parameter.types for one in _CLASSES.get(kind, ()))


def _two(function: Function, runs: list[Run]) -> Run:
    """As several; the usual case, a text or list and what is looked for in it, in fewer steps."""
    work, careful = _WORK[function.name], _several(function, runs)
    first, second = runs
    some, others = (_plain_classes(function.parameter(at)) for at in range(2))

    def call(x: Any, s: Any) -> Any:
        one = first(x, s)
        if one.__class__ not in some:
            return careful(x, s, one)
        two = second(x, s)
        return work(one, two) if two.__class__ in others else careful(x, s, one, two)

    return call


def _several(function: Function, runs: list[Run]) -> Callable[..., Any]:
    """
    Whatever their places: a wrong type is an error, before an absent subject, before a null.

    `known` are the values of the first ones, where they have been read.
    """
    work = _WORK[function.name]
    checks = [
        (run, function.parameter(at), _plain_classes(function.parameter(at)))
        for at, run in enumerate(runs)
    ]

    def call(x: Any, s: Any, *known: Any) -> Any:
        arguments, lacking = [], []
        for at, (run, parameter, allowed) in enumerate(checks):
            value = known[at] if at < len(known) else run(x, s)
            if value.__class__ not in allowed:
                if _lacks(function, parameter, value):
                    lacking.append(value)
                    continue
                value = _admit(function, parameter, value)
            arguments.append(value)
        if lacking:
            return ABSENT if ABSENT in lacking else None
        return work(*arguments)

    return call


def _lacks(function: Function, parameter: Parameter, value: Any) -> bool:
    """Whether this argument makes the result absent, or null."""
    if value is ABSENT:
        return parameter.subject or function.whole
    return value is None and parameter.subject


def _scoped(function: Function, runs: list[Run]) -> Run:
    work = _WORK[function.name]
    if not runs:
        return lambda _x, s: work(s)
    at_time, parameter = runs[0], function.parameters[0]
    allowed = _plain_classes(parameter)

    def call(x: Any, s: Any) -> Any:
        if (value := at_time(x, s)) is None or value is ABSENT:
            return value
        return work(s, value if value.__class__ in allowed else _admit(function, parameter, value))

    return call


def _admit(function: Function, parameter: Parameter, value: Any) -> JSON:
    """The argument as the function takes it. Raises EvaluationError for a wrong type."""
    if isinstance(value, Lazy):
        value = value.everything()
    value = present(value)
    word = type_word(value)
    for kind in parameter.types:
        if kind in ("any", word) or (kind == "expref" and callable(value)):
            return value
        if word == "array" == kind[:5] and all(f"array[{type_word(x)}]" == kind for x in value):
            return value
    wanted = " or ".join(parameter.types)
    raise EvaluationError(f"{function.name}() needs {wanted} as '{parameter.name}', got {word}")


# -- those that evaluate only what they need


def _if(node: Node, reading: Semantics) -> Run:
    judge = reading.verdict(node.children[0])
    then, other = build(node.children[1], reading), build(node.children[2], reading)

    def choose(x: Any, s: Any) -> Any:
        if (verdict := judge(x, s)) is True:
            return then(x, s)
        if verdict.__class__ is Failed:
            raise EvaluationError(verdict.reason)
        return other(x, s)

    return choose


def _default(node: Node, reading: Semantics) -> Run:
    first, fallback = build(node.children[0], reading), build(node.children[1], reading)

    def default(x: Any, s: Any) -> Any:
        value = first(x, s)
        return fallback(x, s) if value is None or value is ABSENT else value

    return default


def _exists(node: Node, reading: Semantics) -> Run:
    run = build(node.children[0], reading)
    return lambda x, s: run(x, s) is not ABSENT


_LAZY: dict[str, Callable[[Node, Semantics], Run]] = {
    "if": _if,
    "default": _default,
    "exists": _exists,
}
