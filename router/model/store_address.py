"""Where a store is: a SQLite file, or a PostgreSQL database whose address is a secret."""

import re
from pathlib import Path
from typing import ClassVar
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

import msgspec

from router.errors import UsageError
from router.suggest import did_you_mean

POOL_MIN, POOL_MAX = 4, 64
_SCHEMES = ("postgresql", "postgres")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(//)?")
_HOSTS = re.compile(r"(?:[A-Za-z0-9_.,-]|\[[0-9A-Fa-f:.]+\]|:[0-9]{1,5}(?=,|\Z))*")
_SHOWN_OPTIONS = ("host", "port")
_PASSWORDS = ("password", "sslpassword")


class SqliteFile(msgspec.Struct, frozen=True):
    """A store in one file, by its absolute path, which is its text too. It is never `missing`."""

    path: str
    missing: ClassVar[str | None] = None

    def __str__(self) -> str:
        return self.path


class DatabaseUrl:
    """
    The address of a PostgreSQL database: `postgresql://user:password@host:port/database?options`.

    Its text is what may be shown: hosts and database, never user, password or further options.
    `passwords` are those in it, in every spelling.

    Raises:
        UsageError: it is no such address; the text does not repeat it.
    """

    def __init__(self, url: str) -> None:
        if not names_database(url):
            raise UsageError("the address of a database begins with postgresql://")
        # By the last @, for a password may hold what would end it elsewhere.
        credentials, _, place = url.partition("://")[2].rpartition("@")
        self.url = url
        try:
            parts = urlsplit(f"//{place}")
            options = dict(parse_qsl(parts.query, keep_blank_values=True))
        except ValueError:
            raise UsageError("the address of the database cannot be read") from None
        if not _HOSTS.fullmatch(parts.netloc):
            raise UsageError("the address of the database has no host that can be read")
        password = credentials.partition(":")[2]
        found = {password, unquote(password), *(options.get(name, "") for name in _PASSWORDS)}
        self.passwords = frozenset(filter(None, found))
        known = {name: options[name] for name in _SHOWN_OPTIONS if options.get(name)}
        query = f"?{urlencode(known, safe='/')}" if known else ""
        self._shown = f"postgresql://{parts.netloc}{parts.path}{query}"

    def __str__(self) -> str:
        return self._shown

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DatabaseUrl) and other.url == self.url

    def __hash__(self) -> int:
        return hash(self.url)


class PostgresDatabase(msgspec.Struct, frozen=True):
    """
    A store that several routers share. `url` None: the environment `variable` that shall hold it
    is not set. `pool` is the number of connections, `node` this router's name among the others, ""
    for that of the host.
    """

    url: DatabaseUrl | None
    variable: str = ""
    pool: int = 6
    node: str = ""

    def __str__(self) -> str:
        return str(self.url or f"the database at {self.variable}")

    @property
    def missing(self) -> str | None:
        """What to set, if there is no address."""
        if self.url is not None:
            return None
        return f"server.store: environment variable {self.variable} is not set"


StoreAddress = SqliteFile | PostgresDatabase


def names_database(text: str) -> bool:
    """Whether it is meant as the address of a PostgreSQL database."""
    return text.partition("://")[0] in _SCHEMES and "://" in text


def sqlite_file(text: str, folder: Path) -> SqliteFile:
    """The file of `sqlite:FILE`, or of a path alone, relative to this folder."""
    return SqliteFile(str(folder / text.removeprefix("sqlite:")))


def store_address(text: str, folder: Path) -> StoreAddress:
    """
    What `--store` says: `postgresql://…`, `sqlite:FILE`, or a path, relative to this folder.

    Raises:
        UsageError: it is an address of something else.
    """
    if names_database(text):
        return PostgresDatabase(DatabaseUrl(text))
    found = _SCHEME.match(text)
    if found is not None and found[2]:
        hint = did_you_mean(found[1], (*_SCHEMES, "sqlite")) or "sqlite:FILE or postgresql://…"
        raise UsageError(f"a store is no {found[1]}:// address; {hint}")
    return sqlite_file(text, folder)
