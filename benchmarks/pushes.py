"""The delivery that every row sends: a signed 2 kB push, its id the only thing that changes."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from router.providers import builtin
from tests.acceptance.senders import CODE_ID, CODE_KEY

BODY_BYTES = 2_000
SLOT = b"00000000-0000-4000-8000-000000000000"

PATH = f"/wh_{CODE_ID}"
SECRETS = "secrets: {code: {env: CODE_SECRET}}\n"
ENDPOINT = f"endpoints:\n  code: {{id: {CODE_ID}, provider: code-host, secrets: code}}\n"
HEAD = SECRETS + ENDPOINT
ENVIRON = {"CODE_SECRET": CODE_KEY}


def body(size: int = BODY_BYTES) -> bytes:
    """A push to main, padded with commits to just over `size` bytes."""
    person = {"name": "Ada Example", "email": "ada@example.com"}
    push: dict[str, Any] = {
        "ref": "refs/heads/main",
        "before": "0" * 40,
        "after": "f" * 40,
        "repository": {"id": 1, "name": "engine", "full_name": "example/engine", "owner": person},
        "pusher": person,
        "commits": [],
    }
    stamp = "2026-01-01T00:00:00Z"
    commit = {"message": "Mend the engine", "timestamp": stamp, "author": person}
    room = size - len(json.dumps(push))
    each = len(json.dumps({"id": "0" * 40, **commit})) + len(", ")
    push["commits"] = [{"id": f"{n:040x}", **commit} for n in range(max(0, -(-room // each)))]
    return json.dumps(push).encode()


def rules(
    count: int = 20, *, action: str = "log: 'push to {{ payload.repository.full_name }}'"
) -> str:
    """`count` rules for pushes, the last of which matches and runs `action`."""
    text = HEAD + "rules:\n"
    for number in range(count - 1):
        text += (
            f"  - id: branch-{number}\n    from: code\n    events: push\n"
            f"    match: payload.ref == 'refs/heads/release-{number}'\n"
            f"    actions: {{log: 'release {number}'}}\n"
        )
    return text + (
        "  - id: main\n    from: code\n    events: push\n"
        "    match: payload.ref == 'refs/heads/main' && payload.repository.full_name != 'a/b'\n"
        f"    actions: {{{action}}}\n"
    )


def request(port: int, path: str = PATH, content: bytes | None = None) -> bytes:
    """The whole HTTP request, with `SLOT` where the id goes."""
    content = body() if content is None else content
    headers = builtin()["code-host"].sign(
        event="push", body=content, key=CODE_KEY.encode(), delivery_id=SLOT.decode(), now_ms=0
    )
    return http(port, path, headers, content)


def http(port: int, path: str, headers: Iterable[tuple[str, str]], content: bytes) -> bytes:
    """A POST as it goes over the wire."""
    plain = (("host", f"127.0.0.1:{port}"),)
    fields = {n.lower(): v for n, v in (*plain, *headers, ("content-length", str(len(content))))}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + content


def write_request(
    port: int, place: Path, path: str = PATH, *, content: bytes | None = None
) -> Path:
    """The request's bytes in a file, for generators in processes of their own."""
    place.write_bytes(request(port, path, content))
    return place
