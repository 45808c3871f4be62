"""B51 to B67: bodies that are odd in themselves; signed they are stored, whatever they are."""

import random
from collections.abc import Callable
from itertools import islice, product

from tests.faults.wire.case import READ, REFUSED, Ask, Case, taken

UNPARSED, COMPLEX = "unparsed", "too_complex"
EXPONENT = "exponents beyond 400 are unparsed (small print 7)"
FORM = b"application/x-www-form-urlencoded"


def both(number: int, name: str, body: bytes, state: str, *, why: str = "") -> tuple[Case, Case]:
    """Refused when forged, whatever it holds; stored exactly when signed."""
    return (
        Case(number, f"{name}, forged", lambda ask: ask.forged(body), (REFUSED,)),
        taken(number, name, lambda ask: ask.signed(body), state, why=why),
    )


def sized(number: int, name: str, make: Callable[[Ask], bytes], state: str, **more: object) -> Case:
    """A body made for the endpoint's own limit."""
    return taken(
        number,
        name,
        lambda ask: ask.signed(make(ask)),
        state,
        within=4.0,
        **more,  # type: ignore[arg-type]
    )


def many_keys(ask: Ask) -> bytes:
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    count = min(1_000_000, (ask.place.body_max - 20) // 9)
    keys = islice(product(letters, repeat=4), count)
    return b"{" + b",".join([b'"%b":0' % "".join(key).encode() for key in keys]) + b"}"


def many_elements(ask: Ask) -> bytes:
    count = min(10_000_000, ask.place.body_max // 2 - 10)
    return b"[" + b"0," * (count - 1) + b"0]"


def long_text(ask: Ask) -> bytes:
    number = b'"%09d' % ask.number
    return number + b"x" * (ask.place.body_max - len(number) - 1) + b'"'


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


def numbered(text: bytes) -> bytes:
    return b'{"event":"bounce","n":' + text + b"}"


def as_form(body: bytes, state: str, name: str) -> tuple[Case, ...]:
    """A form: the code host's sender may send one, to the others it is no JSON."""

    def make(ask: Ask) -> object:
        return ask.signed(body).changed(b"content-type", lambda _: FORM)

    return (
        taken(65, name, make, state, places=("code",)),  # type: ignore[arg-type]
        taken(65, name, make, UNPARSED, places=("shop", "mail")),  # type: ignore[arg-type]
    )


def multipart(body: bytes, name: str, boundary: bytes = b"; boundary=b") -> Case:
    return taken(
        66,
        name,
        lambda ask: ask.signed(body).changed(
            b"content-type", lambda _: b"multipart/form-data" + boundary
        ),
        UNPARSED,
        within=4.0,
    )


PART = b'--b\r\nContent-Disposition: form-data; name="payload"\r\n\r\n{}\r\n'
LAUGHS = (
    b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha">'
    + b"".join(b'<!ENTITY %c "%b">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(9))
    + b"]><x>&j;</x>"
)
OUTSIDE = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>'

SYNTAX = (
    *both(51, "empty", b"", UNPARSED),
    *(
        case
        for name, body in (
            ("an open brace", b"{"),
            ("a trailing comma", b'{"a":1,}'),
            ("single quotes", b"{'a':1}"),
            ("a comment", b'{"a":1}//x'),
            ("more behind", b"{} x"),
            ("a leading zero", b'{"a":01}'),
            ("a raw tab", b'{"a":"\t"}'),
            ("random bytes", random.Random(52).randbytes(300)),
        )
        for case in both(52, name, body, UNPARSED)
    ),
    *both(53, "a BOM", b'\xef\xbb\xbf{"a":1}', UNPARSED),
    *both(54, "UTF-16", '{"a":1}'.encode("utf-16"), UNPARSED),
    *both(54, "UTF-16 without a mark", '{"a":1}'.encode("utf-16-le"), UNPARSED),
    *both(55, "invalid UTF-8", b'{"a":"\xff"}', UNPARSED),
    *both(55, "overlong UTF-8", b'{"a":"\xc0\xaf"}', UNPARSED),
    *both(55, "truncated UTF-8", b'{"a":"\xe2\x82"}', UNPARSED),
    *both(56, "a lone surrogate", b'{"a":"\\ud800"}', UNPARSED),
    *both(57, "NUL in texts and keys", b'{"a\\u0000":"\\u0000b","event":"57"}', READ),
)

VALUES = (
    *(
        case
        for name in (b"NaN", b"Infinity", b"-Infinity", b"1e401", b"1e-401", b"1e999999999")
        for case in both(58, name.decode(), numbered(name), UNPARSED)
    ),
    *both(58, "1e400", numbered(b"1e400"), READ, why=EXPONENT),
    *both(59, "23 digits", numbered(b"9" * 23), READ),
    *both(59, "400 digits", numbered(b"9" * 400), READ),
    *both(59, "4,300 digits", numbered(b"9" * 4300), UNPARSED, why="400 digits (small print 7)"),
    *both(59, "5,000 digits", numbered(b"9" * 5000), UNPARSED, why="400 digits (small print 7)"),
    *both(59, "2 to the 63", numbered(b"9223372036854775808"), READ),
    *both(59, "minus zero", numbered(b"-0"), READ),
    *both(59, "1e-400", numbered(b"1e-400"), READ),
    *both(60, "a key twice", b'{"a":1,"a":2,"event":"60"}', READ, why="the last wins; no flag"),
    *both(61, "64 deep", nested(64), READ),
    *both(
        61, "65 deep", nested(65), COMPLEX, why="over 64 is too_complex, not unparsed (DESIGN 3)"
    ),
    *both(61, "1,000 deep", nested(1000), COMPLEX),
    *both(61, "1,025 deep", nested(1025), COMPLEX),
    *both(61, "100,000 deep", nested(100_000), COMPLEX),
    sized(61, "5 M open brackets", lambda _: b"[" * 5_000_000, COMPLEX),
    *(
        case
        for name, body in (
            ("an array", b"[1]"),
            ("an empty array", b"[]"),
            ("a string", b'"x"'),
            ("a number", b"12.50"),
            ("null", b"null"),
            ("true", b"true"),
        )
        for case in both(62, name, body, READ)
    ),
    sized(63, "a million keys", many_keys, COMPLEX),
    sized(63, "ten million elements", many_elements, COMPLEX),
    sized(63, "one text as long as may be", long_text, READ),
    *both(
        64,
        "names that mean something elsewhere",
        b'{"__proto__":{"x":1},"constructor":1,"__class__":2,"":3,"' + b"k" * 65_536 + b'":4}',
        READ,
    ),
)

KINDS = (
    *as_form(b"payload=%7B%22ref%22%3A%22r%22%7D", READ, "a form"),
    *as_form(b"other=1", UNPARSED, "a form without the field"),
    *as_form(b"payload=%7B%7D&payload=%7B%7D", UNPARSED, "a form with the field twice"),
    *as_form(b"a=1&" * 10_000 + b"payload=%7B%7D", COMPLEX, "a form of 10,000 fields"),
    *as_form(b"payload=%7B%zz%7D", UNPARSED, "a broken escape"),
    *as_form(b"payload=%7B%", UNPARSED, "half an escape"),
    multipart(PART + b"--b--\r\n", "no boundary", b""),
    multipart(PART * 10_000 + b"--b--\r\n", "10,000 parts"),
    multipart(b"--b\r\nX: " + b"h" * 1_000_000 + b"\r\n\r\n--b--", "a part header of 1 MB"),
    taken(
        66,
        "a preamble of 20 MB",
        lambda ask: ask.signed(b"x" * 20_000_000 + PART).changed(
            b"content-type", lambda _: b"multipart/form-data; boundary=b"
        ),
        UNPARSED,
        places=("code",),
        within=4.0,
    ),
    *both(67, "an entity bomb", LAUGHS, UNPARSED),
    *both(67, "an external entity", OUTSIDE, UNPARSED),
)

BODIES: tuple[Case, ...] = (*SYNTAX, *VALUES, *KINDS)
