"""What `router doctor` finds at the PostgreSQL database that routers share."""

import asyncio
from collections.abc import Iterator

from router.cli.doctor_check import Check, ok, problem, unknown
from router.clock import SystemClock
from router.errors import StoreAbsent
from router.model.store_address import PostgresDatabase, StoreAddress
from router.store.values import DatabaseAbout

SKEW_MS = 2_000
"""A router whose machine's clock is further off is not ready."""


def of_database(address: StoreAddress) -> Iterator[Check]:
    """
    Does it keep what was acknowledged, and has it the time that we have? Of a file nothing is
    asked. Raises StoreUnavailable.
    """
    if not isinstance(address, PostgresDatabase):
        return
    from router.wiring.stores import about_database

    try:
        found = asyncio.run(about_database(address))
    except StoreAbsent as error:
        yield unknown("database", str(error), "`router serve` makes its tables")
    else:
        yield from of_settings(found)
        yield of_clock(SystemClock().now() - found.now)


def of_settings(found: DatabaseAbout) -> Iterator[Check]:
    """May a crash or a failover lose deliveries?"""
    for risk, fix in found.risks():
        yield problem("database", risk, fix)
    if not found.risks():
        yield ok("database", f"PostgreSQL {found.version} keeps what it acknowledges")


def of_clock(ahead_ms: int) -> Check:
    """By how much is this machine's clock ahead of the database's?"""
    if abs(ahead_ms) <= SKEW_MS:
        return ok("database time", "as this machine's")
    says = f"{ahead_ms / 1000:+.1f} s from the database's: no router is ready on this machine"
    return problem("database time", says, "let a time server set both clocks")
