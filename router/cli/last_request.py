"""The last request sent to each endpoint, kept for `send --again`."""

import json
import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from router.errors import os_errors_refused

_NAME = ".router-last-"


class SentRequest(msgspec.Struct, frozen=True):
    """One request, whole: `path` on the public listener, headers as sent, body byte for byte."""

    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


def path_of(folder: Path, endpoint: str) -> Path:
    """Where the last request of an endpoint lies, in the folder of what is beside the store."""
    return folder / f"{_NAME}{endpoint}.json"


def remember(folder: Path, endpoint: str, request: SentRequest) -> None:
    """
    Keep a request, readable by its owner only: a signed request is as good as its secret.

    Raises:
        UsageError: it cannot be written.
    """
    path = path_of(folder, endpoint)
    with os_errors_refused(f"cannot keep the request in {path}"):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(msgspec.json.encode(request))


def forget(folder: Path, endpoint: str) -> None:
    """Keep none. Raises UsageError: it cannot be removed."""
    path = path_of(folder, endpoint)
    with os_errors_refused(f"cannot remove {path}"):
        path.unlink(missing_ok=True)


def last_of(folder: Path, endpoint: str) -> SentRequest | None:
    """The request kept for an endpoint; None: none, or not readable as one."""
    try:
        return msgspec.json.decode(path_of(folder, endpoint).read_bytes(), type=SentRequest)
    except (OSError, msgspec.DecodeError):
        return None


def forget_naming(folder: Path, texts: Iterable[str]) -> None:
    """
    Keep none in whose body one of these texts stands, as it is or as JSON writes it. Raises as
    `forget`.
    """
    written = {form.encode() for text in texts for form in (text, json.dumps(text)[1:-1])}
    for path in folder.glob(path_of(folder, "*").name):
        endpoint = path.stem.removeprefix(_NAME)
        kept = last_of(folder, endpoint)
        if kept is not None and any(text in kept.body for text in written):
            forget(folder, endpoint)
