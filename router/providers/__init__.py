"""
JUDGE: kinds of senders as data: how they sign, name, number and batch. No I/O, no clock.

`builtin()` maps every name of the built-in providers to its Provider; `parse_definition` and
`Provider` make one of a user's definition.
"""

from router.providers.catalogue import builtin
from router.providers.definition import Definition, parse_definition
from router.providers.provider import EventInfo, Provider, SecretVerdict
from router.providers.read import ReadEvent, Reading
from router.providers.send import Invented

__all__ = [
    "Definition",
    "EventInfo",
    "Invented",
    "Provider",
    "ReadEvent",
    "Reading",
    "SecretVerdict",
    "builtin",
    "parse_definition",
]
