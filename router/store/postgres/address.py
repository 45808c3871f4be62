"""Where the database is, and what may be shown of that."""

from urllib.parse import urlsplit

from router.errors import StoreRefused


class Address:
    """
    The address of a database, as `postgresql://user:password@host/name`.

    Its text is what may be shown: neither user nor password nor options stand in it.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("postgresql", "postgres"):
            raise StoreRefused("the store's address does not begin with postgresql://")
        self.url = url
        self._shown = f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}"

    def __str__(self) -> str:
        return self._shown

    __repr__ = __str__
