"""Routers elsewhere that `router login` was told of, and the one in use."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from router.cli.files import write_whole
from router.errors import UsageError, os_errors_refused
from router.suggest import did_you_mean

LOCAL = "local"
"""The name of the router on this machine, which no other can have."""
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
CONTEXT_VARIABLE = "ROUTER_CONTEXT"


class KnownRouter(msgspec.Struct, frozen=True, omit_defaults=True):
    """One router elsewhere: its admin address, and the token for it; None: it needs none."""

    server: str
    token: str | None = None

    def __repr__(self) -> str:
        return f"KnownRouter({self.server!r}, '***')"


class KnownRouters(msgspec.Struct, frozen=True):
    """All of them by name; `in_use` None: the router here."""

    in_use: str | None = None
    routers: Mapping[str, KnownRouter] = {}

    def named(self, name: str) -> KnownRouter:
        """
        The one of this name.

        Raises:
            UsageError: there is none.
        """
        if name not in self.routers:
            known = f"known are: {', '.join((LOCAL, *self.routers))}"
            raise UsageError(
                f"no router is known as {name!r}; {did_you_mean(name, self.routers) or known}; "
                "`router login URL` adds one"
            )
        return self.routers[name]

    def chosen(self, environ: Mapping[str, str]) -> str | None:
        """The name that ROUTER_CONTEXT says, else the one in use; None: the router here."""
        name = environ.get(CONTEXT_VARIABLE) or self.in_use
        return None if name == LOCAL else name

    def at(self, server: str) -> str | None:
        """The name of the one at this address."""
        wanted = server.rstrip("/")
        return next((n for n, c in self.routers.items() if c.server == wanted), None)

    def using(self, name: str | None) -> "KnownRouters":
        """The same with this one in use. Raises as `named`."""
        if name is not None:
            self.named(name)
        return msgspec.structs.replace(self, in_use=name)

    def with_router(self, name: str, context: KnownRouter) -> "KnownRouters":
        """The same with this one added and in use."""
        return KnownRouters(name, {**self.routers, name: context})

    def without(self, name: str) -> "KnownRouters":
        """The same without it. Raises as `named`."""
        self.named(name)
        routers = {other: c for other, c in self.routers.items() if other != name}
        return KnownRouters(None if self.in_use == name else self.in_use, routers)


def path_of(environ: Mapping[str, str]) -> Path:
    """The file that holds them: `router/contexts.json` in the user's folder of settings."""
    folder = environ.get("XDG_CONFIG_HOME")
    home = Path(environ.get("HOME") or Path.home())
    return (Path(folder) if folder else home / ".config") / "router" / "contexts.json"


def read_contexts(path: Path) -> KnownRouters:
    """
    What the file holds; no file: none.

    Raises:
        UsageError: it cannot be read.
    """
    with os_errors_refused(f"cannot read {path}"):
        try:
            return msgspec.json.decode(path.read_bytes(), type=KnownRouters)
        except FileNotFoundError:
            return KnownRouters()
        except msgspec.DecodeError as error:
            raise UsageError(f"{path} is damaged ({error}); remove it and log in again") from None


def write_contexts(path: Path, contexts: KnownRouters) -> None:
    """
    Keep them, readable by their owner only.

    Raises:
        UsageError: they cannot be written.
    """
    with os_errors_refused(f"cannot write {path}"):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(path, msgspec.json.format(msgspec.json.encode(contexts), indent=2) + b"\n")


def name_for(server: str) -> str:
    """What a router is called whose user gave no name: its host, and its port if it has one."""
    parts = urlsplit(server)
    host = re.sub(r"[^a-z0-9.-]", "-", parts.hostname or "").strip("-") or "router"
    return f"{host}-{parts.port}" if parts.port else host


def known_here() -> KnownRouters:
    """Those of whoever runs this command."""
    return read_contexts(path_of(os.environ))


def router_asked(
    server: str | None, environ: Mapping[str, str]
) -> tuple[str | None, str | None, str | None]:
    """
    Name, address and token of the router that `server` means: a URL, a name, or None for the one
    in use. No address: the router here.

    A name has its own token. ROUTER_TOKEN goes to a URL that the command line names, and to no
    other router.

    Raises:
        UsageError: no router has this name.
    """
    known, given = read_contexts(path_of(environ)), environ.get("ROUTER_TOKEN")
    name = known.chosen(environ) if server is None else server
    if name is None or name == LOCAL:
        return None, None, given
    if name.startswith(("http://", "https://")):
        if given is not None or (found := known.at(name)) is None:
            return None, name, given
        name = found
    if not NAME.fullmatch(name):
        raise UsageError(
            f"--server takes a URL like https://router.example.net:8001, or a name that "
            f"`router use` shows, not {name!r}"
        )
    context = known.named(name)
    return name, context.server, context.token
