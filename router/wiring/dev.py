"""`--dev` needs no set-up: missing secrets are invented and kept beside the rules file."""

import base64
import os
import secrets
import tempfile
from pathlib import Path

import msgspec

from router.rules.live import url_secrets
from router.rules.ruleset import Ruleset

SINK = "http://127.0.0.1:9000"
_FILE = ".router-dev.json"


class DevFile:
    """
    Invented secrets: `verify` is what the router checks with, `sign` what `send` signs with.

    They differ for public-key schemes only.
    """

    def __init__(self, path: Path, verify: dict[str, bytes], sign: dict[str, bytes]) -> None:
        self.path = path
        self.verify = verify
        self.sign = sign

    @staticmethod
    def path_for(rules: Path) -> Path:
        """Where the file of these rules lies."""
        return rules.absolute().parent / _FILE

    @classmethod
    def load(cls, path: Path) -> "DevFile":
        """The file's content; a missing or unreadable one is empty."""
        try:
            stored = msgspec.json.decode(path.read_bytes(), type=dict[str, dict[str, bytes]])
        except (OSError, msgspec.DecodeError):
            stored = {}
        return cls(path, stored.get("verify", {}), stored.get("sign", {}))

    def ensure(self, ruleset: Ruleset, missing: list[str]) -> list[str]:
        """Invent what is missing and not yet kept, and save; returns the names invented now."""
        new = [name for name in missing if name not in self.verify]
        for name in new:
            self.verify[name], self.sign[name] = _invent(ruleset, name)
        if new:
            self._save()
        return new

    def _save(self) -> None:
        """At once: whoever reads meanwhile has the old file or the new one, whole."""
        text = msgspec.json.encode({"verify": self.verify, "sign": self.sign})
        descriptor, name = tempfile.mkstemp(prefix=f"{_FILE}.", dir=self.path.parent)
        made = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(text)
            made.replace(self.path)
        finally:
            made.unlink(missing_ok=True)


def _invent(ruleset: Ruleset, name: str) -> tuple[bytes, bytes]:
    if name in url_secrets(ruleset):
        url = f"{SINK}/{name}".encode()
        return url, url
    for endpoint in ruleset.endpoints.values():
        if name in endpoint.secrets:
            invented = ruleset.providers[endpoint.provider].invent_secret(secrets.token_bytes)
            return invented.verify, invented.sign
    text = base64.b64encode(secrets.token_bytes(24))
    return text, text
