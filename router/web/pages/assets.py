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
        self._by_name: dict[str, Asset] = {}
        self._paths: dict[str, str] = {}
        for file in (resources.files(__package__) / "static").iterdir():
            stem, _, ending = file.name.rpartition(".")
            if ending in _TYPES:
                body = file.read_bytes()
                name = f"{stem}.{hashlib.sha256(body).hexdigest()[:12]}.{ending}"
                self._by_name[name] = Asset(_TYPES[ending], body)
                self._paths[file.name] = f"/static/{name}"

    def find(self, name: str) -> Asset | None:
        """The file of this hashed name."""
        return self._by_name.get(name)

    def path(self, file: str) -> str:
        """Where a page finds it."""
        return self._paths[file]
