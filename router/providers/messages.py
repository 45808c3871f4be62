"""
What is signed: a template, compiled once, filled from the evidence of a request.

    {body} {body_sha256} {body_crc32}   the body; its SHA-256 in hex; its CRC-32 in decimal
    {form_sorted}                       names and values of the body's form, sorted by name
    {json:PATH}                         a text, number or true/false in the body's JSON
    {timestamp} {id} {header:NAME}      the signed time, the id's header, any header
    {method} {path} {query} {query:NAME}
    {url}                               the address that the sender was told, with the query
    {secret}                            the secret itself

`[...]` is left out when something in it has nothing; everything else stands for itself. Where line
breaks part what is signed, no field of the body but the first placeholder may hold one: else parts
of a genuine message could be taken for other parts.
"""

from collections.abc import Iterator
from typing import NamedTuple

from router.providers.definition import PLACEHOLDER, SEGMENT, Definition, VerifyRule
from router.providers.evidence import (
    Evidence,
    Reader,
    UnreadableProofError,
    of_header,
    of_json,
    of_place,
    of_query,
)
from router.providers.headers import Spellings

COVERING = frozenset({"body", "body_sha256", "body_crc32", "form_sorted"})
"""What covers the whole body."""

_PLAIN = frozenset({"body", "timestamp", "id"})
_OWN: dict[str, Reader] = {
    "body": lambda evidence: evidence.request.body,
    "body_sha256": lambda evidence: evidence.body_sha256,
    "body_crc32": lambda evidence: evidence.body_crc32,
    "form_sorted": lambda evidence: evidence.form_sorted,
    "method": lambda evidence: evidence.request.method.encode("latin-1"),
    "path": lambda evidence: evidence.path,
    "query": lambda evidence: evidence.request.query_string,
    "url": lambda evidence: evidence.url,
}

Part = Reader | bytes | None
"""How to read a placeholder; text as it stands; None: the secret."""


class Segment(NamedTuple):
    """A piece of a message."""

    optional: bool
    parts: tuple[Part, ...]


class MessageTemplate:
    """What one way of proof signs. `has_secret`: each secret makes a message of its own."""

    def __init__(self, definition: Definition, rule: VerifyRule, known: Spellings) -> None:
        stamp = of_header(STAMP) if rule.timestamp_part else of_place(rule.stamp, known)
        named = {"timestamp": stamp, "id": _id_reader(definition, known)}
        first, parted = "{" + next(iter(words_of(rule.message)), "") + "}", "\n" in rule.message

        def part(word: str) -> Part:
            made = _part(word, named, known)
            free = not parted or word == first or not word.startswith("{json:")
            return made if free or not callable(made) else _in_one_line(made)

        self._segments = tuple(
            Segment(optional, tuple(map(part, words))) for optional, words in pieces(rule.message)
        )
        self.has_secret = "{secret}" in rule.message

    def filled(self, evidence: Evidence, secret: bytes = b"") -> list[bytes] | None:
        """
        The message's parts, or None when something that is signed did not come.

        Raises:
            UnreadableProofError: something that is signed cannot be read.
        """
        message: list[bytes] = []
        for optional, parts in self._segments:
            values = [_value(part, evidence, secret) for part in parts]
            there = [value for value in values if value or (not optional and value is not None)]
            if len(there) == len(values):
                message += there
            elif not optional:
                return None
        return message


STAMP = b"{timestamp}"
"""Where the timestamp that is part of a list stands among the headers; no header is named so."""


def _value(part: Part, evidence: Evidence, secret: bytes) -> bytes | None:
    if part is None:
        return secret
    return part if isinstance(part, bytes) else part(evidence)


def pieces(message: str) -> Iterator[tuple[bool, list[str]]]:
    """Each piece of a template: may it be left out, and its words and texts in their order."""
    # re.split with one group alternates: what is outside, what is inside, what is outside, …
    for index, text in enumerate(SEGMENT.split(message)):
        words = [
            f"{{{word}}}" if at % 2 else word
            for at, word in enumerate(PLACEHOLDER.split(text))
            if word
        ]
        if words:
            yield index % 2 == 1, words


def words_of(message: str) -> list[str]:
    """The placeholders of a template, without their braces."""
    return PLACEHOLDER.findall(message)


def is_plain(rule: VerifyRule) -> bool:
    """Is everything of a signature a header, or the body itself, and is all of it always there?"""
    words = words_of(rule.message)
    elsewhere = (rule.query, rule.field, rule.stamp.query, rule.stamp.field, rule.body_hash)
    further = (*elsewhere, rule.equals, rule.each, rule.certificate)
    return (
        all(w.startswith("header:") or w in _PLAIN for w in words)
        and "body" in words
        and "[" not in rule.message
        and all(value is None for value in further)
    )


def header_parts(definition: Definition, rule: VerifyRule, known: Spellings) -> set[bytes]:
    """The headers, by part, without which nothing can be signed."""
    always = {
        word[1:-1] for optional, each in pieces(rule.message) if not optional for word in each
    }
    names = [word.removeprefix("header:") for word in always if word.startswith("header:")]
    stamp = rule.stamp.header if "timestamp" in always else ()
    number = definition.id.header if definition.id and "id" in always else ()
    return {part for each in (*names, stamp, number) if (part := known.part(each)) is not None}


def _part(word: str, named: dict[str, Reader | None], known: Spellings) -> Part:
    if not PLACEHOLDER.fullmatch(word):
        return word.encode("ascii")
    name, _, value = word[1:-1].partition(":")
    if name == "secret":
        return None
    if name in named:
        return named[name] or _NOTHING
    if name == "header":
        return of_header(known.part(value) or b"")
    if name == "query" and value:
        return of_query(value)
    return of_json(value) if name == "json" else _OWN[name]


def _in_one_line(read: Reader) -> Reader:
    def read_line(evidence: Evidence) -> bytes | None:
        value = read(evidence)
        if value is not None and (b"\n" in value or b"\r" in value):
            raise UnreadableProofError("a signed value holds a line break", "malformed_signature")
        return value

    return read_line


def _nothing(_: Evidence) -> None:
    return None


_NOTHING: Reader = _nothing


def _id_reader(definition: Definition, known: Spellings) -> Reader | None:
    """An id that is signed is never empty."""
    part = known.part(definition.id.header if definition.id else ())
    return None if part is None else lambda evidence: evidence.found.get(part) or None
