"""
Templates to pages. Whatever is shown passes one place: it is text, and its control characters and
what reorders or hides letters are written as escapes.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from jinja2 import BytecodeCache, Environment, PackageLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup

from router.expressions import JSON, FieldNeed, encode_json
from router.expressions.trace import Found
from router.legible import cut, exact, moment, size_text, span, visible, visible_block
from router.model.operations import Audit, Replay
from router.operator.audit_text import asked_words, origin
from router.rules.explain_words import (
    NO_TURN,
    change_words,
    found_words,
    passed_words,
    verdict_word,
)
from router.web.pages.assets import Assets

VALUE_MAX = 200


class _Compiled(BytecodeCache):
    """Templates compiled once for the process: that takes longer than anything else of a page."""

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if bucket.key in self._kept:
            bucket.bytecode_from_string(self._kept[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._kept[bucket.key] = bucket.bytecode_to_string()


_COMPILED = _Compiled()


class Renderer:
    """
    Renders the package's templates; a name that is not given is an error, never empty text.

    `mask` removes secrets from text: a target may have sent ours back to us.
    """

    def __init__(self, assets: Assets, *, mask: Callable[[str], str] = str) -> None:
        self._mask = mask
        self._environment = Environment(
            loader=PackageLoader("router.web.pages"),
            autoescape=True,
            undefined=StrictUndefined,
            finalize=self._shown,
            trim_blocks=True,
            lstrip_blocks=True,
            bytecode_cache=_COMPILED,
        )
        self._environment.globals |= {"asset": assets.paths.__getitem__, "found_text": found_text}
        self._environment.filters |= {
            "moment": moment,
            "exact": exact,
            "span": span,
            "line": visible,
            "value": value_text,
            "asked": asked_words,
            "replay_command": replay_command,
            "origin": origin,
            "size": size_text,
            "cut": cut,
            "result": result_text,
            "verdict": verdict_word,
            "wanted": wanted_text,
            "change": change_text,
            "passed": passed_text,
        }

    def page(self, template: str, **values: Any) -> bytes:
        """The whole text of a page."""
        return self._environment.get_template(template).render(values).encode("utf-8")

    def _shown(self, value: Any) -> Any:
        """What a template puts out: text made legible, unless the template itself made it."""
        if isinstance(value, str) and not isinstance(value, Markup):
            return visible_block(self._mask(value))
        return value


def value_text(value: Any) -> str:
    """A JSON value on one line, cut."""
    return cut(visible(encode_json(value).decode("utf-8")), VALUE_MAX)


def result_text(value: Any) -> str:
    """Part of what an action answered: text as it is, else JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode("utf-8")


def found_text(text: str, type_: str, value: JSON) -> str:
    """What one operand of a condition was."""
    return found_words(Found(text, type_, value), value_text)


def replay_command(replay: Replay) -> str:
    """The command that asks for a replay, or goes on with it."""
    return asked_words(Audit(replay.id, replay.created_at, "", "replay", replay.asked))


def wanted_text(rule: Mapping[str, Any]) -> str:
    """The head of a rule, of an explanation in JSON."""
    begin = "otherwise, " if rule["otherwise"] else ""
    sources, events = (rule[name]["wanted"] or ["all"] for name in ("from", "events"))
    quiet = (
        f"; skipped, because {', '.join(rule['quieted_by'])} matched" if rule["quieted_by"] else ""
    )
    turn = f"; {NO_TURN}" if rule["ungrouped"] else ""
    return f"{begin}from {', '.join(sources)}, events {', '.join(events)}{quiet}{turn}"


def change_text(change: Mapping[str, Any]) -> str:
    """One of the smallest changes, of an explanation in JSON."""
    found = change["found"] and Found(**change["found"])
    return change_words(change["of"], change["needs"], found, change["hint"], value_text)


def passed_text(passed: Mapping[str, Any]) -> str:
    """Why the index passed a rule over, of an explanation in JSON."""
    sought = (passed[key] for key in ("wanted", "begins_with", "ends_with", "holds"))
    need = FieldNeed((passed["field"],), *sought)
    return passed_words(need, passed["there"], passed["found"], value_text)
