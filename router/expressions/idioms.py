"""
Habits of other languages: what to write instead, as the hint of an expression that is at fault.

`ROWS` are signs around values, `ROOTS` first names of a path. `{x}` in a row stands for the group
of that name; `_parts` gives more forms. The message names the group `op`; the hint is an answer in
place of the group `at`.
"""

import re

from router.errors import ExpressionError
from router.expressions.regex import BAD_PATTERN
from router.expressions.signatures import FUNCTIONS
from router.expressions.tokens import SYNTAX
from router.legible import cut
from router.suggest import FixHint

_AROUND = 300
"""Characters on either side of a fault that are looked at, which bounds the work."""
_HINT_MAX = 200
_QUOTED = r"""(?:'[^']*'|"[^"]*")"""
_PATH = (
    r"(?<![\w$@.\]])(?:\w+\([^()]*\)|[$@]?[A-Za-z_][\w.]*(?:\[[^][]*\][\w.]*|\.?\"[^\"]*\"[\w.]*)*)"
)
_X = rf"(?P<x>{_QUOTED}|{_PATH})"
_V = rf"(?P<v>{_QUOTED}|-?\d[\d.]*|{_PATH})"
_NO = r"(?P<no>(?i:not)\s+)?"
_CURLY = "‘’‚“”„«»"  # noqa: RUF001 - they are the point
_WORDS = r"(?!\S*\s*\b(?i:and|or|not|in|is|if)\b)(?P<v>[\w.]+(?:[ /@:+-]+[\w.]+)+)"
_END = r"(?=\s*(?:$|&&|\|\||[)\]]|\}\}))"
_UNIT = r"(?:[%$€£¥]|(?!(?i:and|or|is|in|if)\b)[A-Za-z]{1,7}\b)"

ROWS: tuple[tuple[str, str], ...] = (
    (r"^\s*\$?\{\{-?\s*(?P<x>.*?)\s*-?\}\}|\$\{\s*(?P<y>[^{}]*?)\s*\}", "{x}{y} without braces"),
    (r"""(?<![\w.])(?:\w+\.)*headers\[(['"])(?P<v>[\w-]+)\1\]""", 'headers."{v_small}"'),
    (rf"""{_X}\[(['"])(?P<v>[^'"]*)\2\]""", "{x}.{v_name}"),
    (r"""(?<![\w\])"'*}])\.(?:Payload\.|Body\.)?(?P<v>[A-Za-z_][\w.]*)""", "payload.{v}"),
    (r"\?\.", "'.': below null there is nothing, and no error"),
    (rf"[{_CURLY}](?P<v>[^{_CURLY}]*)[{_CURLY}]?", "'{v}', in straight single quotes"),
    (rf"[=!]=\s*(?P<at>{_WORDS}){_END}", "'{v}'"),
    (r"(?P<at>(?P<op>(?P<v>[=!])==))", "{v}="),
    (r"(?P<at>(?P<op><>))", "!="),
    (rf"{_X}\.\w+\(\(?(?P<a>\w+)\)?\s*=>\s*(?P=a)\.(?P<v>[^()]*)\)", "{x}[?{v}]"),
    (r"(?P<at>(?P<op>=(?P<v>[<>!])))", "{v}="),
    (rf"{_X}\s*(?P<no>!)?(?P<op>=~|~=|~)\s*(?P<v>{_QUOTED}|/[^/]*/)\w*", "{no}matches({x}, {v})"),
    (rf"{_X}\s+{_NO}(?P<op>(?i:in))\s*[\[(](?P<v>[^][()]*)[\])]", "{no}contains([{v}], {x})"),
    (rf"{_X}\s+(?P<op>(?i:is))(?P<no>\s+(?i:not))?\s+{_V}", "{x} {sign} {v_null}"),
    (rf"{_X}\s+{_NO}(?P<op>(?i:i?like))\s+(?P<v>{_QUOTED})", "{no}glob({x}, {v_glob})"),
    (r"(?<![\w'\"\])] )\b(?P<op>(?i:not))\s+(?P<x>[A-Za-z_][\w.]*)", "!{x}"),
    (rf"{_X}\s*(?P<op>\?\?|\?:)\s*{_V}", "default({x}, {v})"),
    (r"(?P<x>[^?]*\S)\s*(?P<op>\?)\s*(?P<v>[^?:]*[^?:\s])\s*:\s*(?P<y>.*\S)", "if({x}, {v}, {y})"),
    (rf"{_X}\s*(?P<op>\*)\s*{_V}", "mul({x}, {v})"),
    (r"[<>=(,]\s*(?P<v>\d{1,3}(?:[,_' ]\d{3})+(?:\.\d+)?)(?![\d,])", "{v_digits}"),
    (rf"[<>=]\s*(?P<v>\d+(?:\.\d+)?)\s*{_UNIT}", "{v}: a number has no unit, a time is in seconds"),
    (r";|,\s*(?=[A-Za-z_][\w.]*\s*[=!<>])", "'&&' between conditions, or a list of them"),
)

