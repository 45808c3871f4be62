"""`router sink`."""

import click

from router.cli.output import note
from router.errors import CannotListen, UsageError

DEFAULT_PORT = 9000


@click.command()
@click.argument("port", type=click.IntRange(0, 65_535), default=DEFAULT_PORT)
@click.option(
    "--status",
    "statuses",
    metavar="N[,N…]",
    default="200",
    help="What to answer, in turn; the last is repeated. Like 503,503,200.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a request.")
def sink(*, port: int, statuses: str, as_json: bool) -> None:
    """Print every request that reaches 127.0.0.1:PORT. A target to try rules with; Ctrl-C ends."""
    from router.cli.sink_server import SinkServer, as_block, as_line

    try:
        server = SinkServer(port, _statuses(statuses), click.echo, as_line if as_json else as_block)
    except OSError as error:
        raise CannotListen(
            f"cannot listen on 127.0.0.1:{port}: {error.strerror}; end what runs there (another "
            f"sink?), or name another: `router sink PORT`"
        ) from None
    with server:
        note(f"sink on http://127.0.0.1:{server.server_port}, answering {statuses}; Ctrl-C ends")
        server.serve_forever()


def _statuses(text: str) -> list[int]:
    found = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and 200 <= int(part) <= 599 for part in found):
        raise UsageError(f"--status takes numbers from 200 to 599, like 503,503,200, not {text!r}")
    return [int(part) for part in found]
