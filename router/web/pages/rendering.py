"""
Templates to pages. Whatever is shown passes one place: it is text, and its control characters and
what reorders or hides letters are written as escapes.
"""

from collections.abc import Callable
from typing import Any

import msgspec
from jinja2 import BytecodeCache, Environment, PackageLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup

from router.expressions import encode_json
from router.legible import cut, moment, size_text, span, visible, visible_block
from router.operator.audit_text import asked_words
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
        self._environment.globals["asset"] = assets.path
        self._environment.filters |= {
            "moment": moment,
            "span": span,
            "line": visible,
            "value": value_text,
            "asked": asked_words,
            "size": size_text,
            "counts": counts_text,
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


def counts_text(counts: dict[str, int]) -> str:
    """`2 succeeded, 1 dead`, or nothing."""
    return ", ".join(f"{n} {state}" for state, n in sorted(counts.items()) if n)


def result_text(value: Any) -> str:
    """Part of what an action answered: text as it is, else JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode("utf-8")
