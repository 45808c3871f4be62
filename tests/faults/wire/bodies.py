"""B51 to B67: bodies that are odd in themselves; signed they are stored, whatever they are."""

import random
from collections.abc import Callable
from itertools import islice, product

from tests.faults.wire.case import READ, REFUSED, Ask, Case, taken

UNPARSED, COMPLEX = "unparsed", "too_complex"
FORM = b"application/x-www-form-urlencoded"


def both(number: int, name: str, body: bytes, state: str) -> tuple[Case, Case]:
    """Refused when forged, whatever it holds; stored exactly when signed."""
    return (
        Case(number, f"{name}, forged", lambda ask: ask.forged(body), (REFUSED,)),
        taken(number, name, lambda ask: ask.signed(body), state),
    )


def sized(number: int, name: str, make: Callable[[Ask], bytes], state: str) -> Case:
    """A body made for the endpoint's own limit."""
    return taken(number, name, lambda ask: ask.signed(make(ask)), state, within=4.0)


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

BODIES: tuple[Case, ...] = (
    *both(51, "empty", b"", UNPARSED),
    *both(52, "random bytes", random.Random(52).randbytes(300), UNPARSED),
    *both(57, "NUL in texts and keys", b'{"a\\u0000":"\\u0000b","event":"57"}', READ),
    *both(59, "400 digits", b'{"event":"bounce","n":' + b"9" * 400 + b"}", READ),
    sized(61, "5 M open brackets", lambda _: b"[" * 5_000_000, COMPLEX),
    *both(62, "a number", b"12.50", READ),
    sized(63, "a million keys", many_keys, COMPLEX),
    sized(63, "ten million elements", many_elements, COMPLEX),
    sized(63, "one text as long as may be", long_text, READ),
    *both(
        64,
        "names that mean something elsewhere",
        b'{"__proto__":{"x":1},"constructor":1,"__class__":2,"":3,"' + b"k" * 65_536 + b'":4}',
        READ,
    ),
    *as_form(b"payload=%7B%22ref%22%3A%22r%22%7D", READ, "a form"),
    *as_form(b"payload=%7B%zz%7D", UNPARSED, "a broken escape"),
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
