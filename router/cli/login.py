"""`router login`, `use` and `logout`: routers elsewhere, and the one that commands speak to."""

import os
import sys
from urllib.parse import urlsplit

import click

from router.cli import contexts
from router.cli.admin import AdminClient, TokenRefused
from router.cli.contexts import LOCAL, NAME, KnownRouter, KnownRouters
from router.cli.output import note, print_json, print_table, printed
from router.cli.shown_token import ShownToken
from router.egress import is_local_name, listens_locally
from router.errors import UsageError
from router.operator.token_answers import Whoami

_JSON = click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")


def _names(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """For completion."""
    known = (LOCAL, *contexts.known_here().routers)
    return [name for name in known if name.startswith(incomplete)]


@click.command()
@click.argument("server", metavar="URL")
@click.option("--name", metavar="NAME", help="What to call it; its host, unless given.")
@click.option("--insecure", is_flag=True, help="Send the token in clear, by http to another host.")
@_JSON
def login(*, server: str, name: str | None, insecure: bool, as_json: bool) -> None:
    """
    Keep the address and the token of a router elsewhere, and use it from now on.

    The token is asked for (or read from ROUTER_TOKEN, or from a pipe), tried, and kept in a file
    that only you can read. `router token new` makes one.
    """
    server = server.rstrip("/")
    _check_address(server, insecure=insecure)
    name = _checked_name(name or contexts.name_for(server))
    token, who = _proved(server)
    path = contexts.path_of(os.environ)
    known = contexts.read_contexts(path)
    contexts.write_contexts(path, known.with_router(name, KnownRouter(server, token)))
    where = str(path) if token else None
    if printed({"name": name, "server": server, "who": who, "token_in": where}, as_json=as_json):
        return
    click.echo(f"{name} is in use: {server}, as {who.name} ({who.role})")
    if where:
        note(f"the token is in {where}")
    note(f"`router use {LOCAL}` goes back to the router on this machine")


@click.command()
@click.argument("name", required=False, shell_complete=_names)
@_JSON
def use(*, name: str | None, as_json: bool) -> None:
    """
    Have every command speak to the router NAME; `local` is the one on this machine.

    Without NAME: those that are known. `-f`, `--store`, `--admin` and `--dev` mean the router here
    whatever is in use; ROUTER_CONTEXT decides for one shell.
    """
    path = contexts.path_of(os.environ)
    known = contexts.read_contexts(path)
    if name is None:
        _list(known, as_json=as_json)
        return
    changed = known.using(None if name == LOCAL else name)
    contexts.write_contexts(path, changed)
    if not printed({"in_use": name}, as_json=as_json):
        at = "on this machine" if name == LOCAL else changed.routers[name].server
        click.echo(f"in use: {name}, {at}")
    if os.environ.get(contexts.CONTEXT_VARIABLE):
        note(f"{contexts.CONTEXT_VARIABLE} is set in this shell, and goes before it")


@click.command()
@click.argument("name", required=False, shell_complete=_names)
@_JSON
def logout(*, name: str | None, as_json: bool) -> None:
    """
    Forget the router NAME and its token; without NAME, the one in use.

    The token itself stays valid: `router token revoke` ends it.
    """
    path = contexts.path_of(os.environ)
    known = contexts.read_contexts(path)
    name = name or known.in_use
    if name is None:
        raise UsageError("no router elsewhere is in use; name the one to forget (`router use`)")
    contexts.write_contexts(path, known.without(name))
    if not printed({"forgotten": name}, as_json=as_json):
        click.echo(f"{name} is forgotten, its token too")


def _check_address(server: str, *, insecure: bool) -> None:
    parts = urlsplit(server)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"login takes a URL like https://router.example.net, not {server!r}")
    here = is_local_name(parts.hostname) or listens_locally(f"{parts.hostname}:80")
    if parts.scheme == "http" and not here and not insecure:
        raise UsageError(
            "http would send the token in clear: use https, or --insecure where nobody listens in"
        )


def _checked_name(name: str) -> str:
    if not NAME.fullmatch(name) or name == LOCAL:
        raise UsageError(
            f"{name!r} cannot be the name of a router elsewhere; give --name NAME "
            f"of a-z, 0-9, '.', '_', '-', and not {LOCAL!r}"
        )
    return name


def _proved(server: str) -> tuple[str | None, Whoami]:
    """A token that the router takes (None: it needs none), and whose it says that it is."""
    try:
        return None, _whoami(server, None)
    except TokenRefused:
        token = _asked_token()
        return token, _whoami(server, token)


def _whoami(server: str, token: str | None) -> Whoami:
    with AdminClient(server, ShownToken(token)) as client:
        return client.read("/api/whoami", {}, Whoami)


def _asked_token() -> str:
    token = os.environ.get("ROUTER_TOKEN") or (
        click.prompt("Token", hide_input=True, err=True)
        if sys.stdin.isatty()
        else sys.stdin.readline()
    )
    if not (token := token.strip()):
        raise UsageError("no token: give it at the prompt, by a pipe, or as ROUTER_TOKEN")
    return token


def _list(known: KnownRouters, *, as_json: bool) -> None:
    chosen = known.chosen(os.environ) or LOCAL
    servers = {LOCAL: "on this machine"} | {n: c.server for n, c in known.routers.items()}
    if as_json:
        found = [
            {"name": n, "server": None if n == LOCAL else at, "in_use": n == chosen}
            for n, at in servers.items()
        ]
        print_json(found)
        return
    print_table(
        ("in use", "name", "url"),
        [["*" if n == chosen else "", n, at] for n, at in servers.items()],
    )
