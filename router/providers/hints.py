"""
Why a refused request was probably refused, in words for the operator.

Hints never reach the sender. They are sought only after the refusal and cost little whatever
arrives: bodies up to 64 KiB, the first few secrets, a fixed list of alterations.
"""

import hmac
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from urllib.parse import urlsplit

import msgspec

from router.model.delivery import InboundRequest, LiveSecret
from router.providers.headers import Headers
from router.providers.heads import looks_like

BODY_MAX = 64 * 1024
SECRETS_MAX = 2


def for_missing(
    found: Mapping[bytes, bytes], headers: Headers, what: str = "", own: Sequence[str] = ()
) -> str:
    """No proof (`what`) came; `found` are the headers of this provider (names: `own`) that did."""
    sender = "" if found else looks_like(headers)
    if sender and not any(f"`{name}`" in sender for name in own):
        return f"other provider's headers: they look like {sender}"
    if what:
        return what
    if any(name == b"x-hub-signature" for name, _ in headers):
        return "no signature sent: only the old SHA-1 header came, which proves too little"
    return "no signature sent: has the sender been given the secret, is signing switched on?"


def for_malformed(text: bytes, prefix: bytes, encoding: str) -> str:
    """The signature cannot be read: what is it instead?"""
    if prefix and not text.startswith(prefix):
        return f"malformed signature: it does not begin with `{prefix.decode()}`"
    if encoding == "hex" and re.fullmatch(rb"[0-9A-Fa-f]+", text[len(prefix) :]):
        return "malformed signature: hexadecimal, but not in lower case or not of the right length"
    if encoding == "base64" and re.fullmatch(rb"(sha256=)?[0-9A-Fa-f]{64}", text):
        return "malformed signature: hexadecimal where base64 is due"
    return f"malformed signature: not {encoding} of the right length"


def for_token(token: bytes, lead: bytes, secrets: Sequence[LiveSecret]) -> str:
    """The token is no live secret: what would make it one?"""
    for secret in secrets[:SECRETS_MAX]:
        value, trimmed = secret.value, secret.value.strip()
        if trimmed != value and hmac.compare_digest(trimmed, token):
            return f"wrong secret: `{secret.name}` fits without the white space around it"
        if not lead and any(hmac.compare_digest(word + value, token) for word in _LEADS):
            return "wrong prefix: the token begins with the name of a scheme, like `Bearer `"
    return "wrong secret: the token equals no live secret of this endpoint"


_LEADS = (b"Bearer ", b"bearer ", b"Token ", b"token ")


Fits = Callable[[InboundRequest, bytes], bool]
"""Would the signature fit this request with this secret?"""


def for_misfit(
    fits: Fits, request: InboundRequest, secrets: Sequence[LiveSecret], *, by_url: bool = False
) -> str:
    """
    The signature fits no secret: would it fit a known alteration of body, address or secret?

    `by_url`: the address is signed.
    """
    if len(request.body) <= BODY_MAX:
        tried = secrets[:SECRETS_MAX]
        for said, other in _alternatives(request, by_url=by_url):
            if any(fits(other, secret.value) for secret in tried):
                return said
        for secret in tried:
            trimmed = secret.value.strip()
            if trimmed != secret.value and fits(request, trimmed):
                return f"wrong secret: `{secret.name}` fits without the white space around it"
    if not request.body:
        return (
            "empty body: something on the way dropped it, as a redirect does, or nothing was sent"
        )
    return (
        "wrong secret, or a body altered in a way that is not known: "
        "the signature fits no live secret of this endpoint"
    )


def _alternatives(request: InboundRequest, *, by_url: bool) -> Iterator[tuple[str, InboundRequest]]:
    for name, body in alterations(request.body):
        said = f"body altered: the signature fits the body {name}"
        yield said, msgspec.structs.replace(request, body=body)
    for url in addresses(request) if by_url else ():
        said = f"wrong address: the signature fits {url} instead: set `public_url` to it"
        yield said, msgspec.structs.replace(request, public_url=url)


def addresses(request: InboundRequest) -> Iterator[str]:
    """What the sender may have been told instead of `public_url`; each differs from it."""
    told, headers = request.public_url, dict(request.headers)
    host = urlsplit(told).netloc
    named = (headers.get(name, b"").decode("latin-1") for name in (b"host", b"x-forwarded-host"))
    hosts = [name for name in (*named, host) if _HOST.fullmatch(name)]
    hosts += [name.partition(":")[0] for name in hosts if ":" in name]
    arrived = request.raw_path.decode("latin-1")
    paths = (arrived, arrived.rstrip("/"), arrived + "/", urlsplit(told).path)
    every = (
        f"{scheme}://{name}{path}"
        for name in dict.fromkeys(hosts)
        for path in dict.fromkeys(paths)
        for scheme in ("https", "http")
    )
    return (url for url in every if url != told)


_HOST = re.compile(r"[A-Za-z0-9.-]{1,253}(?::[0-9]{1,5})?")


def alterations(body: bytes) -> Iterator[tuple[str, bytes]]:
    """What proxies, frameworks and command lines do to bodies; each differs from the body."""
    variants = [
        ("without its last line break", body.rstrip(b"\r\n")),
        ("with a line break at its end", body + b"\n"),
        ("with CRLF line breaks", body.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")),
        ("with LF line breaks", body.replace(b"\r\n", b"\n")),
    ]
    variants += [(f"as {name} JSON", text) for name, text in _rewritten(body)]
    return ((name, text) for name, text in variants if text != body)


def _rewritten(body: bytes) -> list[tuple[str, bytes]]:
    """The same JSON rewritten, as a framework does that parses before it verifies."""
    try:
        compact = msgspec.json.encode(msgspec.json.decode(body))
        return [
            ("compact", compact),
            ("indented", msgspec.json.format(compact, indent=2)),
            ("spaced", msgspec.json.format(compact, indent=0)),
        ]
    except (ValueError, RecursionError):
        return []
