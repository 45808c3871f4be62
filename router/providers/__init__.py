"""
Kinds of senders as data: how they sign, name, number and batch. No I/O, no clock.

`builtin()` maps every name of the built-in providers to its Provider, `own()` is the router as the
sender of its own events; `parse_definition` and `Provider` make one of a user's definition.
"""

from router.providers.catalogue import builtin, own, recovering
from router.providers.definition import Definition
from router.providers.provider import Provider
from router.providers.read import ReadEvent, Reading
from router.providers.secret_kinds import Invented
from router.providers.validation import parse_definition

__all__ = [
    "Definition",
    "Invented",
    "Provider",
    "ReadEvent",
    "Reading",
    "builtin",
    "own",
    "parse_definition",
    "recovering",
]
