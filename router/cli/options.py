"""Where a command works: its rules file, store and addresses, from options and environment."""

import functools
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from shlex import quote
from time import time_ns
from typing import TYPE_CHECKING, Any

import click
import msgspec

from router.egress import host_and_port
from router.errors import ConfigError, UsageError
from router.suggest import did_you_mean

if TYPE_CHECKING:
    from router.config import Loaded
    from router.model.settings import Endpoint
    from router.rules.ruleset import Ruleset
    from router.wiring.rules import Overrides

DEFAULT_RULES = "rules.yaml"

Command = Callable[..., None]


class Options(msgspec.Struct, frozen=True):
    """
    What `-f --dev --store --listen --admin --server --json` and their variables say.

    `rules` need not exist. `dev` True: the rules are read, and the store named, as `serve --dev`
    does. `server` is the admin address of a server elsewhere, which `token` opens; the store here
    is then none of the command's business.
    """

    rules: Path
    as_json: bool = False
    dev: bool = False
    store: str | None = None
    listen: str | None = None
    admin: str | None = None
    server: str | None = None
    token: str | None = None
    environ: Mapping[str, str] = {}

    def overrides(self) -> "Overrides":
        """What is said here in place of the rules file's `server:`."""
        from router.wiring.rules import Overrides

        return Overrides(listen=self.listen, admin=self.admin, store=self.store)

    def loaded(
        self,
        *,
        thorough: bool = False,
        tests: bool = False,
        changed: Mapping[str, str] | None = None,
    ) -> "Loaded":
        """
        The rules file, read and checked; `thorough` as `check` does, `tests` with files of tests,
        `changed` with other texts than the files have.

        Raises:
            UsageError: it cannot be read.
        """
        from router.wiring.rules import read_rules

        if self.rules == Path(DEFAULT_RULES) and not self.rules.exists():
            raise UsageError(
                f"there is no {DEFAULT_RULES} in this folder; name a rules file with -f RULES "
                "or set ROUTER_RULES"
            )
        return read_rules(
            self.rules,
            environ=self.environ,
            dev=self.dev,
            overrides=self.overrides(),
            tests=tests,
            thorough=thorough,
            now=time_ns() // 1_000_000,  # SystemClock would import asyncio for `check`
            changed=changed or {},
        )

    def ruleset(self) -> "Ruleset":
        """
        The ruleset, if the file is right.

        Raises:
            UsageError: the file cannot be read.
            ConfigError: it is wrong.
        """
        loaded = self.loaded()
        ruleset: Ruleset | None = loaded.ruleset
        if ruleset is None:
            raise ConfigError(loaded.diagnostics)
        return ruleset

    def working(self) -> "tuple[Options, Ruleset]":
        """
        The ruleset beside a store: where only a `--dev` server has worked, its store.

        So that `router deliveries` shows what the development server got, without a word. Every
        command comes to the store here by this way.

        Raises:
            UsageError: a server elsewhere was named, whose store this is not; or see `ruleset`.
        """
        if self.server is not None:
            raise UsageError(
                f"this works on the store here, not at {self.server}: "
                "leave --server out, or run it beside that server; "
                "`--server local` means the store here"
            )
        from router.wiring.stores import exists

        ruleset = self.ruleset()
        if self.dev or self.store is not None or exists(ruleset.server.store):
            return self, ruleset
        developing = msgspec.structs.replace(self, dev=True)
        other = developing.ruleset()
        return (developing, other) if exists(other.server.store) else (self, ruleset)

    def beside(self) -> "tuple[Options, Ruleset]":
        """As `working`; with `--server` the rules file here, for what a server does not say."""
        return self.working() if self.server is None else (self, self.ruleset())


_OPTIONS: Mapping[str, Callable[[Any], Any]] = {
    "file": click.option(
        "-f",
        "--file",
        "rules",
        metavar="RULES",
        envvar="ROUTER_RULES",
        default=DEFAULT_RULES,
        show_default=True,
        help="The rules file (also ROUTER_RULES).",
    ),
    "json": click.option("--json", "as_json", is_flag=True, help="Answer in JSON."),
    "dev": click.option("--dev", is_flag=True, help="Work as `serve --dev` does: its store."),
    "serve_dev": click.option(
        "--dev", is_flag=True, help="No set-up: invent missing secrets, loopback only."
    ),
    "store": click.option(
        "--store",
        metavar="STORE",
        envvar="ROUTER_STORE",
        help="The store, FILE or postgresql://…, in place of the rules file's (also ROUTER_STORE).",
    ),
    "listen": click.option(
        "--listen",
        metavar="HOST:PORT",
        envvar="ROUTER_LISTEN",
        help="The public listener, instead of the rules file's (also ROUTER_LISTEN).",
    ),
    "admin": click.option(
        "--admin",
        metavar="HOST:PORT",
        envvar="ROUTER_ADMIN",
        help="The admin listener, instead of the rules file's (also ROUTER_ADMIN).",
    ),
    "server": click.option(
        "--server",
        metavar="URL",
        help="The admin URL of a router elsewhere (with ROUTER_TOKEN), or its name (`router use`).",
    ),
}


