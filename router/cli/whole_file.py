"""Files written whole or not at all."""

import os
from pathlib import Path


def write_whole(path: Path, data: bytes, mode: int = 0o600) -> None:
    """A new file takes the name; a name that is a link is replaced, not followed."""
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        os.fchmod(descriptor, mode)
    fresh.replace(path)
