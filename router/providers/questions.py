"""The sender's side of handshakes: a question as it is asked."""

from typing import Any, NamedTuple
from urllib.parse import urlencode

from router.expressions import encode_json
from router.model.delivery import InboundRequest
from router.providers.definition import Definition, spelled
from router.providers.respond import ANYTHING, Handshake, place_of, scalar_text
from router.providers.secret_kinds import way_of
from router.providers.signing import Headers, Signing, header


class Question(NamedTuple):
    """A handshake on its way; header names as they are written."""

    method: str
    headers: Headers
    query: str
    body: bytes


def questions_of(definition: Definition) -> list[Handshake]:
    """What the sender asks before it sends; not what would have the router call others."""
    return [one for one in definition.respond if one.visit is None]


def asked(
    definition: Definition, one: Handshake, *, key: bytes, echo: str, now_ms: int
) -> Question:
    """
    The question, with `echo` to be sent back, proved with this key where it has to be.

    Raises:
        ValueError: the key cannot sign, or the question lacks what is signed.
    """
    bare = _bare(definition, one, echo)
    if one.token is not None:
        return bare._replace(query=_joined(bare.query, urlencode({one.token: key})))
    if one.is_open:
        return bare
    request = InboundRequest("POST", b"/", b"", (), bare.body, "", now_ms)
    numbered = header(definition.id.header if definition.id else (), "question-1")
    made = Signing(definition, way_of(definition, key), key).signed(
        request, (*bare.headers, *numbered)
    )
    return Question("POST", made.headers, _joined(made.query, bare.query), made.body)


def _bare(definition: Definition, one: Handshake, echo: str) -> Question:
    """Without a proof."""
    body: Any = _begun(definition, one)
    headers: dict[str, str] = {}
    query: dict[str, str] = {}
    for text, value in _values(one, echo).items():
        kind, name = place_of(text, one.method)
        if kind == "field":
            body = _with(body, name.split("."), value)
        elif kind == "header":
            headers[name] = value
        else:
            query[name] = value
    if one.method != "POST":
        return Question(one.method, tuple(headers.items()), urlencode(query), b"")
    headers = {"Content-Type": "application/json"} | headers
    content = encode_json({} if body is None else body)
    return Question("POST", tuple(headers.items()), urlencode(query), content)


def _begun(definition: Definition, one: Handshake) -> Any:
    """What the body begins as: where its fields are signed, a sample has them."""
    if not definition.verify.partial:
        return None
    wanted = {*one.when.values()}
    named = [s.payload for s in definition.samples if wanted & {*spelled(s.events)}]
    return next(iter([*named, *(s.payload for s in definition.samples)]), None)


def _values(one: Handshake, echo: str) -> dict[str, Any]:
    """What stands where. What is merely to be there is something of ours."""
    values: dict[str, Any] = {
        text: echo if value == ANYTHING else value for text, value in one.when.items()
    }
    if one.visit is not None:
        host = one.hosts[0]
        values[one.visit] = f"https://{'example' if host.startswith('.') else ''}{host}/{echo}"
    if one.echo is not None:
        values[one.echo] = echo
    return {
        text: value if place_of(text, one.method).kind == "field" else scalar_text(value) or ""
        for text, value in values.items()
    }


def _with(body: Any, path: list[str], value: Any) -> Any:
    """The body with a value at this path; a number is a place in a list."""
    if not path:
        return value
    step, *rest = path
    if step.isdecimal():
        items = list(body or [])
        items += [{}] * (int(step) + 1 - len(items))
        items[int(step)] = _with(items[int(step)] or None, rest, value)
        return items
    members = dict(body or {})
    return members | {step: _with(members.get(step), rest, value)}


def _joined(*queries: str) -> str:
    return "&".join(filter(None, queries))
