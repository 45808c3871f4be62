"""Stylesheet, scripts and icon: files of this package, their names change with their content."""

import hashlib
from importlib import resources
from typing import NamedTuple

_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


class Asset(NamedTuple):
    """A file as it is served."""

    content_type: str
    body: bytes


class Assets:
    """All of them, read once; served under `/static/NAME.HASH.EXT`."""

    def __init__(self) -> None:
        self.files: dict[str, Asset] = {}
        """By the hashed name."""
        self.paths: dict[str, str] = {}
        """Where a page finds a file, by its own name."""
        for file in (resources.files(__package__) / "static").iterdir():
            stem, _, ending = file.name.rpartition(".")
            if ending in _TYPES:
                body = file.read_bytes()
                name = f"{stem}.{hashlib.sha256(body).hexdigest()[:12]}.{ending}"
                self.files[name] = Asset(_TYPES[ending], body)
                self.paths[file.name] = f"/static/{name}"
