"""`router --version`: the program, its commit, the stores it opens."""

import json

from router import __commit__, __version__
from router.store.postgres.schema import VERSION as POSTGRES
from router.store.sqlite.schema import VERSION as SQLITE
from tests.unit.cli.conftest import Router


def test_the_version_and_what_stores_it_opens(router: Router) -> None:
    ran = router("--version")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        f"router {__version__}",
        f"commit {__commit__ or 'unknown'}",
        f"store schema: SQLite {SQLITE}, PostgreSQL {POSTGRES}",
    ]


def test_for_programs(router: Router) -> None:
    facts = json.loads(router("--version", "--json").out)
    assert facts == {
        "version": __version__,
        "commit": __commit__ or None,
        "store_schema": {"sqlite": SQLITE, "postgres": POSTGRES},
    }