NAMES = {
    "length({x})": "length len size count",
    "contains({x}, {v})": "contains includes include has",
    "contains({v}, {x})": "in",
    "starts_with({x}, {v})": "startswith beginswith hasprefix",
    "ends_with({x}, {v})": "endswith hassuffix",
    "lower({x})": "lower tolower tolowercase downcase",
    "upper({x})": "upper toupper touppercase upcase",
    "trim({x})": "trim strip",
    "join({v}, {x})": "join",
    "matches({x}, {v})": "matches match test search regex",
    "to_string({x})": "tostring str string tojson stringify",
    "decimal({x})": "tonumber number int float parseint parsefloat",
    "default({x}, {v})": "default coalesce ifnull",
    "exists({x})": "exists defined isset has",
    "!({x})": "not empty isempty",
    "{x} == {v}": "eq equal equals",
    "{x}.{name}": "get",
    "{x}[?condition]": "filter find where some any every all",
}
"""Functions, methods and words between two values, as they are called elsewhere: small, no `_`."""

_REQUEST = r"(?:req|request|webhook|http)\."
_BODY = rf"(?:{_REQUEST})?(?:body|json|data|item|github|Payload)\.(?:event\.)?"
_ENV = r"(?:process\.|os\.)?(?:environ|env)\.?\W*"
ROOTS: tuple[tuple[str, str], ...] = (
    (rf"{_ENV}(?P<v>\w+)", "var.{v_small}, and vars: {{{v_small}: {{env: {v}}}}} at the top"),
    (r"github\.event_name", "event"),
    (rf"{_REQUEST}headers?\.?\W*(?P<v>[\w-]+)", 'headers."{v_small}"'),
    (rf"{_BODY}(?P<v>\w[\w.]*)", "payload.{v}"),
    (r"(?:if|range|with|each|for|else|end|endif)\b", "if(condition, a, b): there are no blocks"),
    (r"(?:nil|None|undefined|NULL)\b", "null"),
    (r"(?P<v>True|TRUE|False|FALSE)\b", "{v_small}"),
)

_CALL = r"(?P<name>\w+)\s*\((?P<all>(?:[^()']|'[^']*'|\([^()]*\))*)"
_ARGUMENTS = r"\s*((?:[^,()[\]']|'[^']*'|\([^()]*\)|\[[^\]]*\])*)\s*,?\s*(.*)"
_BETWEEN = rf"{_X}\s+{_NO}(?P<op>[A-Za-z]+(?:[ _]?(?i:with))?)\s+{_V}"
_LIBRARIES = frozenset(("re", "Math", "JSON", "Number", "String", "Object", "strings"))
_NULLS = frozenset(("none", "nil", "undefined", "empty", "null"))


