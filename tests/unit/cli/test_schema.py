"""`router schema`."""

import json
from pathlib import Path

from tests.unit.cli.conftest import Router

ROOT = Path(__file__).parents[3]


def test_it_prints_the_schema_that_the_repository_publishes(router: Router) -> None:
    ran = router("schema")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (ROOT / "docs" / "rules.schema.json").read_text("utf-8")


def test_files_of_tests_have_one_of_their_own(router: Router) -> None:
    made = json.loads(router("schema", "--tests").out)
    assert set(made["properties"]) == {"version", "tests"}
    assert made["required"] == ["version", "tests"]
