"""How a command asks a server or the store, and acts at a server."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from router.cli.admin import AdminClient, admin_address
from router.cli.generations import rules_to_read
from router.cli.no_server import NoServer, NotThisRouter
from router.cli.options import Options
from router.cli.output import note
from router.cli.remote import Questions, RemoteOperator
from router.errors import RouterError
from router.legible import visible

if TYPE_CHECKING:
    from router.rules.ruleset import Ruleset

T = TypeVar("T")

START = (
    "start `router serve`, or `router serve --hold` to change something before any job runs; "
    "one that listens elsewhere is named by --admin"
)
_COUNTS_WITHIN_S = 2.0
"""A server that takes longer to write its counts is not waited for: the store tells the rest."""


def ask(
    options: Options,
    question: Callable[[Questions], Coroutine[Any, Any, T]],
    *,
    counted: str | None = None,
    quiet: bool = False,
) -> T:
    """
    The answer of the server that `--server` names, else of the store of the rules file here.

    `counted` is the route before whose answer a server here writes what it counts in memory first.
    Unless `quiet`, a store that is not there yet is noted.
    """
    if options.server is not None:
        with AdminClient.of(options) as client:
            return asyncio.run(question(RemoteOperator(client)))
    options, ruleset = rules_to_read(options)
    if counted is not None:
        _write_counts(options, ruleset, counted)
    return ask_store(ruleset, question, quiet=quiet)


def ask_running(
    options: Options, question: Callable[[Questions], Coroutine[Any, Any, T]]
) -> tuple[T, str | None]:
    """
    The answer of the running server, named or here. Where none runs here, that of the store, and
    the address at which there is none.
    """
    if options.server is not None:
        return ask(options, question), None
    options, ruleset = rules_to_read(options)
    with AdminClient.of(options, ruleset) as client:
        if client.is_there():
            return asyncio.run(question(RemoteOperator(client))), None
    return ask_store(ruleset, question), admin_address(options, ruleset.server)


def ask_store(
    ruleset: "Ruleset",
    question: Callable[[Questions], Coroutine[Any, Any, T]],
    *,
    quiet: bool = False,
) -> T:
    """The answer of the store of these rules; of an empty one, if there is none yet."""
    from router.wiring.offline import open_questions
    from router.wiring.stores import exists

    async def answer() -> T:
        async with open_questions(ruleset) as questions:
            return await question(questions)

    store = ruleset.server.store
    if not quiet and not exists(store):
        note(f"nothing has been received yet (there is no store {store})")
    return asyncio.run(answer())


@contextmanager
def acting(options: Options, ruleset: "Ruleset | None" = None) -> Iterator[AdminClient]:
    """
    A client of the server that `--server` names, else of the one here, to change something there.

    Raises:
        NoServer: none runs there.
    """
    with AdminClient.of(options, ruleset) as client:
        try:
            yield client
        except NoServer as error:
            if options.server is not None or isinstance(error, NotThisRouter):
                raise
            raise NoServer(f"{error.message}: {START}") from None


def act(options: Options, verb: Callable[[RemoteOperator], Coroutine[Any, Any, T]]) -> T:
    """What a verb answers. Raises as `acting`."""
    with acting(options) as client:
        return asyncio.run(verb(RemoteOperator(client)))


def note_unevaluated(failed: int, reason: str | None) -> None:
    """Say on how many events a condition could not be evaluated, if on any, and why."""
    if failed:
        note(f"the condition could not be evaluated on {failed} events: {visible(reason or '')}")


def _write_counts(options: Options, ruleset: "Ruleset", route: str) -> None:
    """
    A running server counts copies, and what rules do, in memory first: have it write them. If it
    cannot be reached, say that the counts are older.
    """
    try:
        with AdminClient.of(options, ruleset, timeout_s=_COUNTS_WITHIN_S) as client:
            if client.is_there():
                client.write_counts(route)
    except (click.ClickException, RouterError) as error:
        note(f"counts may be some seconds old: {error}")
