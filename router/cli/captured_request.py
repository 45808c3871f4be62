"""A request from a file: as it went over the wire, or as JSON."""

import binascii
import json
from pathlib import Path
from typing import Any

import msgspec

from router.cli.files import read_named
from router.errors import UsageError
from router.model.delivery import InboundRequest
from router.model.headers import BLANKS

BYTES_MAX = 32 * 1024 * 1024


def read_captured(file: Path) -> InboundRequest:
    """
    The request in a file.

    It is either the text of an HTTP request (a request line may be there, then headers, an empty
    line, the body), or JSON with `headers` and `body` (a text; `body_base64` for exact bytes),
    and perhaps `method`, `path`, `query` and `at` (Unix milliseconds, when it came).

    Raises:
        UsageError: the file cannot be read, or is neither.
    """
    data = read_named(str(file))
    if len(data) > BYTES_MAX:
        raise UsageError(f"{file} is larger than {BYTES_MAX // 1024**2} MiB")
    request = _from_json(data, file) if data.lstrip()[:1] == b"{" else _from_text(data, file)
    if not request.headers:
        raise UsageError(f"{file} holds no headers: nothing could prove the request")
    return request


def _from_text(data: bytes, file: Path) -> InboundRequest:
    head, found, body = data.partition(b"\r\n\r\n")
    if not found or b"\n\n" in head:
        head, _, body = data.partition(b"\n\n")
    lines = head.replace(b"\r\n", b"\n").split(b"\n")
    method, target = "POST", b"/"
    words = lines[0].split(b" ")
    if len(words) == 3 and words[2].startswith(b"HTTP/"):
        method, target, lines = words[0].decode("latin-1"), words[1], lines[1:]
    headers = []
    for number, line in enumerate(lines, start=1):
        name, colon, value = line.partition(b":")
        if not colon or not name.strip():
            raise UsageError(f"{file}: line {number} of the head is not a header: {line[:60]!r}")
        headers.append((name.strip().lower(), value))
    return _request(method, target, headers, body)


def _from_json(data: bytes, file: Path) -> InboundRequest:
    try:
        found: Any = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file} begins like JSON, but is not: {error}") from None
    return request_of(found, file)


def request_of(found: dict[str, Any], file: Path) -> InboundRequest:
    """
    The request in a JSON object of the form that `read_captured` takes; `file` is for messages.

    Raises:
        UsageError: it holds none.
    """
    given: Any = found.get("headers")
    pairs = given.items() if isinstance(given, dict) else given
    try:
        headers = [(str(n).lower().encode("latin-1"), str(v).encode("latin-1")) for n, v in pairs]
    except (TypeError, ValueError):
        raise UsageError(f"{file} has no `headers`, as an object or a list of pairs") from None
    target = str(found.get("path") or "/")
    query = found.get("query")
    if isinstance(query, str) and query and "?" not in target:
        target += f"?{query}"
    method = str(found.get("method") or "POST")
    request = _request(method, target.encode("utf-8"), headers, _json_body(found, file))
    at = found.get("at")
    return msgspec.structs.replace(request, received_at=at) if isinstance(at, int) else request


def _json_body(found: dict[str, Any], file: Path) -> bytes:
    if isinstance(found.get("body_base64"), str):
        try:
            return binascii.a2b_base64(found["body_base64"], strict_mode=True)
        except binascii.Error:
            raise UsageError(f"{file}: `body_base64` is not base64") from None
    body = found.get("body", "")
    if isinstance(body, str):
        return body.encode("utf-8")
    # Parsed already: how it was written is lost, and compact JSON is the likeliest.
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode("utf-8")


def _request(
    method: str, target: bytes, headers: list[tuple[bytes, bytes]], body: bytes
) -> InboundRequest:
    path, _, query = target.partition(b"?")
    bare = tuple((name, value.strip(BLANKS)) for name, value in headers)
    return InboundRequest(method, path, query, bare, body, "", 0)
