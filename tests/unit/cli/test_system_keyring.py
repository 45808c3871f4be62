"""The desktop's keyring, by the library that knows them all."""

from collections.abc import Iterator

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, PasswordDeleteError

from router.cli.system_keyring import desktop_keyring
from router.errors import UsageError


class Safe(KeyringBackend):
    """A backend in memory, that can be locked."""

    priority = 5  # type: ignore[assignment] # the library computes it

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}
        self.locked = False

    def _open(self) -> dict[tuple[str, str], str]:
        if self.locked:
            raise KeyringLocked("nobody unlocked it")
        return self.kept

    def get_password(self, service: str, username: str) -> str | None:
        return self._open().get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self._open()[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self._open().pop((service, username), None) is None:
            raise PasswordDeleteError("not there")


@pytest.fixture
def safe() -> Iterator[Safe]:
    before, backend = keyring.get_keyring(), Safe()
    keyring.set_keyring(backend)
    yield backend
    keyring.set_keyring(before)


def test_a_token_is_kept_given_and_forgotten(safe: Safe) -> None:
    found = desktop_keyring()
    assert found is not None
    assert found.keep("prod", "t")
    assert found.get("prod") == "t"
    found.forget("prod")
    found.forget("prod")
    assert found.get("prod") is None


def test_a_locked_one_keeps_nothing_and_says_so(safe: Safe) -> None:
    found = desktop_keyring()
    assert found is not None
    safe.locked = True
    assert not found.keep("prod", "t")
    with pytest.raises(UsageError, match="the keyring does not answer: nobody unlocked it"):
        found.get("prod")


def test_one_that_does_not_keep_safely_is_not_used(safe: Safe) -> None:
    type(safe).priority = 0.5  # type: ignore[assignment] # as of a file in clear
    try:
        assert desktop_keyring() is None
    finally:
        type(safe).priority = 5  # type: ignore[assignment]
