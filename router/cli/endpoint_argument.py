"""An endpoint named as the argument, or by `--endpoint` as lists have it."""

import functools
from collections.abc import Callable
from typing import Any

import click

from router.cli.completion_values import endpoint_names
from router.errors import UsageError

Command = Callable[..., None]


def endpoint_argument(*, required: bool = False) -> Callable[[Command], Command]:
    """Gives a command its ENDPOINT as one `endpoint` argument."""

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def with_endpoint(
            *args: Any, endpoint: str | None, named: str | None, **given: Any
        ) -> None:
            if endpoint and named and endpoint != named:
                raise UsageError(f"two endpoints are named, {endpoint} and {named}; name one")
            if required and not (endpoint or named):
                raise click.UsageError("name an ENDPOINT", click.get_current_context())
            command(*args, endpoint=endpoint or named, **given)

        decorated: Command = with_endpoint
        for more in (_OPTION, _ARGUMENT):
            decorated = more(decorated)
        return decorated

    return decorate


_ARGUMENT = click.argument("endpoint", required=False, shell_complete=endpoint_names)
_OPTION = click.option(
    "--endpoint", "named", metavar="NAME", help="As the argument.", shell_complete=endpoint_names
)
