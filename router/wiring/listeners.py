"""The two listeners: their certificates, and their addresses as people read them."""

import socket
from collections.abc import Iterable

import msgspec

from router.log import Log
from router.model.settings import ListenerTls, ServerSettings
from router.rules.ruleset import Ruleset
from router.web.admin.app import AdminApp
from router.web.admin.asgi import AsgiDoor
from router.web.budget import Budget
from router.web.client_address import Peers
from router.web.connections import Wire
from router.web.ingest import Ingest
from router.web.load_shedding import LoadShedder
from router.web.server import Listener
from router.web.tls import Certificate

ADMIN_ANSWER_S = 120.0
"""An operator's question about many deliveries may take its time; a sender's delivery may not."""
_HERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what is listened on, as it is called
_ANY = frozenset({"", "*", "0.0.0.0", "[::]", "::"})  # noqa: S104 - not an address to call


def certificate(tls: ListenerTls | None, setting: str) -> Certificate | None:
    """
    What a listener proves itself by, if it does; `setting` names it.

    Raises:
        SecretMissing: its files cannot be used.
    """
    return None if tls is None else Certificate(tls.cert, tls.key, setting=setting)


def ends(certificates: Iterable[Certificate]) -> dict[str, int]:
    """When each ends, in Unix milliseconds, by its setting."""
    return {one.setting: one.ends_at for one in certificates if one.ends_at is not None}


def public_listener(
    ingest: Ingest,
    server: ServerSettings,
    peers: Peers,
    proof: Certificate | None,
    given: socket.socket | None,
) -> Listener:
    """Where deliveries come in; `given`: what a service manager keeps open there."""
    wire = Wire(server.limits, ingest, peers=peers)
    return Listener(server.listen, wire, proof.context if proof else None, given)


def admin_listener(
    app: AdminApp,
    server: ServerSettings,
    proof: Certificate | None,
    given: socket.socket | None,
) -> Listener:
    """
    Where the operator's interface is called; `given` as above. A person is served late rather than
    refused: a page without its style says nothing of when to come again.
    """
    limits = msgspec.structs.replace(server.limits, answer_s=ADMIN_ANSWER_S)
    budget = Budget(limits.in_flight_bytes, limits.in_flight_wait_s)
    door = AsgiDoor(app.serve, budget, LoadShedder(calm_s=ADMIN_ANSWER_S))
    return Listener(server.admin, Wire(limits, door), proof.context if proof else None, given)


def shown(bound: tuple[str, int]) -> str:
    """`HOST:PORT`."""
    host, port = bound
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def dashboard(bound: tuple[str, int], proof: Certificate | None) -> str:
    """The URL of the dashboard on this machine."""
    host, port = bound
    return f"{'https' if proof else 'http'}://{shown((_HERE.get(host, host), port))}/"


def announce(
    log: Log,
    ruleset: Ruleset,
    bound: tuple[tuple[str, int], tuple[str, int]] | None,
    proof: Certificate | None,
    token_needed: bool,
) -> None:
    """Log what is served, and the addresses: of deliveries, of operators; None: another's."""
    addresses = zip(("listen", "admin"), map(shown, bound or ()), strict=False)
    log.info(
        "ready",
        **dict(addresses),
        store=str(ruleset.server.store),
        generation=ruleset.generation,
        endpoints=len(ruleset.addressed),
        rules=len(ruleset.rules),
    )
    if bound is None:
        return
    log.info(
        "dashboard",
        url=dashboard(bound[1], proof),
        log_in=f"the token in {ruleset.server.state}.token"
        if token_needed
        else "no token needed (--dev, this machine)",
    )


def admin_names(server: ServerSettings) -> tuple[str, ...]:
    """By which it may be called, beside what it listens on."""
    anywhere = server.admin.rpartition(":")[0] in _ANY
    return (*server.admin_hosts, *([socket.gethostname()] if anywhere else []))
