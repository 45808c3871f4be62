"""`--var NAME=VALUE`: values that a condition reads, so that they need not be written into it."""

import re
from typing import Any

import click
import msgspec

from router.errors import UsageError
from router.expressions import NotJson, decode_json
from router.model.selector import ABOUT

_GIVEN = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(:?=)(.*)", re.DOTALL)


def bound_values(texts: tuple[str, ...]) -> dict[str, Any] | None:
    """
    JSON values by name: the text behind `=`, or what is written in JSON behind `:=`.

    Raises:
        UsageError: one is not written so, or a name is given twice.
    """
    values: dict[str, Any] = {}
    for text in texts:
        if (found := _GIVEN.fullmatch(text)) is None:
            raise UsageError(f"--var takes NAME=VALUE, like email=ann@example.com, not {text!r}")
        name, sign, value = found.groups()
        if name in values:
            raise UsageError(f"--var {name} is given twice")
        values[name] = value if sign == "=" else _json(name, value)
    return values or None


def _json(name: str, text: str) -> Any:
    try:
        decode_json(text.encode())  # what a payload may hold, no more
        return msgspec.json.decode(text)
    except NotJson:
        raise UsageError(
            f"--var {name}:= takes JSON, like {name}:=42; for a text write {name}=TEXT"
        ) from None


def _parsed(_ctx: click.Context, _option: click.Parameter, texts: tuple[str, ...]) -> Any:
    return bound_values(texts)


var_option = click.option(
    "--var", metavar="NAME=VALUE", multiple=True, callback=_parsed, help=ABOUT["var"]
)
"""Gives a command the values as one argument `var`, None where there are none."""
