"""`router serve`."""

import os
import sys

import click
import msgspec

from router.cli.options import Options, place_options, rules_argument
from router.cli.output import note
from router.egress import listens_locally
from router.errors import UsageError


@click.command()
@rules_argument
@place_options("serve_dev", "store", "listen", "admin")
@click.option("--dry", is_flag=True, help="Record what actions would do, run none.")
@click.option("--hold", is_flag=True, help="Store and answer; run no job until `router resume`.")
@click.pass_context
def serve(ctx: click.Context, *, place: Options, dry: bool, hold: bool) -> None:
    """Receive deliveries, store them, run the actions of matching rules. Ctrl-C drains and ends."""
    from router.undumpable import make_undumpable

    make_undumpable()  # before anything is read that others must not see
    from router.serving.socket_activation import activated_sockets
    from router.wiring.launch import serve
    from router.wiring.listeners import shown
    from router.wiring.serve_options import ServeOptions

    sockets = activated_sockets(place.environ, os.getpid())
    opened = {name: shown(one.getsockname()[:2]) for name, one in sockets.items()}
    place = msgspec.structs.replace(place, **opened)
    lines: list[str] = []
    if place.dev:
        from router.cli.dev_hints import hints

        _refuse_open_addresses(place)
        ruleset = place.loaded().ruleset  # if there is none, the server says what is wrong
        lines = hints(place, ruleset) if ruleset is not None else []

    def greet() -> None:
        for line in ("Paste into another terminal:", *(f"  {line}" for line in lines), ""):
            note(line)

    options = ServeOptions(
        rules=place.rules,
        dev=place.dev,
        dry=dry,
        hold=hold,
        overrides=place.overrides(),
        human=sys.stderr.isatty() and not place.as_json,
        sockets=sockets,
        on_ready=greet if lines else None,
    )
    ctx.exit(serve(options, place.environ))


def _refuse_open_addresses(place: Options) -> None:
    """`--dev` invents secrets and needs no token: that is for this machine alone."""
    given = place.overrides()
    for name, address in (("listen", given.listen), ("admin", given.admin)):
        if address is not None and not listens_locally(address):
            raise UsageError(
                f"--dev listens on this machine only, and the address {address} (--{name} or "
                f"ROUTER_{name.upper()}) is open beyond it; leave --dev out, or give "
                f"127.0.0.1:{address.rpartition(':')[2]}"
            )
