"""Requests, and what came of one: whether its command ran, and what that was given."""

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

JSON = "application/json"
"""When this run began: webhook has no other clock."""
FORM = "application/x-www-form-urlencoded"
CASE = "X-Case"
FILES = ("FILE_A", "FILE_B")
"""Variables of hooks that hold the path of a file."""
RECORDER = """\
#!/bin/sh
# Writes down what it is given: how many arguments, these, two files, and its environment.
t="$HOME/begun.$$"
{ printf '%s\\0' "$#" "$@"
  for f in "$FILE_A" "$FILE_B"; do [ -z "$f" ] || base64 -w0 "$f"; printf '\\0'; done
  env -0; } >"$t"
mv "$t" "$HOME/ran.$$"
"""


@dataclass(frozen=True)
class HookRequest:
    """One request to a hook."""

    hook: str
    body: bytes = b""
    type: str | None = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    query: str = ""
    method: str = "POST"

    def sent_headers(self, case: int) -> list[tuple[str, str]]:
        """All of them, in their order."""
        type_ = [] if self.type is None else [("Content-Type", self.type)]
        return [*type_, *self.headers.items(), (CASE, str(case))]


@dataclass(frozen=True)
class CommandRun:
    """What a command was given; variables are those of the hook."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    files: tuple[str, ...]


NOTHING = CommandRun((), {}, ())
"""What a command was given that did nothing."""


@dataclass(frozen=True)
class HookAnswer:
    """The answer, and the command if one ran."""

    status: int
    text: str
    run: CommandRun | None


def jsoned(hook: str, payload: Any, **more: Any) -> HookRequest:
    """A request with JSON."""
    return HookRequest(hook, json.dumps(payload, ensure_ascii=False).encode(), **more)


def formed(hook: str, payload: Mapping[str, str], **more: Any) -> HookRequest:
    """A request with a form."""
    return HookRequest(hook, urlencode(payload).encode(), FORM, **more)


def hmac_of(secret: str, body: bytes, algorithm: str = "sha256") -> str:
    """As senders write it."""
    return hmac.new(secret.encode(), body, getattr(hashlib, algorithm)).hexdigest()


def read_run(file: Path) -> tuple[int, CommandRun]:
    """The case, and what the recorder wrote of it: the case is the last argument."""
    count, *rest = file.read_bytes().decode("utf-8", "surrogateescape").split("\0")
    argv, rest = rest[: int(count)], rest[int(count) :]
    files, env = rest[: len(FILES)], rest[len(FILES) : -1]
    pairs = dict(entry.split("=", 1) for entry in env)
    own = {k: v for k, v in pairs.items() if k.startswith(("HOOK_", "OWN_"))}
    return int(argv[-1]), CommandRun(tuple(argv[:-1]), own, tuple(map(_decoded, files)))


def _decoded(text: str) -> str:
    return base64.b64decode(text).decode("utf-8", "backslashreplace")
