"""A rules file from disk, with what the command line overrides."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from router.config import Loaded, load
from router.config.files import NO_TEXTS, TESTS, FolderFiles, decode_text, included_names
from router.errors import NO_DESCRIPTOR, ConfigError, UsageError
from router.model.store_address import (
    PostgresDatabase,
    SqliteFile,
    StoreAddress,
    store_address,
)
from router.plugin_host.finding import FOLDER
from router.rules.ruleset import Ruleset

DEV_STORE = "router-dev.db"


class Overrides(msgspec.Struct, frozen=True):
    """`--listen`, `--admin`, `--store` (path or address); None leaves the file's word."""

    listen: str | None = None
    admin: str | None = None
    store: str | None = None


NO_OVERRIDES = Overrides()


def read_rules(
    path: Path,
    *,
    environ: Mapping[str, str],
    dev: bool = False,
    overrides: Overrides = NO_OVERRIDES,
    tests: bool = False,
    thorough: bool = False,
    now: int | None = None,
    changed: Mapping[str, str] = NO_TEXTS,
) -> Loaded:
    """
    Load and check a rules file and what it includes; `tests`: also the files of tests beside them;
    `thorough`: as `router check` does, at the time `now`; `changed`: with these texts in place of
    those files' own.

    Raises:
        UsageError: the file cannot be read, or the command line asks for what cannot be.
    """
    try:
        text = changed[str(path)] if str(path) in changed else read_text(path)
    except ConfigError as error:
        return Loaded(None, error.diagnostics)
    texts = {str(Path(file).absolute()): text for file, text in changed.items()}
    loaded = load(
        text,
        path=str(path),
        env=environ,
        dev=dev,
        files=FolderFiles(path.absolute().parent, texts),
        tests=tests,
        thorough=thorough,
        now=now,
    )
    if loaded.ruleset is None:
        return loaded
    return msgspec.structs.replace(loaded, ruleset=settled(loaded.ruleset, dev, overrides))


def read_text(path: Path) -> str:
    """
    The file's text.

    Raises:
        UsageError: it is missing, or not a file.
        ConfigError: it is not UTF-8.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise UsageError(f"there is no rules file {path}; name one with -f FILE") from None
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    return decode_text(data, path=str(path)).removeprefix("\ufeff")


def texts(path: Path) -> list[tuple[Path, str]]:
    """
    The rules file and what it includes, each with its text.

    Raises:
        UsageError: one of them cannot be read.
    """
    return [(file, read_text(file)) for file in (path, *_included(path))]


def test_files(path: Path) -> list[Path]:
    """Where tests of a rules file and of what it includes may lie, be they there or not."""
    each = (path, *_included(path))
    return [file.with_name(f"{file.stem}{TESTS}{file.suffix}") for file in each]


def content_hash(path: Path, folder: str | None = None, more: Iterable[Path] = ()) -> str:
    """
    A hash of the rules file, of what it includes, of `plugins/` in `folder` and of `more`, for
    noticing changes.

    What is included is read off the file's text, so a file that is wrong is watched all the same.

    Raises:
        OSError: it cannot be found out now: no free descriptors, or a folder is being removed.
    """
    digest = hashlib.sha256()
    found = _included(path)
    if folder is not None:
        found += sorted((Path(folder) / FOLDER).glob("**/*.py"))
    for file in [path, *found, *more]:
        try:
            digest.update(str(file).encode() + b"\0" + file.read_bytes())
        except OSError as error:
            if error.errno in NO_DESCRIPTOR:
                raise
            digest.update(f"{file}: {error.errno}".encode())
    return digest.hexdigest()


def _included(path: Path) -> list[Path]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        return []
    except OSError as error:
        if error.errno in NO_DESCRIPTOR:
            raise
        return []
    return [path.parent / name for name in included_names(text, FolderFiles(path.parent))]


def settled(ruleset: Ruleset, dev: bool, overrides: Overrides) -> Ruleset:
    """
    The ruleset with what `--dev` and the command line say in place of the file's `server:`.

    Raises:
        UsageError: `--store` names no store, or a database with `--dev`.
    """
    server = ruleset.server
    if dev:
        server = msgspec.structs.replace(
            server,
            listen=_loopback(server.listen),
            admin=_loopback(server.admin),
            tls=None,
            admin_tls=None,
            store=SqliteFile(str(Path(ruleset.folder) / DEV_STORE)),
        )
    given = {k: v for k, v in msgspec.structs.asdict(overrides).items() if v is not None}
    if overrides.store is not None:
        given["store"] = _chosen_store(overrides.store, server.store, dev)
    server = msgspec.structs.replace(server, **given)
    if server.state_dir is None and isinstance(server.store, PostgresDatabase):
        server = msgspec.structs.replace(server, state_dir=ruleset.folder)
    return msgspec.structs.replace(ruleset, server=server)


def _chosen_store(text: str, written: StoreAddress, dev: bool) -> StoreAddress:
    """What `--store` says; how a database is used is for the file to say."""
    found = store_address(text, Path.cwd())
    if not isinstance(found, PostgresDatabase):
        return found
    if dev:
        raise UsageError("--dev works on a SQLite file of its own: leave --store out, or name one")
    if isinstance(written, PostgresDatabase):
        return msgspec.structs.replace(written, url=found.url)
    return found


def _loopback(address: str) -> str:
    return "127.0.0.1:" + address.rpartition(":")[2]
