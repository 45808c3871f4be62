"""
What YAML itself refuses, said in our words.

Most of these faults are expressions that YAML read as its own syntax; the answer is how to quote
them.
"""

import re
from typing import Any

import yaml

from router.suggest import FixHint, Span
from router.yaml_source.source import Report, Source

_VALUE = re.compile(r"""\s*(?:-\s+)*(?:(?:[\w./-]+|"[^"]*"|'[^']*')\s*:\s+)?(?:-\s+)*(?=\S)""")
_FLOW_VALUE = re.compile(r"""[{,\[]\s*(?:(?:[\w./-]+|"[^"]*"|'[^']*')\s*:\s+)?(?=[^\s,\]}])""")
_LAYOUT = re.compile(r"(?P<space> *)(?P<dash>(?:- +)*)(?:(?P<key>[\w./-]+\s*:(?:\s|$))|(?<=- )\S)")
_FIRST_KEY = re.compile(r"\s*(?:- +)*[\w./-]+\s*")
_QUOTED = r"""'[^']*'?|"[^"]*"?|`[^`]*`?"""
"""A text in quotes, which need not end."""
_FLOW_SIGN = re.compile(rf"{_QUOTED}|(?P<open>[(\[{{])|(?P<close>[)\]}}])|,")
_COMMENT = re.compile(rf"{_QUOTED}|(?<=[ \t])#")
_LINES_ABOVE = 50
_ABOUT_LAYOUT = ("wrong indentation", "lines above")
_OPERATOR = re.compile(r"==|!=|<=|>=|&&|\|\||[<>|]")

# (what PyYAML says, what we say); the first that fits wins.
_WORDS: tuple[tuple[str, str], ...] = (
    ("tab character", "a tab stands where YAML allows only spaces"),
    ("'\\t'", "a tab stands where YAML allows only spaces"),
    ("cannot start any token", "a text cannot begin with this character unless it is quoted"),
    ("sequence entries are not allowed", "a list item '- …' must begin on a line of its own"),
    ("mapping values are not allowed", "a ': ' in a text without quotes, or a wrong indentation"),
    ("unexpected end of stream", "a quote is opened here and never closed"),
    ("unknown escape", "no such escape; between double quotes write '\\\\' for a backslash"),
    ("undefined tag handle", "'!' at the start of a value is a YAML tag"),
    ("',' or '}'", "expected ',' or '}' in the mapping that begins with '{'"),
    ("',' or ']'", "expected ',' or ']' in the list that begins with '['"),
    ("expected ':'", "expected 'key: value', but the line has no ': '"),
    ("'-' indicator", "expected another '- ' item here, as in the lines above"),
    ("found '?'", "expected another '- ' item here, as in the lines above"),
    ("alphabetic or numeric", "'&' or '*' at the start of a value must be followed by a name"),
    ("comment or", "after '|' or '>' the text begins on the next line"),
    ("indentation", "the indentation does not fit the lines above"),
    ("expected key", "this does not fit the lines above: expected a key with the same indentation"),
    ("block end", "this does not fit the lines above: expected a key with the same indentation"),
    ("document start", "expected nothing more here: the lines above are a complete value"),
    ("node content", "expected a value here"),
    ("directive", "'%' at the start of a line is a YAML directive, which a rules file cannot have"),
)  # fmt: skip


def explain(error: yaml.YAMLError, report: Report) -> None:
    """Turn PyYAML's error into a diagnostic, with the way to quote an expression if it is one."""
    start = _offset(error, report.source)
    problem = str(getattr(error, "problem", None) or error)
    if "acceptable character" in problem or "characters are not allowed" in problem:
        report.error(
            "unreadable-text", "this character cannot stand in a YAML file", start, start + 1
        )
        return
    tab = report.source.text[start : start + 1] == "\t"
    problem = "tab character" if tab else problem
    other = "this is not YAML: the text here does not fit the lines above"
    words = next((ours for theirs, ours in _WORDS if theirs in problem), other)
    own_key = "mapping values" in problem and _at_first_key(report.source, start)
    value = None if tab or own_key else _value_around(report.source, start)
    if value is None:
        laid_out = any(word in words for word in _ABOUT_LAYOUT)
        hint = _indentation(report.source, start) if laid_out else None
        report.error("yaml-syntax", words, start, start + 1, hint)
        return
    line, line_start = report.source.line_at(start)
    at = line_start + line.rfind(value, 0, start - line_start + len(value))
    hint = quoting(value, (at, at + len(value)))
    if all(other.hint != hint for other in report.found):
        report.error(
            "needs-quotes",
            "YAML cannot read this text without quotes around all of it",
            start,
            start + 1,
            hint,
        )


def tag_fault(report: Report, event: Any) -> str | None:
    """
    A tag; nearly always an expression that begins with `!`.

    Gives the expression, so that reading can go on as if it had been quoted.
    """
    if report.full:
        return None
    start = max(event.start_mark.index, report.source.text.find("!", event.start_mark.index))
    line, line_start = report.source.line_at(start)
    before, rest = line[: start - line_start], _without_comment(line[start - line_start :])
    if before.count("[") + before.count("{") > before.count("]") + before.count("}"):
        rest = _until_flow_end(rest)
    if event.tag.startswith("tag:yaml.org") or rest.startswith("!!"):
        message, hint = f"YAML tags ('{rest.split()[0]}') are not supported", "leave it out"
        report.error("yaml-tag", message, start, start + len(rest.split()[0]), hint)
        return None
    message = "'!' at the start of a value is a YAML tag, not a negation"
    report.error("yaml-tag", message, start, start + len(rest), quoting(rest))
    return rest


