"""What is said of tokens: whose one is, which there are, and one that is new."""

from typing import Literal

import msgspec

from router.model.settings import AdminRole


class Whoami(msgspec.Struct, frozen=True):
    """Who is asking, what they may do, and the router that answers."""

    name: str
    role: str
    bodies: bool
    version: str
    base_url: str


class TokenRow(msgspec.Struct, frozen=True):
    """
    A token that opens the admin listener. `kept`: its hash in the `store`, or it is named in the
    `rules` file, or lies in the `file` beside the store. `used_at` is the last use, to the minute.
    """

    name: str
    role: AdminRole
    bodies: bool
    kept: Literal["store", "rules", "file"]
    created_at: int | None = None
    by: str | None = None
    until: int | None = None
    used_at: int | None = None


class NewToken(TokenRow, frozen=True, kw_only=True):
    """A token that has just been made; `token` is its value, which nobody can tell again."""

    token: str

    def __repr__(self) -> str:
        return f"NewToken({self.name!r}, '***')"


class TokenList(msgspec.Struct, frozen=True):
    """Who may call the admin listener."""

    tokens: tuple[TokenRow, ...]


class TokenRevoked(msgspec.Struct, frozen=True):
    """The token that opens nothing any more."""

    revoked: str
