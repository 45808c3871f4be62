"""Checks of texts that look like templates, of another tool or without their braces."""

import re

from router.config.checks.base import CompiledFile, Found, TextSpan
from router.config.language import DELIVERY_FIELDS, Language, Written
from router.expressions import Template
from router.suggest import FixHint

_STEP = r'(?:\.(?:\w+|"[^"]+")|\[[\w*-]*\])'
_OURS = rf"(?:\$\.)?(?:(?:payload|def|var|secret|delivery){_STEP}|results{_STEP}{{2}}){_STEP}*"
"""A path that hardly anybody writes who means a text."""
_PATH = rf"(?:{_OURS}|(?:\$\.)?(?:headers|query){_STEP}+)"
_ALONE = re.compile(
    rf"\s*(?:{_OURS}(?:\s*(?:\|\|?|&&|[=!]=|[<>]=?).+)?|[a-z_0-9]+\(.*\b{_OURS}.*\))\s*",
    re.DOTALL,
)
_IN_ADDRESS = re.compile(r"(?<=[/=])(payload(?:\.\w+)+)(?=[/?&#]|$)")
_SECRET = re.compile(r"(?<![\w./-])(secret\.[a-z]\w*)(?![\w./-])")
_MARKED = re.compile(
    rf"\$?\{{\s*(?P<braces>{_PATH})\s*\}}+|[%#]\{{\s*(?P<sign>{_PATH})\s*\}}"
    rf"|\$\(\s*(?P<round>{_PATH})\s*\)|\$(?P<dollar>payload(?:\.\w+)+)"
    rf"|\[\[\s*(?P<square>{_PATH})\s*\]\]|<%[=-]?\s*(?P<erb>{_PATH})\s*-?%>"
    rf"|%(?P<percent>{_PATH})%"
)
_STATEMENT = re.compile(
    r"\{%-?\s*(?:if|elsif|elif|else|endif|unless|for|endfor|set|assign|include)\b[^%]*%\}"
)
_VARIABLE = re.compile(r"\$(?:\{[A-Z_][A-Z0-9_]+\}|[A-Z_][A-Z0-9_]{2,})")
_FILE = re.compile(r"\w+\.(?:json|txt|xml|ya?ml|csv|log|bin|body|sh|py|sql)")
_MONEY = re.compile(r"price|total|amount|cost|sum|fee|tax|discount|balance|paid|due|revenue|value")
_SIGNS = re.compile(r"[{$%<\[]")
_LENGTH_MAX = 2_000
_UNEXPANDED = frozenset({"a url", "a path", "a query", "a header", "an environment variable"})
"""Places where no program that could know a variable ever reads the text."""


def texts_like_templates(file: CompiledFile) -> Found:
    """Texts that are sent as they stand, though they name what an event holds."""
    for written in file.written:
        template = written.compiled
        if not isinstance(template, Template):
            continue
        if template.parts == (template.text,):
            yield from _alone(file, written)
        elif template.text.startswith("${{") and len(template.parts) == 2:
            yield from _with_dollar(written, template)
        for at, part in enumerate(template.parts):
            if isinstance(part, str):
                yield from _within(file, written, part[:_LENGTH_MAX], template.offset_of(at))


def _alone(file: CompiledFile, written: Written) -> Found:
    """An expression, and nothing else."""
    text = written.text.value
    if "." not in text or len(text) > _LENGTH_MAX or _FILE.fullmatch(text):
        return
    if not _ALONE.fullmatch(text) or not _means(file, text):
        return
    message = f"this is the text '{written.text.shown.strip()}', not the value"
    template = f"{{{{ {text.strip()} }}}}"
    yield written.text, message, FixHint(f'write "{template}"', template)


def _means(file: CompiledFile, text: str) -> bool:
    """Whether it would be a template with braces around it, of names that are there."""
    template = Language.quiet_template(f"{{{{ {text} }}}}")
    entry = file.context.file
    known = {"var": entry.vars or (), "def": entry.define or (), "secret": entry.secrets or ()}
    return template is not None and all(
        field in known.get(root, DELIVERY_FIELDS if root == "delivery" else (field,))
        for root, field in template.uses
    )


def _with_dollar(written: Written, template: Template) -> Found:
    """`${{ … }}` and nothing else; before a price the sign is meant."""
    *_, expression = template.expressions
    if template.parts[0] == "$" and not _MONEY.search(expression.text.lower()):
        yield (
            TextSpan(written.text, 0, 1),
            "the '$' is sent too: a template is only {{ … }}",
            f'write "{{{{ {expression.text} }}}}"',
        )


def _within(file: CompiledFile, written: Written, part: str, base: int) -> Found:
    """What stands in a literal part of a text."""
    patterns = [_MARKED] if _SIGNS.search(part) else []
    if written.place in ("a url", "a path") and "payload." in part:
        patterns.append(_IN_ADDRESS)
    if written.place in _UNEXPANDED and " secret." in part:
        patterns.append(_SECRET)
    for pattern in patterns:
        for found in pattern.finditer(part):
            path = next(filter(None, found.groups()))
            if _means(file, path) and not _FILE.fullmatch(path):
                place = TextSpan(written.text, base + found.start(), base + found.end())
                template = f"{{{{ {path} }}}}"
                hint = FixHint(f"write {template}", template)
                yield place, f"'{found[0]}' is sent as it stands", hint
    if "{%" in part and (first := _STATEMENT.search(part)) is not None:
        place = TextSpan(written.text, base + first.start(), base + first.end())
        message = f"'{first[0]}' is sent as it stands: templates have no statements"
        yield place, message, "write {{ if(CONDITION, 'a', 'b') }}"
    if "$" in part:
        yield from _variables(written, part, base)


def _variables(written: Written, part: str, base: int) -> Found:
    """Variables of an environment, where nothing expands them."""
    inside = written.place in _UNEXPANDED
    if inside or (written.place == "an argument" and not base):
        for found in _VARIABLE.finditer(part):
            if not inside and found.start():
                break  # in the middle it may be meant for another program
            place = TextSpan(written.text, base + found.start(), base + found.end())
            message = f"'{found[0]}' is sent as it stands: nothing puts a variable's value there"
            yield place, message, _FROM_ENVIRONMENT


_FROM_ENVIRONMENT = (
    "name it under 'vars' or 'secrets' with {env: NAME}, then write {{ var.name }} or "
    "{{ secret.name }}"
)
