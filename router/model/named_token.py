"""A token that somebody made for somebody: what is kept of it."""

import msgspec

from router.model.settings import AdminRole


class NamedToken(msgspec.Struct, frozen=True):
    """
    Who may call the admin listener by it, and how. Of its value only the SHA-256, `digest` in
    hexadecimal digits, is kept.

    `by` made it at `created_at`; it counts until `until`, None: until it is revoked. Times are Unix
    milliseconds.
    """

    name: str
    role: AdminRole
    bodies: bool
    digest: str
    created_at: int
    by: str
    until: int | None = None