def place_options(*names: str) -> Callable[[Command], Command]:
    """
    Gives a command the named options as one `place` argument; `file` and `json` always.

    A command that also has a `rules_argument` takes the file from there first.
    """
    chosen = ("file", "json", *names)

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def with_place(rules_argument: str | None = None, **given: Any) -> None:
            here = {name: given.pop(name, None) for name in _FIELDS}
            # `targets --server URL pause NAME`: what stands before the subcommand counts for it.
            before = {name: c.params[name] for name in here if (c := _who_said(name)) is not None}
            asked = here | before
            asked["server"], token = _router_asked(asked["server"], may="server" in chosen)
            command(place=_place(asked, rules_argument, token), **given)

        decorated: Command = with_place
        for name in reversed(chosen):
            decorated = _OPTIONS[name](decorated)
        return decorated

    return decorate


_FIELDS = ("rules", "as_json", "dev", "store", "listen", "admin", "server")

rules_argument = click.argument("rules_argument", metavar="[RULES]", required=False)


def _who_said(name: str) -> click.Context | None:
    """The command, or the group it is of, that was given this option; None: neither."""
    context: click.Context | None = click.get_current_context()
    while context is not None:
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            return context
        context = context.parent
    return None


def same_place() -> str:
    """` -f FILE --store STORE …`, as this command line has them, for a command that is printed."""
    said = ""
    for name, flag in _PLACES.items():
        if (context := _who_said(name)) is not None:
            value = context.params[name]
            said += f" {flag}" if value is True else f" {flag} {quote(str(value))}"
    return said


_PLACES = {"rules": "-f", **{name: f"--{name}" for name in ("dev", "store", "admin", "server")}}


def _router_asked(server: str | None, *, may: bool) -> tuple[str | None, str | None]:
    """
    The address to ask and the token for it: of `--server`, a URL or a name, else of the router in
    use (`router use`), unless the command line names something here or `may` only work here.
    """
    here = ("rules", "store", "admin", "dev")
    if not may or (server is None and any(_who_said(name) for name in here)):
        return None, os.environ.get("ROUTER_TOKEN")
    from router.cli.contexts import router_asked

    name, address, token = router_asked(server, os.environ)
    _say_where(name, address)
    return address, token


def _say_where(name: str | None, address: str | None) -> None:
    """Once, beside the answer: that it is not the router here that is spoken to."""
    said = click.get_current_context().meta
    if address is None or "router.where" in said:
        return
    said["router.where"] = address
    if name is not None or sys.stderr.isatty():
        click.echo(f"at {name}, {address}" if name else f"at {address}", err=True)


def _place(given: dict[str, Any], argument: str | None, token: str | None) -> Options:
    for name in ("store", "admin"):
        if given["server"] is not None and _who_said(name) is not None:
            raise UsageError(f"--server uses its own settings: leave --{name} out")
    if argument is not None:
        refuse_two_files(given["rules"], argument)
        given["rules"] = argument
    for name in ("listen", "admin"):
        _refuse_bad_address(name, given[name])
    said = {name: value for name, value in given.items() if value is not None}
    return Options(**said | {"rules": Path(given["rules"])}, token=token, environ=os.environ)


def addressed(ruleset: "Ruleset", name: str) -> "Endpoint":
    """
    The endpoint of this name that senders can call.

    Raises:
        UsageError: the file has none.
    """
    if name not in ruleset.addressed and (own := _of_sender(ruleset, name)):
        raise UsageError(f"no endpoint {name!r}; of that sender it has: {', '.join(own)}")
    return endpoint_among(ruleset.addressed, name)


def _of_sender(ruleset: "Ruleset", name: str) -> list[str]:
    """The endpoints whose provider has this name."""
    called = {e.name: ruleset.providers[e.provider] for e in ruleset.addressed.values()}
    return [e for e, provider in called.items() if name in (provider.name, *provider.aliases)]


def endpoint_among(endpoints: "Mapping[str, Endpoint]", name: str) -> "Endpoint":
    """
    The one of this name.

    Raises:
        UsageError: there is none.
    """
    if name not in endpoints:
        known = f"the file has: {', '.join(endpoints) or 'none'}"
        raise UsageError(f"no endpoint {name!r}; {did_you_mean(name, endpoints) or known}")
    return endpoints[name]


def is_given(name: str) -> bool:
    """Does the command line itself, not a variable, say this?"""
    source = click.get_current_context().get_parameter_source(name)
    return source is click.core.ParameterSource.COMMANDLINE


def refuse_two_files(option: str, argument: str) -> None:
    """An argument beside `-f` must mean the same file."""
    if is_given("rules") and option != argument:
        raise UsageError(f"two rules files are named, {option} and {argument}; name one")


def _refuse_bad_address(name: str, value: str | None) -> None:
    if value is not None and host_and_port(value) is None:
        raise UsageError(f"--{name} takes HOST:PORT, like 127.0.0.1:8000, not {value!r}")


_SHORT = re.compile(r"(?P<host>[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])?:(?P<rest>[0-9]{1,5}(?:[/?].*)?)")


def whole_url(text: str) -> str:
    """
    `3000/x` and `:3000/x` are on this machine, and `HOST:PORT/x` is http. Anything else stays as it
    is: whoever wants a URL judges it.
    """
    found = _SHORT.fullmatch(text) or _SHORT.fullmatch(f":{text}")
    return f"http://{found['host'] or 'localhost'}:{found['rest']}" if found else text
