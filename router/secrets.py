"""
References to secrets become values; the environment and the file reader are arguments.

A reference names an environment variable, a file, or a credential of the service manager (a file
in its credentials directory). No error holds a value.
"""

import re
from collections.abc import Callable, Mapping

from router.errors import SecretMissing

WEAK_BYTES = 16
_LINE_BREAK = re.compile(rb"\r?\n\Z")


def resolve(
    *,
    env: str | None = None,
    file: str | None = None,
    credential: str | None = None,
    environ: Mapping[str, str],
    read_file: Callable[[str], bytes],
    credentials_directory: str | None = None,
) -> bytes:
    """
    The value behind exactly one of `env` (variable), `file` (path) and `credential` (name).

    One trailing line break of a file or credential is dropped.

    Raises:
        SecretMissing: it is not there or empty; the text names the variable or file.
    """
    if env is not None:
        if env not in environ:
            raise SecretMissing(f"environment variable {env} is not set")
        # Variables are bytes; surrogateescape gives back those that are no UTF-8.
        if not (value := environ[env].encode("utf-8", "surrogateescape")):
            raise SecretMissing(f"environment variable {env} is empty")
        return value
    if file is not None:
        return _from_file(f"file {file}", file, read_file)
    if credential is None:
        raise SecretMissing("the secret names neither a variable nor a file nor a credential")
    if "/" in credential or credential in ("", ".", ".."):
        raise SecretMissing(f"credential {credential!r} is not a plain name")
    if not credentials_directory:
        raise SecretMissing(f"credential {credential}: CREDENTIALS_DIRECTORY is not set")
    return _from_file(
        f"credential {credential}", f"{credentials_directory.rstrip('/')}/{credential}", read_file
    )


def weak(value: bytes) -> bool:
    """Shorter than 16 bytes: guessable, worth a warning."""
    return len(value) < WEAK_BYTES


def _from_file(what: str, path: str, read_file: Callable[[str], bytes]) -> bytes:
    try:
        value = _LINE_BREAK.sub(b"", read_file(path))
    except OSError as e:
        raise SecretMissing(f"{what} cannot be read: {e.strerror or 'unknown error'}") from None
    if not value:
        raise SecretMissing(f"{what} is empty")
    return value