def translated(fault: ExpressionError, text: str) -> ExpressionError:
    """Return the fault of an expression, with the hint of the first habit that is found there."""
    if fault.code == BAD_PATTERN:
        return fault  # it lies in a text
    begin = max(0, fault.start - _AROUND)
    near, at = text[begin : fault.start + _AROUND], fault.start - begin
    for pattern, words in (*ROWS, (_BETWEEN, "")) if fault.code == SYNTAX else ROWS:
        found = next((m for m in re.finditer(pattern, near) if m.start() <= at <= m.end()), None)
        if found is None:
            continue
        written = words or "{no}" + _words(found["op"], several=True)
        if not words and "{v}" not in written:
            return fault  # a word between two values that is none of NAMES
        parts = _parts(found)
        message = f"'{parts['op']}' is not an operator" if "op" in parts else fault.message
        written = written.format(**parts)
        hint, (start, end) = cut(f"write {written}", _HINT_MAX), (fault.start, fault.end)
        if "at" in parts:
            hint = FixHint(hint, written)
            start, end = begin + found.start("at"), begin + found.end("at")
        return ExpressionError(fault.code, message, start, end, hint)
    if fault.code == SYNTAX or not (written := _called(near, at)):
        return fault
    hint = cut(f"write {written}", _HINT_MAX)
    return ExpressionError(fault.code, fault.message, fault.start, fault.end, hint)


def hint_of_root(text: str, start: int) -> str | None:
    """How the path of `text` that begins at `start` with an unknown name is written, if known."""
    for pattern, words in ROOTS:
        if found := re.compile(pattern).match(text, start):
            hint = f"write {(written := words.format(**_parts(found)))}"
            return FixHint(hint, written) if written in ("null", "true", "false") else hint
    return None


def hint_of_field(name: str, said: str) -> str | None:
    """How what other languages write as a field of a text or a list is written: `x.length`."""
    words = _words(name, several=False)
    if not words or "{v}" in words or "{name}" in words:
        return None
    return f"write {words.format(x=said)}"


def _called(near: str, at: int) -> str:
    """What is meant by a call of what is not ours, or of ours as a method or filter."""
    if (call := re.compile(_CALL).match(near, at)) is None:
        return ""
    name, arguments = call["name"], _ours(call["all"].strip())
    on = re.search(rf"{_X}\s*[.|]\s*$", near[:at])
    if on is not None and on["x"] not in _LIBRARIES:
        first, others = _ours(on["x"]), arguments
    elif name in FUNCTIONS:
        return ""
    else:
        split = re.match(_ARGUMENTS, arguments)
        first, others = (split[1].strip(), split[2].strip()) if split else (arguments, "")
    ours = f"{name}({{x}}, {{v}})" if others else f"{name}({{x}})"
    words = _words(name, several=bool(others)) or (ours if name in FUNCTIONS else "")
    if words.startswith("matches") and first[:1] == "'" != others[:1]:
        first, others = others, first
    return words.format(x=first or "…", v=others or "…", name=others.strip("'"))


def _parts(found: re.Match[str]) -> dict[str, str]:
    """What the words of a row may name: the groups of its pattern, and forms of them."""
    parts = {name: _ours(text or "") for name, text in found.groupdict().items()}
    negated, value = bool(parts.pop("no", "")), parts.get("v", "")
    return parts | {
        "no": "!" * negated,
        "sign": "!=" if negated else "==",
        "v_small": value.lower(),
        "v_null": "null" if value.lower() in _NULLS else value,
        "v_name": value if re.fullmatch(r"[A-Za-z_]\w*", value) else f'"{value}"',
        "v_glob": value.replace("%", "*"),
        "v_digits": re.sub(r"[^\d.]", "", value),
    }


def _ours(text: str) -> str:
    """Texts in single quotes, and names after a dot."""
    if text[:1] == "/":
        return f"'{text[1:-1]}'"
    text = re.sub(r"""\[(['"])([A-Za-z_]\w*)\1\]""", r".\2", text)
    return re.sub(r'(?<![.\w])"([^"\']*)"', r"'\1'", text)


def _words(name: str, *, several: bool) -> str:
    """What is meant by a name elsewhere; of two meanings the one that takes `several` values."""
    folded = re.sub(r"[ _]", "", name).lower()
    found = [words for words, names in NAMES.items() if folded in names.split()]
    return min(found, key=lambda words: ("{v}" in words) != several, default="")
