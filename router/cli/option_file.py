"""A file that an option names."""

import sys
from pathlib import Path

from router.errors import os_errors_refused


def read_named(name: str) -> bytes:
    """
    The file's bytes; of `-` what comes on stdin.

    Raises:
        UsageError: it cannot be read.
    """
    if name == "-":
        return sys.stdin.buffer.read()
    with os_errors_refused(f"cannot read {name}"):
        return Path(name).read_bytes()