def template_as_key(report: Report, start: int) -> str | None:
    """
    A mapping or list in the place of a key; nearly always `{{ … }}` without quotes.

    Gives the template's text, so that reading can go on as if it had been quoted.
    """
    source = report.source
    text = source.text
    if report.full or text[start - 2 : start + 1] == "{{{":
        return None
    if text[start - 1 : start + 1] == "{{":
        line, line_start = source.line_at(start)
        value = _template_value(line, start - 1 - line_start)
        report.error(
            "needs-quotes",
            "'{{' at the start of a value is YAML syntax, not a template",
            start - 1,
            start - 1 + len(value),
            quoting(value),
        )
        return value
    report.error("key-not-text", "a key must be text, not a list or mapping", start, start + 1)
    return None


def collision(source: Source, start: int) -> str:
    """The text of a value that YAML took for `key: value`, up to the end of its line."""
    line, line_start = source.line_at(start)
    return _without_comment(line[start - line_start :])


def quoting(value: str, span: Span | None = None) -> FixHint:
    """The hint to put a value in quotes, what is underlined or else what stands at `span`."""
    return FixHint(f"quote it: {quoted(value)}", quoted(value), span)


def quoted(text: str) -> str:
    """The text as a YAML scalar in quotes that need the least escaping."""
    if "'" not in text:
        return f"'{text}'"
    if '"' not in text and "\\" not in text:
        return f'"{text}"'
    return "'" + text.replace("'", "''") + "'"


def _offset(error: yaml.YAMLError, source: Source) -> int:
    mark = getattr(error, "problem_mark", None)
    if "end of stream" in str(getattr(error, "problem", "")):
        mark = getattr(error, "context_mark", None) or mark
    offset = mark.index if mark is not None else getattr(error, "position", 0)
    if not isinstance(offset, int):
        return 0
    # A fault at the very end of the text is shown after the last thing that was written.
    return min(offset, max(0, len(source.text.rstrip()) - 1)) if source.text.strip() else 0


def _indentation(source: Source, offset: int) -> str | None:
    """How far a key or a list item should be indented to go with those above it."""
    number = source.line_number(offset)
    if (own := _LAYOUT.match(source.line(offset))) is None:
        return None
    item = bool(own["dash"])
    for before in range(number - 1, max(0, number - _LINES_ABOVE), -1):
        above = _LAYOUT.match(source.line(source.starts[before - 1]))
        if above is None or (item and not above["dash"]):
            continue
        wanted = len(above["space"]) + (0 if item else len(above["dash"]))
        if wanted == len(own["space"]):
            if above["key"] or not above["dash"]:
                return None
            return f"the list item of line {before} goes on here: is that line indented right?"
        like = "the list items" if item else "the line"
        return f"{wanted} spaces before it would fit {like} above"
    return None


def _at_first_key(source: Source, offset: int) -> bool:
    """Whether the colon at `offset` is that of the line's first key: its value is not wrong."""
    line, line_start = source.line_at(offset)
    return bool(_FIRST_KEY.fullmatch(line[: offset - line_start]))


def _value_around(source: Source, offset: int) -> str | None:
    """The value that YAML stumbled over, if it looks like an expression or a template."""
    line, line_start = source.line_at(offset)
    at = offset - line_start
    prefix = _VALUE.match(line)
    value = "" if line[:1] == "%" else _without_comment(line[prefix.end() if prefix else 0 :])
    if value[:1] in "{[" and not value.startswith("{{"):
        value = _flow_value(line, at)
    elif value[:1] in ("'", '"') and value[-1:] == value[:1] and value.count(value[0]) == 2:
        return None  # all of it is quoted
    return value if _looks_like_expression(value) else None


def _flow_value(line: str, at: int) -> str:
    """The innermost value of a flow mapping or list in which the fault lies."""
    for begin in _FLOW_VALUE.finditer(line):
        start = begin.end()
        if start > at:
            break
        template = "{{" in line[start : at + 2]
        value = _template_value(line, start) if template else _until_flow_end(line[start:])
        if (start + len(value) > at and value[:1] not in ("[", "{")) or value[:2] == "{{":
            return value
    return ""


def _until_flow_end(text: str) -> str:
    """A value up to the `,` or bracket that ends it, outside quotes and brackets of its own."""
    depth = 0
    for sign in _FLOW_SIGN.finditer(text):
        if sign[0] in (",", "]", "}") and not depth:
            return text[: sign.start()].rstrip()
        depth = max(0, depth + {"open": 1, "close": -1}.get(sign.lastgroup or "", 0))
    return text.rstrip()


def _template_value(line: str, start: int) -> str:
    """From `start` to the end of the last `}}` that belongs to the value."""
    flow = line[:start].count("{") > line[:start].count("}")
    end = line.find("}}", line.find("{{", start))
    if end < 0:
        return _without_comment(line[start:])
    return line[start : end + 2] if flow else _without_comment(line[start:])


def _looks_like_expression(value: str) -> bool:
    return len(value) > 1 and (
        "{{" in value
        or value[0] in "!@`%*&"
        or bool(_OPERATOR.search(value.strip("|>")))
        or bool(re.fullmatch(r"['\"`]?[\w.]+\(.*\).*", value))
        or bool(re.match(r"""(?:'[^']*'|"[^"]*") +[a-z]""", value))
    )


def _without_comment(text: str) -> str:
    """The text up to a ` #` outside quotes."""
    comment = next((m for m in _COMMENT.finditer(text) if m[0] == "#"), None)
    return text[: comment.start() if comment else None].rstrip()
