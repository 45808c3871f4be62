"""A rules file from disk, with what the command line overrides."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from router.config import Loaded, load
from router.errors import UsageError
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
) -> Loaded:
    """
    Load and check a rules file.

    Raises:
        UsageError: the file cannot be read.
    """
    loaded = load(read_text(path), path=str(path), env=environ, dev=dev)
    if loaded.ruleset is None:
        return loaded
    return msgspec.structs.replace(loaded, ruleset=_settled(loaded.ruleset, dev, overrides))


def read_text(path: Path) -> str:
    """
    The file's text.

    Raises:
        UsageError: it is missing, not a file, or not UTF-8.
    """
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise UsageError(f"there is no rules file {path}; name one with -f FILE") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 (byte {error.start})") from None
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None


def content_hash(path: Path, folder: str) -> str:
    """A hash of the rules file and of `plugins/` beside it, for noticing changes."""
    digest = hashlib.sha256()
    plugins = Path(folder) / "plugins"
    for file in [path, *(sorted(plugins.glob("**/*.py")) if plugins.is_dir() else [])]:
        try:
            digest.update(str(file).encode() + b"\0" + file.read_bytes())
        except OSError as error:
            digest.update(f"{file}: {error.errno}".encode())
    return digest.hexdigest()


def _settled(ruleset: Ruleset, dev: bool, overrides: Overrides) -> Ruleset:
    server = ruleset.server
    if dev:
        server = msgspec.structs.replace(
            server, listen=_loopback(server.listen), admin=_loopback(server.admin)
        )
        server = msgspec.structs.replace(server, store=str(Path(ruleset.folder) / DEV_STORE))
    given = {
        k: v for k, v in (("listen", overrides.listen), ("admin", overrides.admin)) if v is not None
    }
    if overrides.store is not None:
        given["store"] = str(Path(overrides.store.removeprefix("sqlite:")).absolute())
    return msgspec.structs.replace(ruleset, server=msgspec.structs.replace(server, **given))


def _loopback(address: str) -> str:
    return "127.0.0.1:" + address.rpartition(":")[2]
