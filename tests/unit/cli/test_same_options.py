"""What one command calls `--since`, all do: who has which option, and why some have not."""

from collections.abc import Iterator

import click
import pytest

from router.model.selector import ABOUT
from tests.unit.cli.conftest import Router
from tests.unit.cli.test_server_option import Path_, commands

GROUPS = {"new", "import", "subscriptions", "token", "store"}
"""They do nothing but hold commands."""

COMMANDS = {path: one for path, one in commands() if path[0] not in GROUPS or len(path) > 1}

CHOOSING = dict.fromkeys(("login", "use", "logout"), "it chooses the server itself")
MAKING = dict.fromkeys(
    (
        *("new rules", "new alert", "new endpoint", "new provider", "import webhook"),
        *("completion", "schema", "sink"),
    ),
    "it needs nothing but its arguments",
)
OF_FILES = dict.fromkeys(("check", "test", "providers", "new plugin"), "it is about rules files")
COPY = {"store copy": "both stores are its arguments"}

WITHOUT: dict[str, dict[str, str]] = {
    "--json": {"completion": "a script for a shell", "schema": "it is JSON"},
    "--file": {**CHOOSING, **MAKING, **COPY},
    "--store": {**CHOOSING, **MAKING, **COPY, **OF_FILES, "dispatch-event": "nothing is stored"},
    "--server": {
        **CHOOSING,
        **MAKING,
        **OF_FILES,
        "serve": "it is the server",
        "diff": "rules files are compared here",
        "addresses": "they are those of the rules file",
        **dict.fromkeys(("send", "dispatch-event"), "it speaks as one from outside does"),
        **dict.fromkeys(
            ("subscriptions create", "subscriptions list", "subscriptions test"),
            "the secrets for the sender are here",
        ),
        **dict.fromkeys(
            ("store backup", "store restore", "store copy", "store migrate", "store info"),
            "it works on the file or the database itself",
        ),
    },
}
"""Who lacks an option that all others have, and why."""

BESIDE = {
    "--server": ("--file", "--store", "--admin", "--dev", "--json"),
    "--store": ("--file", "--json"),
    "--yes": ("--dry-run",),
    "--watch": ("--json",),
}
"""Who has the first has the others."""

SELECTOR = tuple(f"--{name}" for name in ABOUT)
PARTS = {
    "dead": "all its jobs are in one state",
    "erase": "all is meant, so there is no limit",
    "explain": "one delivery is explained, and with --payload one that is not stored",
    "export": "all is meant, so there is no limit",
    "listen": "what comes from now on, before any job has a state",
    "recover": "a sender is asked for all since a time",
    **dict.fromkeys(
        ("addresses", "doctor", "subscriptions list"), "an endpoint is all that there is to choose"
    ),
    "audit": "lines of people, not of deliveries",
    "token new": "--until is when it ends",
    "dispatch-event": "--endpoint has the token",
}
"""Who has some options of the selector, and why not all."""

OTHERWISE: dict[str, dict[str, str]] = {
    "--dev": {"serve": "it is what the others follow"},
    "--watch": {"test": "files are watched, not answers"},
    "--json": {"sink": "an object for each request"},
    **{name: {} for name in ("--file", "--store", "--server", "--admin", "--no-pager")},
    **dict.fromkeys(("--where", "--rule", "--since", "--until", "--limit"), PARTS),
}
"""Options that say the same everywhere in their help, but for these."""


def options(command: click.Command) -> dict[str, click.Option]:
    return {
        name: one
        for one in command.params
        if isinstance(one, click.Option)
        for name in one.opts
        if name.startswith("--")
    }


def having(option: str) -> Iterator[tuple[str, click.Option]]:
    for path, command in COMMANDS.items():
        if (found := options(command).get(option)) is not None:
            yield " ".join(path), found


@pytest.mark.parametrize("option", WITHOUT)
def test_an_option_is_everywhere_but_where_a_reason_stands(option: str) -> None:
    lacking = {" ".join(path) for path in COMMANDS} - {name for name, _ in having(option)}
    assert lacking == WITHOUT[option].keys()


@pytest.mark.parametrize("option", BESIDE)
def test_options_that_belong_together_are_together(option: str) -> None:
    for name, _ in having(option):
        has = options(COMMANDS[tuple(name.split())])
        assert set(BESIDE[option]) <= has.keys(), name


def test_the_selector_is_whole_but_where_a_reason_stands() -> None:
    some, whole = set(), set()
    for path, command in COMMANDS.items():
        has = options(command).keys() & set(SELECTOR)
        if has:
            (whole if has == set(SELECTOR) else some).add(" ".join(path))
    assert whole == {"deliveries", "replay", "revive", "cancel", "diff"}
    assert some == PARTS.keys()


@pytest.mark.parametrize("option", OTHERWISE)
def test_an_option_says_the_same_everywhere(option: str) -> None:
    said = {one.help for name, one in having(option) if name not in OTHERWISE[option]}
    assert len(said) == 1


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_wrong_usage_of_every_command_is_2_and_one_line(path: Path_, router: Router) -> None:
    ran = router(*path, "--no-such-option")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert f"see `router {' '.join(path)} -h`" in ran.err
