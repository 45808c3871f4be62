"""What `router doctor` finds at the PostgreSQL database that routers share."""

import asyncio
from collections.abc import Iterator

from router.cli.doctor_check import Check, ok, problem, unknown
from router.clock import SystemClock
from router.errors import StoreAbsent, StoreRefused, StoreUnavailable
from router.model.store_address import PostgresDatabase, StoreAddress
from router.serving.store_time import SKEW_MS
from router.store.database_about import DatabaseAbout


def of_database(address: StoreAddress) -> Iterator[Check]:
    """
    Can a router work on it, does it keep what was acknowledged, and has it the time that we have?
    Of a file nothing is asked.
    """
    if not isinstance(address, PostgresDatabase):
        return
    from router.wiring.stores import about_database

    try:
        found = asyncio.run(about_database(address))
    except StoreAbsent as error:
        yield unknown("database", str(error), "`router serve` makes its tables")
    except StoreRefused as error:
        yield problem("database", str(error), "no router starts until that is mended")
    except StoreUnavailable as error:
        yield problem("database", str(error), "see that it runs and can be reached from here")
    else:
        yield from of_settings(found)
        yield from of_time(found, SystemClock().now())
        yield of_room(found, address.pool)


def of_settings(found: DatabaseAbout) -> Iterator[Check]:
    """May a crash or a failover lose deliveries? Do its tables stay small?"""
    for risk, fix in found.risks():
        yield problem("database", risk, fix)
    if not found.risks():
        says = f"PostgreSQL {found.settings.version} keeps what it acknowledges"
        yield ok("database", says)
    if not found.settings.autovacuum:
        says = "autovacuum is off: what has ended stays in the tables, and all gets slower"
        yield problem("database", says, "set autovacuum = on, for the table `queue` too")


def of_time(found: DatabaseAbout, now: int) -> Iterator[Check]:
    """By how much are the clocks of this machine, as of which it is `now`, and of others wrong?"""
    clocks = {"this machine": now - found.now}
    clocks |= {f"node {one.card.name}": one.card.skew_ms for one in found.living}
    wrong = {whose: ahead for whose, ahead in clocks.items() if abs(ahead) > SKEW_MS}
    for whose, ahead in wrong.items():
        says = f"{whose} is {ahead / 1000:+.1f} s from the database's: no router is ready there"
        yield problem("database time", says, "let a time server set both clocks")
    if not wrong:
        yield ok("database time", f"as that of this machine and of {len(found.living)} nodes")


def of_room(found: DatabaseAbout, pool: int) -> Check:
    """May one more router, or another one's successor, have its connections?"""
    room = found.room(pool)
    most, nodes = found.settings.connections, len(found.living)
    if room >= pool:
        return ok("connections", f"{room} of {most} are left beside those of {nodes} routers")
    says = f"{max(0, room)} of {most} are left beside {pool} for each of {nodes} routers"
    return problem("connections", says, "raise max_connections, or lower server.store.pool")
