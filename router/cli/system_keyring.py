"""The keyring of the user's desktop, by the library `keyring` (the extra of that name)."""

import contextlib

import keyring
from keyring.backend import KeyringBackend
from keyring.errors import KeyringError

from router.errors import UsageError

_SERVICE = "webhook-rules-router"
_KEPT_SAFELY = 1
"""Backends below this priority refuse, forget, or write in clear."""


class DesktopKeyring:
    """A backend of the library, as `contexts.Keyring` asks for it."""

    def __init__(self, backend: KeyringBackend) -> None:
        self._backend = backend

    def get(self, name: str) -> str | None:
        try:
            return self._backend.get_password(_SERVICE, name)
        except KeyringError as error:
            raise UsageError(f"the keyring does not answer: {error}") from None

    def keep(self, name: str, text: str) -> bool:
        try:
            self._backend.set_password(_SERVICE, name, text)
        except KeyringError:  # locked, or nobody is there to unlock it
            return False
        return True

    def forget(self, name: str) -> None:
        with contextlib.suppress(KeyringError):
            self._backend.delete_password(_SERVICE, name)


def desktop_keyring() -> DesktopKeyring | None:
    """The one that the library found; None: none that keeps secrets safely."""
    backend = keyring.get_keyring()
    return DesktopKeyring(backend) if backend.priority >= _KEPT_SAFELY else None
