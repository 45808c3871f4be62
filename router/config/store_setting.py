"""`server.store`: a SQLite file, or a PostgreSQL database whose address is a secret."""

import re

from router.config.context import LoadContext
from router.config.environment import setting
from router.config.server_schema import SettingEntry, StoreEntry
from router.errors import UsageError
from router.model.store_address import (
    POOL_MAX,
    POOL_MIN,
    DatabaseUrl,
    PostgresDatabase,
    SqliteFile,
    StoreAddress,
    names_database,
    sqlite_file,
)
from router.suggest import did_you_mean
from router.yaml_source import SourceText

_NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_BY_VARIABLE = "take it from the environment: store: {url: {env: DATABASE_URL}}"


def store(context: LoadContext, entry: StoreEntry | None) -> StoreAddress:
    """`server.store`; what variables say of it is this machine's own, no part of the generation."""
    usual = SqliteFile(str(context.folder / ("router-dev.db" if context.dev else "router.db")))
    if entry is None:
        return usual
    known = entry.text is not None or entry.broken
    if not known and context.one_of("exactly-one", entry) is None:
        return usual
    if entry.url is not None:
        return _database(context, entry, entry.url)
    text = setting(context, entry, kept=False) if entry.text or entry.env else None
    if text is not None and names_database(text.value):
        return _database(context, entry, entry)
    _refuse_of_databases(context, entry)
    return usual if text is None else _file(context, entry, text)


def _file(context: LoadContext, entry: StoreEntry, text: SourceText) -> SqliteFile:
    scheme, _, path = text.value.partition(":")
    if scheme != "sqlite" or not path:
        hint = did_you_mean(scheme, ("sqlite", "postgresql", "postgres"))
        context.error(
            "bad-store",
            f"{_shown(context, entry, text)} is not a store",
            text,
            hint or "write 'sqlite:router.db', relative to this file",
        )
    return sqlite_file(text.value, context.folder)


def _database(context: LoadContext, entry: StoreEntry, place: SettingEntry) -> PostgresDatabase:
    """`place` has the address, or names the variable that shall have it where this is to run."""
    variable = place.env.value if place.env is not None else ""
    is_set = variable in context.env or place.default is not None or not variable
    return PostgresDatabase(
        _url(context, place) if is_set else None,
        variable,
        _pool(context, entry),
        _node(context, entry.node_),
    )


def _url(context: LoadContext, place: SettingEntry) -> DatabaseUrl | None:
    if (text := setting(context, place, kept=False)) is None:
        return None
    try:
        url = DatabaseUrl(text.value)
    except UsageError as error:
        context.error("bad-store", str(error), text, _BY_VARIABLE)
        return None
    if url.passwords and not _from_variable(context, place):
        message = "the address of a database holds no password in a rules file"
        context.error("password-in-url", message, place.default or text, _BY_VARIABLE)
    return url


def _pool(context: LoadContext, entry: StoreEntry) -> int:
    if entry.pool is None:
        return PostgresDatabase(None).pool
    if not POOL_MIN <= entry.pool <= POOL_MAX:
        message = f"'pool' is from {POOL_MIN} to {POOL_MAX}"
        context.error("bad-value", message, entry.at("pool"))
    return entry.pool


def _node(context: LoadContext, entry: SettingEntry | None) -> str:
    if (text := setting(context, entry, kept=False)) is None:
        return ""
    if not _NODE.fullmatch(text.value):
        context.error(
            "bad-name",
            f"'{text.shown}' cannot be the name of a node",
            text,
            "use letters, digits, '.', '_' and '-', 63 at most",
        )
    return text.value


def _refuse_of_databases(context: LoadContext, entry: StoreEntry) -> None:
    for key in ("pool", "node"):
        if entry.has(key):
            message = f"'{key}' is for a PostgreSQL database, and this store is a file"
            context.error("bad-store", message, entry.key_at(key))


def _from_variable(context: LoadContext, place: SettingEntry) -> bool:
    return place.env is not None and place.env.value in context.env


def _shown(context: LoadContext, place: SettingEntry, text: SourceText) -> str:
    """What a variable says may hold a password, and so may what looks like an address."""
    if place.env is not None and _from_variable(context, place):
        return f"the value of '{place.env.shown}'"
    return "this" if "@" in text.value else f"'{text.shown}'"
