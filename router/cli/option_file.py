"""A file that an option names."""

import sys
from pathlib import Path

from router.errors import UsageError


def read_named(name: str) -> bytes:
    """
    The file's bytes; of `-` what comes on stdin.

    Raises:
        UsageError: it cannot be read.
    """
    if name == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror}") from None
