"""A rules file from disk, with what the command line overrides."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from router.config import Loaded, load
from router.config.files import FolderFiles, decode_text, included_names
from router.errors import NO_DESCRIPTOR, ConfigError, UsageError
from router.rules.ruleset import Ruleset

DEV_STORE = "router-dev.db"


class Overrides(msgspec.Struct, frozen=True):
    """`--listen`, `--admin`, `--store` (a path); None leaves the file's word."""

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
) -> Loaded:
    """
    Load and check a rules file and what it includes; `tests`: also the files of tests beside them;
    `thorough`: as `router check` does.

    Raises:
        UsageError: the file cannot be read.
    """
    try:
        text = read_text(path)
    except ConfigError as error:
        return Loaded(None, error.diagnostics)
    loaded = load(text, path=str(path), env=environ, dev=dev, tests=tests, thorough=thorough)
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


def content_hash(path: Path, folder: str, more: Iterable[Path] = ()) -> str:
    """
    A hash of the rules file, of what it includes, of `plugins/` beside it and of `more`, for
    noticing changes.

    What is included is read off the file's text, so a file that is wrong is watched all the same.

    Raises:
        OSError: it cannot be found out now: no free descriptors, or a folder is being removed.
    """
    digest = hashlib.sha256()
    plugins = Path(folder) / "plugins"
    found = [*_included(path), *(sorted(plugins.glob("**/*.py")) if plugins.is_dir() else [])]
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
    """The ruleset with what `--dev` and the command line say in place of the file's `server:`."""
    server = ruleset.server
    if dev:
        server = msgspec.structs.replace(
            server,
            listen=_loopback(server.listen),
            admin=_loopback(server.admin),
            tls=None,
            admin_tls=None,
            store=str(Path(ruleset.folder) / DEV_STORE),
        )
    given = {k: v for k, v in msgspec.structs.asdict(overrides).items() if v is not None}
    if overrides.store is not None:
        given["store"] = str(Path(overrides.store.removeprefix("sqlite:")).absolute())
    return msgspec.structs.replace(ruleset, server=msgspec.structs.replace(server, **given))


def _loopback(address: str) -> str:
    return "127.0.0.1:" + address.rpartition(":")[2]
