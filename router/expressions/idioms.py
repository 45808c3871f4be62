"""
An expression that is not understood: where another language is recognised in it, what to write.

Nothing here is called but for a mistake.
"""

import re

from router.errors import ExpressionError
from router.expressions.idiom_tables import NAMES, ROOTS, ROWS, V, X
from router.expressions.regex import BAD_PATTERN
from router.expressions.signatures import FUNCTIONS
from router.expressions.tokens import SYNTAX
from router.legible import cut
from router.suggest import FixHint

_AROUND = 300
"""Characters on either side of a fault that are looked at, which bounds the work."""
_HINT_MAX = 200

_ANSWER = re.compile(r"write (?P<text>'(?P<sign>[=!<>]+)'|'[^']*')")
"""Hints that say all of what is to be written."""
_WORD = {f"write {word}": FixHint(f"write {word}", word) for word in ("null", "true", "false")}
_CALL = r"(?P<name>\w+)\s*\((?P<all>(?:[^()']|'[^']*'|\([^()]*\))*)"
_CALLED_ON = rf"{X}\s*[.|]\s*$"
_ARGUMENT = r"\s*((?:[^,()[\]']|'[^']*'|\([^()]*\)|\[[^\]]*\])*)\s*,?\s*(.*)"
_BETWEEN = rf"{X}\s+(?P<no>(?i:not)\s+)?(?P<name>[A-Za-z]+(?:[ _]?(?i:with|to|than))?)\s+{V}"
_BEFORE = rf"\b(?P<name>eq|ne|gt|ge|lt|le)\s+\.(?:Payload\.)?(?P<p>[\w.]+)\s+{V}"
_LIBRARIES = frozenset(("re", "Math", "JSON", "Number", "String", "Object", "strings", "core"))
_NOT_BETWEEN = frozenset(("and", "or", "if", "like"))


def translated(fault: ExpressionError, text: str) -> ExpressionError:
    """The same fault of an expression; where another language is recognised, how it is written."""
    if fault.code == BAD_PATTERN:
        return fault  # it lies in a text
    begin = max(0, fault.start - _AROUND)
    near, at = text[begin : fault.start + _AROUND], fault.start - begin
    for pattern, message, words in ROWS:
        for found in re.finditer(pattern, near):
            if found.start() <= at <= found.end():
                parts = _parts(found)
                span = (fault.start, fault.end)
                if "at" in parts:
                    span = (begin + found.start("at"), begin + found.end("at"))
                hint = words.format(**parts)
                if (answer := _ANSWER.fullmatch(hint)) is not None:
                    if answer["sign"]:
                        span = (begin + found.start(), begin + found.end())
                    if answer["sign"] or "at" in parts:
                        hint = FixHint(hint, answer["sign"] or answer["text"])
                return _fault(fault.code, message.format(**parts), span, hint)
    call = fault.code != SYNTAX
    if (meant := _called(near, at) if call else _between(near, at)) is None:
        return fault
    message = fault.message if call else f"'{meant[0]}' is not an operator"
    return _fault(fault.code, message, (fault.start, fault.end), f"write {meant[1]}")


def hint_of_root(text: str, start: int) -> str | None:
    """How the path of `text` that begins at `start` with an unknown name is written, if known."""
    for pattern, words in ROOTS:
        if found := re.compile(pattern).match(text, start):
            return _WORD.get(words) or words.format(**_parts(found))
    return None


def hint_of_field(name: str, said: str) -> str | None:
    """How what other languages write as a field of a text or a list is written: `x.length`."""
    words = _words(name, several=False)
    return None if words is None or "{v}" in words else f"write {words.format(x=said)}"


def _fault(code: str, message: str, span: tuple[int, int], hint: str) -> ExpressionError:
    shown = cut(hint, _HINT_MAX)
    return ExpressionError(code, message, *span, hint if shown == hint else shown)


def _called(near: str, at: int) -> tuple[str, str] | None:
    """The name of what is called and is not ours, or ours as a method or filter; what is meant."""
    if (call := re.compile(_CALL).match(near, at)) is None:
        return None
    name, arguments = call["name"], _ours(call["all"].strip())
    on = re.search(_CALLED_ON, near[:at])
    if on is None and name in FUNCTIONS:
        return None
    if on is None or on["x"] in _LIBRARIES:
        first, others = _split(arguments)
    else:
        first, others = _ours(on["x"]), arguments
    words = _words(name, several=bool(others))
    if words is None and name in FUNCTIONS:
        words = f"{name}({{x}}, {{v}})" if others else f"{name}({{x}})"
    if words is None:
        return None
    if words.startswith("!") and re.search(r"[=<>&|]", first):
        first = f"({first})"
    if words.startswith("matches") and first[:1] == "'" != others[:1]:
        first, others = others, first
    given = {"x": first or "…", "v": others or "…", "name": others.strip("'")}
    return name, words.format(**given)


def _between(near: str, at: int) -> tuple[str, str] | None:
    """A word between two values, or before both, and what is meant."""
    for pattern in (_BETWEEN, _BEFORE):
        for found in re.finditer(pattern, near):
            name = found["name"]
            words = None if _folded(name) in _NOT_BETWEEN else _words(name, several=True)
            if found.start() <= at <= found.end() and words is not None and "{v}" in words:
                parts = _parts(found)
                first = parts["x"] if "x" in parts else "payload." + parts["p"]
                return name, parts["no"] + words.format(x=first, v=parts["v"])
    return None


def _split(arguments: str) -> tuple[str, str]:
    """The first argument, and the others."""
    found = re.match(_ARGUMENT, arguments)
    return (found[1].strip(), found[2].strip()) if found else (arguments, "")


def _parts(found: re.Match[str]) -> dict[str, str]:
    """What the words of a row may name: the groups of its pattern, and forms of them."""
    parts = {name: _ours(text or "") for name, text in found.groupdict().items()}
    negated = bool(parts.pop("no", ""))
    value = parts.get("v", "")
    return parts | {
        "no": "!" * negated,
        "sign": "!=" if negated else "==",
        "x_dots": parts.get("x", "").replace("/", "."),
        "v_small": value.lower(),
        "v_glob": value.replace("%", "*"),
        "v_digits": re.sub(r"[^\d.]", "", value),
    }


def _ours(text: str) -> str:
    """Texts in single quotes, and names after a dot."""
    if text[:1] == "/":
        return f"'{text[1:-1]}'"
    text = re.sub(r"""\[(['"])([A-Za-z_]\w*)\1\]""", r".\2", text)
    return re.sub(r'(?<![.\w])"([^"\']*)"', r"'\1'", text)


def _folded(name: str) -> str:
    return re.sub(r"[ _]", "", name).lower()


def _words(name: str, *, several: bool) -> str | None:
    """What is meant by a name elsewhere; of two meanings the one that takes `several` values."""
    found = [words for words, names in NAMES.items() if _folded(name) in names.split()]
    found.sort(key=lambda words: ("{v}" in words) != several)
    return found[0] if found else None
